/// Flags of other tools that make rows without a trace, as one "synth:KIND FLAGS".

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cmd/base/values.hpp"
#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/synth_values.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

namespace {

constexpr double ns_per_s = 1e9;
/// Deviations of a random process that are kept to spare: fewer rows come once in 10^15 runs.
constexpr double deviations = 8;

/// Rows due within a time; 0: there is no rate, or what is wrong with it is said elsewhere.
double due_within(const Spelled& out, double seconds) {
    if (const Result<TypedRate> rate = parse_rate(argument_of(out, "--rate")); rate) {
        return rate.value().infinite ? 0 : rate.value().per_second * seconds;
    }
    const Result<TypedRamp> ramp = parse_ramp(argument_of(out, "--ramp"));
    if (!ramp || ramp.value().over_rows) {
        return 0;
    }
    const double length = static_cast<double>(ramp.value().length_ns) / ns_per_s;
    const double inside = std::min(seconds, length);
    const double reached =
        ramp.value().from + (ramp.value().to - ramp.value().from) * inside / length;
    return (ramp.value().from + reached) / 2 * inside +
           ramp.value().to * std::max(0.0, seconds - length);
}

/// The variance of the number of arrivals, as a multiple of its mean.
double spread_of(const Spelled& out) {
    const std::string typed = argument_of(out, "--arrivals");
    const Result<TypedArrivals> law = parse_arrivals(typed.empty() ? "poisson" : typed);
    if (!law || law.value().law == ArrivalLaw::constant) {
        return 0;
    }
    return law.value().law == ArrivalLaw::gamma ? 1 / law.value().shape : 1;
}

}  // namespace

std::string made_rows(Spelled& out, const std::string& standard) {
    if (const std::string limit = argument_of(out, "--limit"); !limit.empty()) {
        return limit;
    }
    const bool closed = has_argument(out, "--concurrency");
    if (closed && has_argument(out, "--for")) {
        add_flag(out, "--recycle", "");
        out.arguments.pop_back();
        add_note(out, "prompts are generated in passes of " + std::string(pass_rows) +
                          " rows until --for ends the run (--recycle); all of them differ");
        return pass_rows;
    }
    const Result<std::int64_t> time = parse_duration_ns(argument_of(out, "--duration"));
    const double mean =
        time && !closed ? due_within(out, static_cast<double>(time.value()) / ns_per_s) : 0;
    if (mean <= 0) {
        return standard;
    }
    const double spread = spread_of(out);
    const double rows =
        std::ceil(mean + deviations * std::sqrt(mean * spread) + deviations * spread) + 1;
    if (rows > timed_rows_max) {
        refuse_line(out, "the rate has " + std::to_string(mean) + " rows due within --duration " +
                             argument_of(out, "--duration") +
                             ", but at most 100 million can be generated; lower one of them");
        return standard;
    }
    add_note(out, "the data set has as many rows as the rate can need within --duration");
    return std::to_string(static_cast<std::uint64_t>(rows));
}

