#include "cmd/replay/flags/synthetic.hpp"

#include <algorithm>
#include <cmath>

#include "cmd/synth/made_trace.hpp"
#include "cmd/synth/synth_values.hpp"
#include "cmd/values.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {

namespace {

struct Known {
    ForeignTool tool;
    std::string_view typed;
    std::string_view name;  ///< under which it is kept
    bool has_value = true;
};
constexpr Known known[] = {
    {ForeignTool::vllm, "--random-input-len", "in"},
    {ForeignTool::vllm, "--random-output-len", "out"},
    {ForeignTool::vllm, "--random-range-ratio", "ratio"},
    {ForeignTool::vllm, "--random-prefix-len", "prefix"},
    {ForeignTool::vllm, "--prefix-repetition-prefix-len", "repeated"},
    {ForeignTool::vllm, "--prefix-repetition-suffix-len", "suffix"},
    {ForeignTool::vllm, "--prefix-repetition-num-prefixes", "groups"},
    {ForeignTool::vllm, "--prefix-repetition-output-len", "answer"},
    {ForeignTool::vllm, "--disable-shuffle", "ordered", false},
    {ForeignTool::sglang, "--random-input-len", "in"},
    {ForeignTool::sglang, "--random-input", "in"},
    {ForeignTool::sglang, "--random-output-len", "out"},
    {ForeignTool::sglang, "--random-output", "out"},
    {ForeignTool::sglang, "--random-range-ratio", "ratio"},
    {ForeignTool::sglang, "--gsp-num-groups", "groups"},
    {ForeignTool::sglang, "--gsp-prompts-per-group", "each"},
    {ForeignTool::sglang, "--gsp-system-prompt-len", "system"},
    {ForeignTool::sglang, "--gsp-question-len", "question"},
    {ForeignTool::sglang, "--gsp-output-len", "answer"},
    {ForeignTool::sglang, "--gsp-range-ratio", "gsp ratio"},
    {ForeignTool::sglang, "--gsp-num-turns", "turns"},
    {ForeignTool::sglang, "--gsp-ordered", "ordered", false},
    {ForeignTool::sglang, "--gsp-fast-prepare", "fast", false},
    {ForeignTool::sglang, "--gsp-group-distribution", "distribution"},
    {ForeignTool::sglang, "--gsp-zipf-alpha", "alpha"},
    {ForeignTool::aiperf, "--synthetic-input-tokens-mean", "in"},
    {ForeignTool::aiperf, "--isl", "in"},
    {ForeignTool::aiperf, "--synthetic-input-tokens-stddev", "in deviation"},
    {ForeignTool::aiperf, "--isl-stddev", "in deviation"},
    {ForeignTool::aiperf, "--output-tokens-mean", "out"},
    {ForeignTool::aiperf, "--osl", "out"},
    {ForeignTool::aiperf, "--output-tokens-stddev", "out deviation"},
    {ForeignTool::aiperf, "--osl-stddev", "out deviation"},
    {ForeignTool::aiperf, "--num-requests", "rows"},
    {ForeignTool::aiperf, "--prefix-prompt-length", "prefix"},
    {ForeignTool::aiperf, "--prefix-prompt-pool-size", "groups"},
};
constexpr std::string_view data_sets[] = {"random", "random-ids", "prefix_repetition",
                                          "generated-shared-prefix"};

std::string argument_of(const Spelled& out, std::string_view flag) {
    const auto found = std::find(out.arguments.begin(), out.arguments.end(), flag);
    return found == out.arguments.end() || found + 1 == out.arguments.end() ? "" : *(found + 1);
}

void refuse(Spelled& out, const std::string& why) {
    out.refused = out.refused.empty() ? why : out.refused;
}

/// Rows that stand alone have no turns: with all of them due at once, a cap on open requests keeps
/// so many at a time, as users do with sessions.
void cap_instead_of_users(Spelled& out) {
    constexpr std::string_view names[][2] = {
        {"--users", "--max-inflight"}, {"--for", "--duration"}, {"--drain", "--grace"}};
    const std::string users = argument_of(out, "--users");
    if (users.empty()) {
        return;
    }
    for (std::string& argument : out.arguments) {
        for (const auto& [theirs, ours] : names) {
            argument = argument == theirs ? std::string(ours) : argument;
        }
    }
    for (std::string& note : out.notes) {
        if (note.starts_with("--concurrency ")) {
            note = "--concurrency " + users + " is taken as --max-inflight " + users +
                   ": all rows are due at once, and wait while so many are open";
        }
    }
}

std::uint64_t count_of(const std::string& flag, const std::string& text, Spelled& out) {
    const Result<std::uint64_t> count = parse_rows(text);
    if (!count) {
        refuse(out, flag + " \"" + text + "\" " + count.error().doing);
    }
    return count ? count.value() : 1;
}

/// A fixed length, or the range that the tool draws from around it. vllm: L (1 - r) to L (1 + r).
std::string vllm_law(const std::string& length, double ratio) {
    const Result<ValueLaw> fixed = parse_any_token_law(length);
    if (!fixed || fixed.value().kind != LawKind::fixed || ratio == 0) {
        return length;  // what is wrong with it, the workload says
    }
    const Result<ValueLaw> law = range_law(fixed.value(), ratio);
    return !law ? length
                : "uniform:" + std::to_string(law.value().low) + ".." +
                      std::to_string(law.value().high);
}

/// SGLang: from L r, at least 1, to L.
std::string sglang_law(const std::string& length, const std::string& ratio, Spelled& out) {
    const Result<std::uint64_t> tokens = parse_count(length);
    const Result<double> part = parse_part(ratio);
    if (!part) {
        refuse(out, "--random-range-ratio \"" + ratio + "\" " + part.error().doing);
    }
    if (!tokens || !part || part.value() == 1 || tokens.value() <= 1) {
        return length;
    }
    const double low = std::floor(static_cast<double>(tokens.value()) * part.value());
    return "uniform:" +
           std::to_string(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(low))) + ".." +
           length;
}

