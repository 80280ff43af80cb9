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

/// Rows of one pass of a closed loop that ends with a time: behind them the next pass begins, whose
/// prompts are others.
static constexpr const char* pass_rows = "10000";
/// More rows than these are not made for a rate and a time: they would not fit into memory.
static constexpr double timed_rows_max = 1e8;
static constexpr double ns_per_s = 1e9;
/// Deviations of a random process that are kept to spare: fewer rows come once in 10^15 runs.
static constexpr double deviations = 8;

/// Rows due within a time; 0: there is no rate, or what is wrong with it is said elsewhere.
static double due_within(const Line& line, double seconds) {
    if (const Result<TypedRate> rate = parse_rate(argument_of(line, "--rate")); rate) {
        return rate.value().infinite ? 0 : rate.value().per_second * seconds;
    }
    const Result<TypedRamp> ramp = parse_ramp(argument_of(line, "--ramp"));
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
static double spread_of(const Line& line) {
    const std::string typed = argument_of(line, "--arrivals");
    const Result<TypedArrivals> law = parse_arrivals(typed.empty() ? "poisson" : typed);
    if (!law || law.value().law == ArrivalLaw::constant) {
        return 0;
    }
    return law.value().law == ArrivalLaw::gamma ? 1 / law.value().shape : 1;
}

std::string made_rows(Line& line, const std::string& standard) {
    if (const std::string limit = argument_of(line, "--limit"); !limit.empty()) {
        return limit;
    }
    const bool closed = has_argument(line, "--concurrency");
    if (closed && has_argument(line, "--for")) {
        add_flag(line, "--recycle", "");
        line.arguments.pop_back();
        add_note(line, "prompts are generated in passes of " + std::string(pass_rows) +
                           " rows until --for ends the run (--recycle); all of them differ");
        return pass_rows;
    }
    const Result<std::int64_t> time = parse_duration_ns(argument_of(line, "--duration"));
    const double mean =
        time && !closed ? due_within(line, static_cast<double>(time.value()) / ns_per_s) : 0;
    if (mean <= 0) {
        return standard;
    }
    const double spread = spread_of(line);
    const double rows =
        std::ceil(mean + deviations * std::sqrt(mean * spread) + deviations * spread) + 1;
    if (rows > timed_rows_max) {
        refuse_line(line, "the rate has " + std::to_string(mean) + " rows due within --duration " +
                              argument_of(line, "--duration") +
                              ", but at most 100 million can be generated; lower one of them");
        return standard;
    }
    add_note(line, "the data set has as many rows as the rate can need within --duration");
    return std::to_string(static_cast<std::uint64_t>(rows));
}

static constexpr const char* free_length =
    "no output length is given: using --output free, as the tool sends no limit; the server "
    "decides the length";

static std::uint64_t count_of(const std::string& flag, const std::string& text, Line& line) {
    const Result<std::uint64_t> count = parse_rows(text);
    if (!count) {
        refuse_line(line, flag + " \"" + text + "\" " + count.error().doing);
    }
    return count ? count.value() : 1;
}

/// A fixed length, or the range that the tool draws from around it. vllm: L (1 - r) to L (1 + r).
static std::string vllm_law(const std::string& length, double ratio) {
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
static std::string sglang_law(const std::string& length, const std::string& ratio, Line& line) {
    const Result<std::uint64_t> tokens = parse_count(length);
    const Result<double> part = parse_part(ratio);
    if (!part) {
        refuse_line(line, "--random-range-ratio \"" + ratio + "\" " + part.error().doing);
    }
    if (!tokens || !part || part.value() == 1 || tokens.value() <= 1) {
        return length;
    }
    const double low = std::floor(static_cast<double>(tokens.value()) * part.value());
    return "uniform:" +
           std::to_string(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(low))) + ".." +
           length;
}

static std::string normal_law(const std::string& mean, const std::string& deviation) {
    return deviation.find_first_not_of("0.") == deviation.npos ? mean
                                                               : "normal:" + mean + ":" + deviation;
}

/// The value of --random-range-ratio. What is wrong with it refuses the line.
static RangeRatio range_ratio_of(const std::string& text, Line& line) {
    const Result<RangeRatio> ratio = parse_range_ratio(text);
    if (!ratio) {
        refuse_line(line, "--random-range-ratio \"" + text + "\" " + ratio.error().doing);
    }
    return ratio ? ratio.value() : RangeRatio();
}

static std::string random_rows(const std::string& rows, const std::string& in,
                               const std::string& out) {
    return "random --rows " + rows + " --in " + in + " --out-tokens " + out;
}

static std::string prefix_rows(const std::string& rows, const std::string& groups,
                               const std::string& prefix, const std::string& suffix,
                               const std::string& out) {
    return "prefix --rows " + rows + " --groups " + groups + " --prefix " + prefix + " --suffix " +
           suffix + " --out-tokens " + out;
}

/// Source: vllm/benchmarks/datasets/random.py and prefix_repetition.py.
static std::string vllm_set(Line& line) {
    const std::string rows = made_rows(line, "1000");
    if (line.get("set", "") == "prefix_repetition") {
        const std::uint64_t groups =
            count_of("--prefix-repetition-num-prefixes", line.get("groups", "10"), line);
        const std::uint64_t each = count_of("--num-prompts", rows, line) / groups;
        if (each == 0) {
            refuse_line(line, "--num-prompts " + rows + ": is less than the " +
                                  std::to_string(groups) +
                                  " prefixes (--prefix-repetition-num-prefixes); give more");
        }
        return prefix_rows(std::to_string(each * groups), std::to_string(groups),
                           line.get("repeated", "256"), line.get("suffix", "256"),
                           line.get("any out", line.get("answer", "128"))) +
               " --popularity " + (line.has("ordered") ? "ordered" : "equal");
    }
    const RangeRatio ratio = range_ratio_of(line.get("ratio", "0"), line);
    const std::string in = vllm_law(line.get("any in", line.get("in", "1024")), ratio.input);
    const std::string answer = vllm_law(line.get("any out", line.get("out", "128")), ratio.output);
    const std::string prefix = line.get("prefix", "0");
    return prefix == "0" ? random_rows(rows, in, answer)
                         : prefix_rows(rows, "1", prefix, in, answer);
}

/// Source: sglang/benchmark/datasets/generated_shared_prefix.py; the number of prompts is that of
/// the groups.
static std::string shared_prefix(Line& line) {
    if (line.get("turns", "1") != "1") {
        refuse_line(line, "--gsp-num-turns " + line.get("turns", "") + ": " +
                              reason_of("by_conversations"));
    }
    const std::uint64_t groups = count_of("--gsp-num-groups", line.get("groups", "64"), line);
    const std::uint64_t each = count_of("--gsp-prompts-per-group", line.get("each", "16"), line);
    const auto limit = std::find(line.arguments.begin(), line.arguments.end(), "--limit");
    if (limit != line.arguments.end() && limit + 1 != line.arguments.end()) {
        line.notes.push_back("--num-prompts " + *(limit + 1) +
                             " is ignored: the groups define the number of prompts");
        line.arguments.erase(limit, limit + 2);
    }
    const std::string ratio = line.get("gsp ratio", "1");
    const bool zipf = line.get("distribution", "uniform") == "zipf";
    return prefix_rows(std::to_string(groups * each), std::to_string(groups),
                       sglang_law(line.get("system", "2048"), ratio, line),
                       sglang_law(line.get("question", "128"), ratio, line),
                       sglang_law(line.get("answer", "256"), ratio, line)) +
           " --popularity " +
           (zipf                  ? "zipf:" + line.get("alpha", "1")
            : line.has("ordered") ? std::string("ordered")
                                  : std::string("equal"));
}

/// Source: sglang/benchmark/datasets/random.py.
static std::string sglang_set(Line& line) {
    if (line.get("set", "") == "generated-shared-prefix") {
        return shared_prefix(line);
    }
    const std::string ratio = line.get("ratio", "0");
    const std::string rows = made_rows(line, "1000");
    const std::string in = sglang_law(line.get("in", "1024"), ratio, line);
    return random_rows(rows, in, sglang_law(line.get("out", "1024"), ratio, line));
}

/// Without a number of requests and a time: twice the concurrency, 10 at least. Source:
/// aiperf/config/flags/cli_config.py, --request-count.
static std::string aiperf_rows(Line& line) {
    if (line.has("sessions") && !has_argument(line, "--limit")) {
        add_flag(line, "--limit", line.get("sessions", ""));
        line.typed_as.emplace_back("--limit", "--conversation-num");
    }
    const std::string open =
        argument_of(line, has_argument(line, "--concurrency") ? "--concurrency" : "--max-inflight");
    const Result<std::uint64_t> places = parse_count(open.empty() ? "1" : open);
    const std::uint64_t twice = places && places.value() < 1'000'000 ? 2 * places.value() : 10;
    const std::string standard = std::to_string(std::max<std::uint64_t>(10, twice));
    const std::string rows = made_rows(line, standard);
    if (!has_argument(line, "--limit") && rows == standard) {
        add_note(line, "neither --request-count nor --benchmark-duration is given: using " +
                           standard + " requests, as AIPerf does");
    }
    return rows;
}

static std::string aiperf_set(Line& line) {
    const std::string rows = aiperf_rows(line);
    if (!line.has("out")) {
        add_default(line, "--output", "free");
        add_note(line, free_length);
    }
    std::string in = normal_law(line.get("in", "550"), line.get("in deviation", "0"));
    std::string answer = normal_law(line.get("out", "128"), line.get("out deviation", "0"));
    if (line.has("ratio")) {
        const bool sglang = line.get("style", "vllm") == "sglang";
        const std::string typed = line.get("ratio", "");
        const RangeRatio ratio = sglang ? RangeRatio() : range_ratio_of(typed, line);
        in = sglang ? sglang_law(in, typed, line) : vllm_law(in, ratio.input);
        answer = sglang ? sglang_law(answer, typed, line) : vllm_law(answer, ratio.output);
    }
    return line.has("prefix")
               ? prefix_rows(rows, line.get("groups", "1"), line.get("prefix", ""), in, answer)
               : random_rows(rows, in, answer);
}

/// Gauss(mean, stdev) between given bounds, or five deviations around the mean; without a
/// deviation uniform between the bounds.
static std::string guidellm_set(Line& line) {
    std::map<std::string, std::string, std::less<>> data;
    for (const auto& [key, value] : config_parts(line.get("data"))) {
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
        refuse_line(line, "--data \"turns\": " + reason_of("by_conversations"));
    }
    const std::string samples = take("samples", "");
    const std::string prefix = take("prefix_tokens", "");
    const std::string groups = take("prefix_count", "1");
    (void)take("kind", "");
    const std::string in = law("prompt_tokens");
    std::string answer = law("output_tokens");
    if (answer.empty()) {
        add_default(line, "--output", "free");
        add_note(line, free_length);
        answer = "128";
    }
    if (!data.empty()) {
        refuse_line(line,
                    "--data \"" + data.begin()->first +
                        "\": has no counterpart here; driftless synth --help lists the workloads");
    }
    const std::string rows = made_rows(line, samples);
    if (rows.empty()) {
        refuse_line(line,
                    "GuideLLM generates prompts without end; end the run with --max-requests N or "
                    "--max-seconds T (--constraint kind=max_duration,..)");
    }
    return prefix.empty() ? random_rows(rows, in, answer)
                          : prefix_rows(rows, groups, prefix, in, answer);
}

/// Flags of the tool's other data sets.
static void note_unread(Line& line) {
    for (const auto& [name, given] : line.kept) {
        if (!given.read && !given.typed.empty()) {
            line.notes.push_back(given.typed + " is ignored: this data set does not use it");
        }
    }
}

void prepare_synthetic(bool names_data, Line& line) {
    const bool implied = !names_data && !line.has("set");
    if (implied && line.tool == "vllm") {
        line.kept["set"].value = "random";
        line.notes.push_back("no data set is named: using random, the tool's default");
    }
    const bool aiperf = line.tool == "aiperf" && !names_data;
    const bool guidellm = line.tool == "guidellm" && line.has("data");
    line.makes_rows = line.has("set") || aiperf || guidellm;
    if (line.makes_rows) {
        line.kept["lacks_times"].value = line.kept["made"].value = "yes";
    }
}

void finish_synthetic(Line& line) {
    if (!line.makes_rows) {
        if (line.tool == "aiperf" && line.has("sessions")) {
            add_default(line, "--max-trees", line.get("sessions", ""));
            add_note(line,
                     "--conversation-num is taken as --max-trees: the first session trees of the "
                     "trace, each once");
        }
        if (line.tool == "aiperf" && line.has("out")) {
            add_default(line, "--default-output", line.get("out", ""));
        }
        note_unread(line);
        return;
    }
    const std::string set = line.tool == "aiperf"     ? aiperf_set(line)
                            : line.tool == "guidellm" ? guidellm_set(line)
                            : line.tool == "vllm"     ? vllm_set(line)
                                                      : sglang_set(line);
    if (!line.refused.empty()) {
        return;
    }
    note_unread(line);
    std::string all = set + " --rate inf";
    if (const std::string seed = argument_of(line, "--seed"); !seed.empty()) {
        all += " --seed " + seed;
    }
    for (const auto& [name, given] : line.kept) {
        if (!given.typed.empty()) {
            line.typed_as.emplace_back(name == "out" ? "--out-tokens" : "--" + name, given.typed);
        }
    }
    const auto limit =
        std::ranges::find(line.typed_as, "--limit", &std::pair<std::string, std::string>::first);
    if (limit != line.typed_as.end()) {
        line.typed_as.emplace_back("--rows", limit->second);
    }
    const std::vector<std::string_view> words = words_in(all, " ");
    if (const auto made = parse_synth_options({words.begin(), words.end()}); !made.text.empty()) {
        const std::string why = made.text.substr(made.text.find(": ") + 2);
        refuse_line(line, why.substr(0, why.find(" (see ")));
    }
    line.arguments.push_back(std::string(made_scheme) + all);
    line.notes.push_back("the synthetic data set is the trace that `driftless synth " + all +
                         "` writes");
}

}  // namespace driftless