namespace {

struct Known {
    ForeignTool tool;
    std::string_view typed;
    std::string_view name;  ///< under which it is kept
    bool has_value = true;
};
constexpr Known known[] = {
    {ForeignTool::vllm, "--random-input-len", "in"},
    {ForeignTool::vllm, "--input-len", "any in"},
    {ForeignTool::vllm, "--random-output-len", "out"},
    {ForeignTool::vllm, "--output-len", "any out"},
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
    {ForeignTool::aiperf, "--prompt-input-tokens-mean", "in"},
    {ForeignTool::aiperf, "--prompt-input-tokens-stddev", "in deviation"},
    {ForeignTool::aiperf, "--prompt-output-tokens-mean", "out"},
    {ForeignTool::aiperf, "--prompt-output-tokens-stddev", "out deviation"},
    {ForeignTool::aiperf, "--random-range-ratio", "ratio"},
    {ForeignTool::aiperf, "--random-corpus-style", "style"},
    {ForeignTool::aiperf, "--conversation-num", "sessions"},
    {ForeignTool::aiperf, "--num-conversations", "sessions"},
    {ForeignTool::aiperf, "--num-sessions", "sessions"},
    {ForeignTool::aiperf, "--prefix-prompt-length", "prefix"},
    {ForeignTool::aiperf, "--prompt-prefix-length", "prefix"},
    {ForeignTool::aiperf, "--shared-system-prompt-length", "prefix"},
    {ForeignTool::aiperf, "--prefix-prompt-pool-size", "groups"},
    {ForeignTool::aiperf, "--prompt-prefix-pool-size", "groups"},
    {ForeignTool::aiperf, "--num-prefix-prompts", "groups"},
};
constexpr std::string_view data_sets[] = {"random", "random-ids", "prefix_repetition",
                                          "generated-shared-prefix"};
constexpr const char* free_length =
    "no output length is given: using --output free, as the tool sends no limit; the server "
    "decides the length";

std::uint64_t count_of(const std::string& flag, const std::string& text, Spelled& out) {
    const Result<std::uint64_t> count = parse_rows(text);
    if (!count) {
        refuse_line(out, flag + " \"" + text + "\" " + count.error().doing);
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
        refuse_line(out, "--random-range-ratio \"" + ratio + "\" " + part.error().doing);
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

bool SyntheticFlags::has(std::string_view name) {
    const auto found = given_.find(name);
    if (found != given_.end()) {
        found->second.read = true;
    }
    return found != given_.end();
}

std::string SyntheticFlags::get(std::string_view name, std::string_view standard) {
    return has(name) ? given_.find(name)->second.value : std::string(standard);
}

std::optional<std::size_t> SyntheticFlags::take(std::string_view typed, const std::string* value,
                                                std::span<const std::string> behind) {
    const std::string* next = value != nullptr ? value : behind.empty() ? nullptr : behind.data();
    const std::size_t taken = value == nullptr && next != nullptr ? 1 : 0;
    const bool names_set = tool_ == ForeignTool::vllm || tool_ == ForeignTool::sglang;
    if (typed == "--dataset-name" && names_set && next != nullptr &&
        std::find(std::begin(data_sets), std::end(data_sets), *next) != std::end(data_sets)) {
        given_["set"] = {*next, ""};
        return taken;
    }
    if (typed == "--data" && tool_ == ForeignTool::guidellm && next != nullptr &&
        !config_value(*next, "prompt_tokens").empty()) {
        given_["data"] = {*next, ""};
        return taken;
    }
    for (const Known& one : known) {
        if (one.tool == tool_ && one.typed == typed && (!one.has_value || next != nullptr)) {
            given_[std::string(one.name)] = {one.has_value ? *next : "", std::string(typed)};
            return one.has_value ? taken : 0;
        }
    }
    return std::nullopt;
}

/// Source: vllm/benchmarks/datasets/random.py and prefix_repetition.py.
std::string SyntheticFlags::vllm(Spelled& out) {
    const std::string rows = made_rows(out, "1000");
    if (get("set", "") == "prefix_repetition") {
        const std::uint64_t groups =
            count_of("--prefix-repetition-num-prefixes", get("groups", "10"), out);
        const std::uint64_t each = count_of("--num-prompts", rows, out) / groups;
        if (each == 0) {
            refuse_line(out, "--num-prompts " + rows + ": is less than the " +
                                 std::to_string(groups) +
                                 " prefixes (--prefix-repetition-num-prefixes); give more");
        }
        return "prefix --rows " + std::to_string(each * groups) + " --groups " +
               std::to_string(groups) + " --prefix " + get("repeated", "256") + " --suffix " +
               get("suffix", "256") + " --out-tokens " + get("any out", get("answer", "128")) +
               " --popularity " + (has("ordered") ? "ordered" : "equal");
    }
    const Result<RangeRatio> ratio = parse_range_ratio(get("ratio", "0"));
    if (!ratio) {
        refuse_line(out,
                    "--random-range-ratio \"" + get("ratio", "") + "\" " + ratio.error().doing);
        return "";
    }
    const std::string in = vllm_law(get("any in", get("in", "1024")), ratio.value().input);
    const std::string answer =
        " --out-tokens " + vllm_law(get("any out", get("out", "128")), ratio.value().output);
    const std::string prefix = get("prefix", "0");
    return prefix == "0" ? "random --rows " + rows + " --in " + in + answer
                         : "prefix --rows " + rows + " --groups 1 --prefix " + prefix +
                               " --suffix " + in + answer;
}

/// Source: sglang/benchmark/datasets/generated_shared_prefix.py; the number of prompts is that of
/// the groups.
std::string SyntheticFlags::shared_prefix(Spelled& out) {
    if (get("turns", "1") != "1") {
        refuse_line(out,
                    "--gsp-num-turns " + get("turns", "") +
                        ": turns that wait for answers are not supported here; generate them with "
                        "driftless synth chat");
    }
    const std::uint64_t groups = count_of("--gsp-num-groups", get("groups", "64"), out);
    const std::uint64_t each = count_of("--gsp-prompts-per-group", get("each", "16"), out);
    const auto limit = std::find(out.arguments.begin(), out.arguments.end(), "--limit");
    if (limit != out.arguments.end() && limit + 1 != out.arguments.end()) {
        out.notes.push_back("--num-prompts " + *(limit + 1) +
                            " is ignored: the groups define the number of prompts");
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
std::string SyntheticFlags::sglang(Spelled& out) {
    if (get("set", "") == "generated-shared-prefix") {
        return shared_prefix(out);
    }
    const std::string ratio = get("ratio", "0");
    return "random --rows " + made_rows(out, "1000") + " --in " +
           sglang_law(get("in", "1024"), ratio, out) + " --out-tokens " +
           sglang_law(get("out", "1024"), ratio, out);
}

/// Without a number of requests and a time: twice the concurrency, 10 at least. Source:
/// aiperf/config/flags/cli_config.py, --request-count.
std::string SyntheticFlags::aiperf_rows(Spelled& out) {
    if (has("sessions") && !has_argument(out, "--limit")) {
        add_flag(out, "--limit", get("sessions", ""));
        out.typed_as.emplace_back("--limit", "--conversation-num");
    }
    const std::string open =
        argument_of(out, has_argument(out, "--concurrency") ? "--concurrency" : "--max-inflight");
    const Result<std::uint64_t> places = parse_count(open.empty() ? "1" : open);
    const std::uint64_t twice = places && places.value() < 1'000'000 ? 2 * places.value() : 10;
    const std::string standard = std::to_string(std::max<std::uint64_t>(10, twice));
    const std::string rows = made_rows(out, standard);
    if (!has_argument(out, "--limit") && rows == standard) {
        add_note(out, "neither --request-count nor --benchmark-duration is given: using " +
                          standard + " requests, as AIPerf does");
    }
    return rows;
}

std::string SyntheticFlags::aiperf(Spelled& out) {
    const std::string rows = aiperf_rows(out);
    if (!has("out")) {
        add_default(out, "--output", "free");
        add_note(out, free_length);
    }
    std::string in = normal_law(get("in", "550"), get("in deviation", "0"));
    std::string answer = normal_law(get("out", "128"), get("out deviation", "0"));
    if (has("ratio")) {
        const bool sglang = get("style", "vllm") == "sglang";
        const Result<RangeRatio> ratio = parse_range_ratio(sglang ? "0" : get("ratio", ""));
        if (!ratio) {
            refuse_line(out,
                        "--random-range-ratio \"" + get("ratio", "") + "\" " + ratio.error().doing);
            return "";
        }
        in = sglang ? sglang_law(in, get("ratio", ""), out) : vllm_law(in, ratio.value().input);
        answer = sglang ? sglang_law(answer, get("ratio", ""), out)
                        : vllm_law(answer, ratio.value().output);
    }
    answer = " --out-tokens " + answer;
    return has("prefix") ? "prefix --rows " + rows + " --groups " + get("groups", "1") +
                               " --prefix " + get("prefix", "") + " --suffix " + in + answer
                         : "random --rows " + rows + " --in " + in + answer;
}

/// Gauss(mean, stdev) between given bounds, or five deviations around the mean; without a
/// deviation uniform between the bounds.
std::string SyntheticFlags::guidellm(Spelled& out) {
    std::map<std::string, std::string, std::less<>> data;
    for (const auto& [key, value] : config_parts(given_.find("data")->second.value)) {
        data[key] = value;
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
    if (data.contains("turns")) {
        refuse_line(
            out,
            "--data \"turns\": turns that wait for answers are not supported here; generate them "
            "with driftless synth chat");
    }
    const std::string samples = take("samples", "");
    const std::string prefix = take("prefix_tokens", "");
    const std::string groups = take("prefix_count", "1");
    (void)take("kind", "");
    const std::string in = law("prompt_tokens");
    std::string answer = law("output_tokens");
    if (answer.empty()) {
        add_default(out, "--output", "free");
        add_note(out, free_length);
        answer = "128";
    }
    if (!data.empty()) {
        refuse_line(out,
                    "--data \"" + data.begin()->first +
                        "\": has no counterpart here; driftless synth --help lists the workloads");
    }
    const std::string rows = made_rows(out, samples);
    if (rows.empty()) {
        refuse_line(out,
                    "GuideLLM generates prompts without end; end the run with --max-requests N or "
                    "--max-seconds T (--constraint kind=max_duration,..)");
    }
    return prefix.empty() ? "random --rows " + rows + " --in " + in + " --out-tokens " + answer
                          : "prefix --rows " + rows + " --groups " + groups + " --prefix " +
                                prefix + " --suffix " + in + " --out-tokens " + answer;
}

void SyntheticFlags::prepare(bool names_data, Spelled& out) {
    const bool implied = !names_data && !has("set");
    if (implied && tool_ == ForeignTool::vllm) {
        given_["set"] = {"random", ""};
        out.notes.push_back("no data set is named: using random, the tool's default");
    }
    const bool aiperf = tool_ == ForeignTool::aiperf && !names_data;
    const bool guidellm = tool_ == ForeignTool::guidellm && has("data");
    out.makes_rows = has("set") || aiperf || guidellm;
    out.lacks_times = out.lacks_times || out.makes_rows;
}

/// Flags of the tool's other data sets.
void SyntheticFlags::note_unread(Spelled& out) const {
    for (const auto& [name, given] : given_) {
        if (!given.read && !given.typed.empty()) {
            out.notes.push_back(given.typed + " is ignored: this data set does not use it");
        }
    }
}

void SyntheticFlags::finish(Spelled& out) {
    if (!out.makes_rows) {
        if (tool_ == ForeignTool::aiperf && has("sessions")) {
            add_default(out, "--max-trees", get("sessions", ""));
            add_note(out,
                     "--conversation-num is taken as --max-trees: the first session trees of the "
                     "trace, each once");
        }
        if (tool_ == ForeignTool::aiperf && has("out")) {
            add_default(out, "--default-output", get("out", ""));
        }
        note_unread(out);
        return;
    }
    const std::string line = tool_ == ForeignTool::aiperf     ? aiperf(out)
                             : tool_ == ForeignTool::guidellm ? guidellm(out)
                             : tool_ == ForeignTool::vllm     ? vllm(out)
                                                              : sglang(out);
    if (line.empty() || !out.refused.empty()) {
        return;
    }
    note_unread(out);
    std::string all = line + " --rate inf";
    if (const std::string seed = argument_of(out, "--seed"); !seed.empty()) {
        all += " --seed " + seed;
    }
    out.arguments.push_back(std::string(made_scheme) + all);
    out.notes.push_back("the synthetic data set is the trace that `driftless synth " + all +
                        "` writes");
}

}  // namespace driftless