std::string normal_law(const std::string& mean, const std::string& deviation) {
    return deviation.find_first_not_of("0.") == deviation.npos ? mean
                                                               : "normal:" + mean + ":" + deviation;
}

}  // namespace

std::string SyntheticFlags::get(std::string_view name, std::string_view standard) const {
    const auto found = given_.find(name);
    return found == given_.end() ? std::string(standard) : found->second;
}

std::optional<std::size_t> SyntheticFlags::take(std::string_view typed, const std::string* value,
                                                std::span<const std::string> behind) {
    const std::string* next = value != nullptr ? value : behind.empty() ? nullptr : behind.data();
    const std::size_t taken = value == nullptr && next != nullptr ? 1 : 0;
    const bool names_set = tool_ == ForeignTool::vllm || tool_ == ForeignTool::sglang;
    if (typed == "--dataset-name" && names_set && next != nullptr &&
        std::find(std::begin(data_sets), std::end(data_sets), *next) != std::end(data_sets)) {
        given_["set"] = *next;
        return taken;
    }
    if (typed == "--data" && tool_ == ForeignTool::guidellm && next != nullptr &&
        next->find("prompt_tokens") != std::string::npos) {
        given_["data"] = *next;
        return taken;
    }
    for (const Known& one : known) {
        if (one.tool == tool_ && one.typed == typed && (!one.has_value || next != nullptr)) {
            given_[std::string(one.name)] = one.has_value ? *next : "";
            return one.has_value ? taken : 0;
        }
    }
    return std::nullopt;
}

