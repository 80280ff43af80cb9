/// Synthetic workloads on a command line: what `driftless synth` is asked for, and "synth:KIND
/// FLAGS" in place of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "engine/plan/synth_spec.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// SynthOptions: what the user asked of `driftless synth`, as plain values.
///
/// Made once by `parse_synth_options`. Parsing touches no file: laws that name one have no bins
/// yet.
struct SynthOptions {
    std::string name;  ///< of the kind, with its pattern: "stress-reuse"
    SynthSpec spec;
    const TraceTarget* target = nullptr;  ///< never nullptr after parsing
    std::string out;                      ///< a file that must not be there, or "-"
};

struct SynthCommandLine : CommandLine {
    SynthOptions options;
};

/// The words that may follow "synth", each with flags of its own: "random", "stress reuse".
std::vector<std::string> synth_kinds();

/// Parses everything after the command's name.
SynthCommandLine parse_synth_options(const std::vector<std::string>& arguments);

/// "512", "uniform:100..900", "normal:512:100", "lognormal:512:0.8", "exponential:512",
/// "file:PATH"; behind the middle three the bounds, too: "normal:512:100:1..4096". Tokens, at least
/// 1, and at most `row_tokens_max`. The bins of a file are not read here.
Result<ValueLaw> parse_token_law(std::string_view text);
/// The same from 0 tokens on.
Result<ValueLaw> parse_any_token_law(std::string_view text);
/// The same of numbers from 1 to 1,000,000.
Result<ValueLaw> parse_number_law(std::string_view text);
/// The same of durations, "lognormal:3s:1", from 0 on; values of a file are milliseconds.
Result<ValueLaw> parse_time_law(std::string_view text);

/// A number of tokens from 0, or from 1, to `row_tokens_max`.
Result<std::uint32_t> parse_row_tokens(std::string_view text);
Result<std::uint32_t> parse_positive_row_tokens(std::string_view text);
/// Tokens of a cache or a working set: 1 to 10^12.
Result<std::uint64_t> parse_set_tokens(std::string_view text);
/// "1000000..4000000".
struct SetRange {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};
Result<SetRange> parse_set_range(std::string_view text);
/// A number of rows, sessions or groups: 1 to `synth_rows_max`.
Result<std::uint64_t> parse_rows(std::string_view text);
Result<std::uint32_t> parse_groups(std::string_view text);
/// 1 to 1,000.
Result<std::uint32_t> parse_small(std::string_view text);
/// Levels of sub-agents: 0 to 8.
Result<std::uint32_t> parse_depth(std::string_view text);
/// "80", "80%", "99.95": millionths. 0 to 100 %.
Result<std::uint64_t> parse_hit_rate(std::string_view text);
/// A decimal from 0 to 1.
Result<double> parse_part(std::string_view text);
/// vllm's --random-range-ratio: a decimal from 0 up to, not including, 1; or
/// {"input":A,"output":B}.
struct RangeRatio {
    double input = 0;
    double output = 0;
};
Result<RangeRatio> parse_range_ratio(std::string_view text);
/// "10", "600/m", "0.5/s", "2/h" or "inf": a second; 0 for inf.
Result<double> parse_synth_rate(std::string_view text);
/// `--arrivals`: whether gaps are constant.
inline constexpr Choices<bool> constant_choices({{"poisson", false}, {"constant", true}},
                                                "is not known; use ", " or ");
/// `--popularity`: whether groups are in order.
inline constexpr Choices<bool> popularity_choices({{"equal", false}, {"ordered", true}},
                                                  "is not known; use ", ", ", ", or zipf:EXPONENT");
/// One of them, or "zipf:A".
struct Popularity {
    double zipf = -1;
    bool ordered = false;
};
Result<Popularity> parse_popularity(std::string_view text);
/// At most 10 s.
Result<std::int64_t> parse_token_time(std::string_view text);

/// The law of vllm's range ratio around a fixed length: every whole number from
/// floor(length * (1 - ratio)), at least 1, to ceil(length * (1 + ratio)). Source:
/// vllm/benchmarks/datasets/random.py. Error: out_of_range, above `row_tokens_max`.
Result<ValueLaw> range_law(const ValueLaw& fixed, double ratio);

/// Reads the bins of all laws that name a histogram's file. Returns why one cannot be used, one
/// line, or the empty text.
std::string read_histograms(SynthSpec& spec);

/// "synth:KIND FLAGS" in place of a trace is what `driftless synth KIND FLAGS` writes.
inline constexpr std::string_view made_scheme = "synth:";

/// Whether one of the paths is such a workload.
bool names_made_trace(const std::vector<std::string>& paths);

/// Makes and reads it. Returns the exit code; what is wrong is printed, but for `errors`.
int read_made_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                    std::vector<std::string>& notes);

}  // namespace driftless