/// Source: vllm/benchmarks/datasets/random.py and prefix_repetition.py.
std::string SyntheticFlags::vllm(Spelled& out) const {
    const std::string limit = argument_of(out, "--limit");
    const std::string rows = limit.empty() ? "1000" : limit;
    if (get("set", "") == "prefix_repetition") {
        const std::uint64_t groups =
            count_of("--prefix-repetition-num-prefixes", get("groups", "10"), out);
        const std::uint64_t each = count_of("--num-prompts", rows, out) / groups;
        if (each == 0) {
            refuse(out, "--num-prompts " + rows + ": is less than the " + std::to_string(groups) +
                            " prefixes (--prefix-repetition-num-prefixes); ask for more");
        }
        return "prefix --rows " + std::to_string(each * groups) + " --groups " +
               std::to_string(groups) + " --prefix " + get("repeated", "256") + " --suffix " +
               get("suffix", "256") + " --out-tokens " + get("answer", "128") + " --popularity " +
               (has("ordered") ? "ordered" : "equal");
    }
    const Result<RangeRatio> ratio = parse_range_ratio(get("ratio", "0"));
    if (!ratio) {
        refuse(out, "--random-range-ratio \"" + get("ratio", "") + "\" " + ratio.error().doing);
        return "";
    }
    const std::string in = vllm_law(get("in", "1024"), ratio.value().input);
    const std::string answer = " --out-tokens " + vllm_law(get("out", "128"), ratio.value().output);
    const std::string prefix = get("prefix", "0");
    return prefix == "0" ? "random --rows " + rows + " --in " + in + answer
                         : "prefix --rows " + rows + " --groups 1 --prefix " + prefix +
                               " --suffix " + in + answer;
}

/// Source: sglang/benchmark/datasets/generated_shared_prefix.py; the number of prompts is that of
/// the groups.
std::string SyntheticFlags::shared_prefix(Spelled& out) const {
    if (get("turns", "1") != "1") {
        refuse(out, "--gsp-num-turns " + get("turns", "") +
                        ": turns that wait for answers are a workload of their own; driftless "
                        "synth chat makes it");
    }
    const std::uint64_t groups = count_of("--gsp-num-groups", get("groups", "64"), out);
    const std::uint64_t each = count_of("--gsp-prompts-per-group", get("each", "16"), out);
    const auto limit = std::find(out.arguments.begin(), out.arguments.end(), "--limit");
    if (limit != out.arguments.end() && limit + 1 != out.arguments.end()) {
        out.notes.push_back("--num-prompts " + *(limit + 1) +
                            " is ignored: the groups say how many prompts there are");
        out.arguments.erase(limit, limit + 2);
    }
    const std::string ratio = get("gsp ratio", "1");
    const bool zipf = get("distribution", "uniform") == "zipf";
    return "prefix --rows " + std::to_string(groups * each) + " --groups " +
           std::to_string(groups) + " --prefix " + sglang_law(get("system", "2048"), ratio, out) +
           " --suffix " + sglang_law(get("question", "128"), ratio, out) + " --out-tokens " +
           sglang_law(get("answer", "256"), ratio, out) + " --popularity " +
           (zipf             ? "zipf:" + get("alpha", "1")
            : has("ordered") ? std::string("ordered")
                             : std::string("equal"));
}

/// Source: sglang/benchmark/datasets/random.py.
std::string SyntheticFlags::sglang(Spelled& out) const {
    if (get("set", "") == "generated-shared-prefix") {
        return shared_prefix(out);
    }
    const std::string limit = argument_of(out, "--limit");
    const std::string ratio = get("ratio", "0");
    return "random --rows " + (limit.empty() ? "1000" : limit) + " --in " +
           sglang_law(get("in", "1024"), ratio, out) + " --out-tokens " +
           sglang_law(get("out", "1024"), ratio, out);
}

std::string SyntheticFlags::aiperf(Spelled& out) const {
    const std::string limit = argument_of(out, "--limit");
    const std::string rows = limit.empty() ? get("rows", "") : limit;
    if (rows.empty()) {
        refuse(out, "--request-count is missing: how many synthetic requests are to be sent?");
    }
    if (!has("out")) {
        refuse(out,
               "--output-tokens-mean is missing: an answer's length is asked of the server, and "
               "checked; give --output-tokens-mean N");
    }
    cap_instead_of_users(out);
    const std::string in = normal_law(get("in", "550"), get("in deviation", "0"));
    const std::string answer =
        " --out-tokens " + normal_law(get("out", "128"), get("out deviation", "0"));
    return has("prefix") ? "prefix --rows " + rows + " --groups " + get("groups", "1") +
                               " --prefix " + get("prefix", "") + " --suffix " + in + answer
                         : "random --rows " + rows + " --in " + in + answer;
}

/// Gauss(mean, stdev) between given bounds, or five deviations around the mean; without a
/// deviation uniform between the bounds.
std::string SyntheticFlags::guidellm(Spelled& out) const {
    std::map<std::string, std::string, std::less<>> data;
    std::string_view text = given_.find("data")->second;
    JsonDocument document;
    if (const Result<JsonValue> object = document.parse(text);
        object && object.value().is(JsonType::object)) {
        for (JsonValue one = object.value().first(); one.present(); one = one.next()) {
            data[std::string(one.key())] =
                one.is(JsonType::string) ? one.as_string().value_or("") : one.raw();
        }
        text = {};
    }
    while (!text.empty()) {  // each turn takes a part off the text
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::size_t equals = std::min(part.find('='), part.size());
        data[std::string(part.substr(0, equals))] = part.substr(std::min(equals + 1, part.size()));
    }
    const auto take = [&](const std::string& key, const std::string& standard) {
        const auto node = data.extract(key);
        return node.empty() ? standard : node.mapped();
    };
    const auto law = [&](const std::string& key) {
        const std::string mean = take(key, "");
        const std::string deviation = take(key + "_stdev", "0");
        const std::string low = take(key + "_min", "");
        const std::string high = take(key + "_max", "");
        if (deviation.find_first_not_of("0.") == deviation.npos) {
            return low.empty() || high.empty() ? mean : "uniform:" + low + ".." + high;
        }
        const Result<std::uint64_t> middle = parse_count(mean);
        const Result<std::uint64_t> width = parse_count(deviation);
        if (!middle || !width || width.value() > row_tokens_max) {
            return "normal:" + mean + ":" + deviation;
        }
        const std::uint64_t reach = 5 * width.value();
        const std::uint64_t least = middle.value() > reach ? middle.value() - reach : 1;
        return "normal:" + mean + ":" + deviation + ":" +
               (low.empty() ? std::to_string(least) : low) + ".." +
               (high.empty() ? std::to_string(middle.value() + reach) : high);
    };
    const std::string limit = argument_of(out, "--limit");
    const std::string samples = take("samples", "1000");
    const std::string prefix = take("prefix_tokens", "");
    const std::string groups = take("prefix_count", "1");
    (void)take("kind", "");
    const std::string in = law("prompt_tokens");
    const std::string answer = law("output_tokens");
    if (answer.empty()) {
        refuse(out, "--data: output_tokens is missing: an answer's length is asked of the server");
    }
    if (!data.empty()) {
        refuse(out, "--data \"" + data.begin()->first +
                        "\": has no counterpart here; driftless synth --help lists what there is");
    }
    const std::string rows = limit.empty() ? samples : limit;
    return prefix.empty() ? "random --rows " + rows + " --in " + in + " --out-tokens " + answer
                          : "prefix --rows " + rows + " --groups " + groups + " --prefix " +
                                prefix + " --suffix " + in + " --out-tokens " + answer;
}

void SyntheticFlags::finish(Spelled& out) const {
    std::string line;
    if (tool_ == ForeignTool::aiperf && (has("in") || has("out"))) {
        line = aiperf(out);
    } else if (tool_ == ForeignTool::guidellm && has("data")) {
        line = guidellm(out);
    } else if (has("set")) {
        line = tool_ == ForeignTool::vllm ? vllm(out) : sglang(out);
    }
    if (line.empty() || !out.refused.empty()) {
        return;
    }
    line += " --rate inf";
    if (const std::string seed = argument_of(out, "--seed"); !seed.empty()) {
        line += " --seed " + seed;
    }
    out.arguments.push_back(std::string(made_scheme) + line);
    out.notes.push_back("the synthetic data set is the trace that `driftless synth " + line +
                        "` writes");
}

}  // namespace driftless
