/// Views: the figures of a run as another tool defines them, in that tool's layout and file. Each
/// is a function over the requests of a run; the table names them. They read nothing and own only
/// what they return. Definitions with their sources are in README.md.
///
/// A view prints what its tool would print, also where the tool is wrong: `notes` say so beside it.
/// Then what several views are made of; their tables are in view_keys.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/values.hpp"
#include "proto/figures/summary.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// ViewedRequest: a request as other tools would have seen it: the stamps of its events and what
// they held. Made of a record; owns its chunks (16 bytes each), computes no figure of any tool.
//
// The events of an answer, as its record knows them: the first one (a role), chunks with tokens,
// the finish, the usage, an error, the end marker. Silent events between chunks are not recorded:
// a tool that takes each event for a token has more gaps then.

struct ViewedChunk {
    std::int64_t at_ns = 0;    ///< from time 0
    std::int32_t tokens = -1;  ///< -1: unknown
    char kind = 'u';           ///< as in Record::chunk_kinds
};

/// Letters of `ViewedChunk::kind` that a tool takes for the text of an answer. Unknown ones, and
/// tokens without text, are content to all.
inline constexpr std::string_view content_kinds = "ceu";
inline constexpr std::string_view said_kinds = "ceur";       ///< and reasoning
inline constexpr std::string_view all_text_kinds = "ceurt";  ///< and tool text

/// Which of its tokens have stamps.
enum class ViewedStamps : std::uint8_t {
    every_chunk,
    ends,   ///< `--chunks none`: the first, the first with content and the last one
    whole,  ///< `--no-stream`: the answer came at once; its end is its one chunk
};

struct ViewedRequest {
    std::uint32_t row = 0;
    std::int64_t due_ns = 0;
    std::int64_t fired_ns = 0;
    OptionalNs headers_ns;
    OptionalNs first_event_ns;
    OptionalNs finish_ns;
    OptionalNs usage_ns;
    OptionalNs error_ns;
    OptionalNs marker_ns;
    OptionalNs done_ns;  ///< the body was complete
    std::int64_t ended_ns = 0;
    std::vector<ViewedChunk> chunks;
    ViewedStamps stamped = ViewedStamps::every_chunk;

    std::int64_t prompt_recorded = 0;
    std::int64_t output_recorded = 0;
    std::optional<std::int64_t> prompt_usage;
    std::optional<std::int64_t> output_usage;  ///< the server's own count
    std::int64_t output_counted = 0;           ///< that, or what else the record counted
    int status = 0;                            ///< 0: no answer
    Outcome outcome = Outcome::ok;

    /// A 200 whose body came whole and is of the API, with or without an error object in it: a
    /// success to tools that skip errors.
    bool stream_read() const;

    /// Stamps of all events with choices: role, chunks, finish; in order.
    std::vector<std::int64_t> choice_events() const;
    /// Stamps of the chunks of these kinds.
    std::vector<std::int64_t> stamps_of(std::string_view kinds) const;
    /// Their tokens: by chunk where known; else the server's count where all chunks are of these
    /// kinds; else nothing where other chunks are among them, and one a chunk where nobody counted.
    /// Where chunks lack their stamps, of all kinds.
    std::optional<std::int64_t> tokens_of(std::string_view kinds) const;
    /// Whether `tokens_of` is no more than the number of the chunks.
    bool tokens_are_chunks() const;
    std::int64_t prompt_tokens() const { return prompt_usage.value_or(prompt_recorded); }
    /// Stamp of the last line of the stream, whatever it holds; the last token's where nothing is
    /// known of what followed it.
    std::int64_t last_line_ns() const;
};

/// Of a record that was fired and whose end is known; else nothing.
std::optional<ViewedRequest> viewed_request(const Record& record);

/// A run, as a view is given it.
struct ViewedRun {
    std::vector<ViewedRequest>
        requests;                  ///< that left and ended, of the measurement, in file order
    std::uint64_t unsent = 0;      ///< rows that never left, or whose end is lost
    std::int64_t duration_ns = 0;  ///< from the start to the last end
    bool has_events = true;  ///< false: its records do not know when answers began and finished
    GoodputLimits limits;    ///< no tool has one from the due instant
    std::int64_t zero_utc_ns = 0;  ///< time 0 on the wall clock
    std::string run_id;
    std::string date;
    std::string backend;
    std::string model;
    std::string tokenizer;  ///< empty: none
    std::optional<std::uint64_t> max_concurrency;
    std::optional<double> hit_rate_ceiling;  ///< of prompt tokens, by an infinite cache

    bool any(ViewedStamps stamped) const;
    /// `limits`; none, if one is of first tokens that no answer shows.
    GoodputLimits judged() const;
};

struct ViewResult {
    std::string screen;              ///< in the tool's layout, newline at the end
    std::string json;                ///< the tool's file, newline at the end
    std::vector<std::string> notes;  ///< sentences: what is missing, what the tool gets wrong
};

struct View {
    const char* name = "";
    const char* tool = "";  ///< with its version
    const char* help = "";  ///< a clause
    ViewResult (*make)(const ViewedRun& run) = nullptr;
};

std::span<const View> all_views();
/// nullptr: there is none of that name.
const View* find_view(std::string_view name);

ViewResult vllm_view(const ViewedRun& run);
ViewResult sglang_view(const ViewedRun& run);
ViewResult aiperf_view(const ViewedRun& run);
ViewResult guidellm_view(const ViewedRun& run);
ViewResult genai_perf_view(const ViewedRun& run);
ViewResult genai_bench_view(const ViewedRun& run);
ViewResult inference_perf_view(const ViewedRun& run);
ViewResult trace_replayer_view(const ViewedRun& run);
ViewResult loadgen_view(const ViewedRun& run);
ViewResult inferencex_view(const ViewedRun& run);
ViewResult inferencex_fixed_view(const ViewedRun& run);
ViewResult llmd_view(const ViewedRun& run);

/// ValueList: many numbers, and what the tools of the field make of them. The tools know four kinds
/// of percentile, which differ on small samples; none is ours (distribution.hpp). Owns its numbers:
/// 8 bytes each.
class ValueList {
  public:
    void add(double value) {
        values_.push_back(value);
        is_sorted_ = false;
    }
    std::size_t count() const { return values_.size(); }
    bool empty() const { return values_.empty(); }

    // 0 where there is no value. `per_mille` is of 1,000: 999 is p99.9.
    double mean() const;
    double sum() const;
    double std() const;  ///< the population's
    double min() const { return empty() ? 0 : sorted().front(); }
    double max() const { return empty() ? 0 : sorted().back(); }
    /// Between neighbours, linear: numpy's default.
    double linear(std::uint32_t per_mille) const;
    /// The smallest value with at least the share at or below it.
    double nearest_above(std::uint32_t per_mille) const;
    /// The neighbour that is nearer, of equal ones the even one: numpy's `nearest`. `more` values
    /// that are infinite are behind all; nothing is said where the answer is one of them.
    std::optional<double> nearest_even(std::uint32_t per_mille, std::size_t more) const;
    /// Value number floor(count x share), from 0: LoadGen's.
    double floor_rank(std::uint32_t per_mille) const;
    const std::vector<double>& sorted() const;

  private:
    mutable std::vector<double> values_;  ///< sorted when they are first asked for
    mutable bool is_sorted_ = true;
};

/// "mean" or "avg", "median", "std" or "stddev", "min", "max", "sum", and linear percentiles, "p50"
/// or "p99.9", which is "p99p9", too.
double statistic_of(const ValueList& values, std::string_view name);

/// Values that count for as much as their weights: GuideLLM's distributions.
struct WeightedFigures {
    double mean = 0;
    double median = 0;
    double mode = 0;
    double variance = 0;
    double std_dev = 0;
    double min = 0;
    double max = 0;
    std::int64_t count = 0;
    double total_sum = 0;
    /// p0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9
    double percentiles[11] = {};
};
using WeightedValue = std::pair<double, double>;  ///< value, weight

/// `count` below 0: the sum of the weights, rounded.
WeightedFigures weighted_figures(std::vector<WeightedValue> values, std::int64_t count = -1);

// What views share to print and to warn; `report` prints its own tables with it.

inline constexpr double ns_per_us = 1e3;
inline constexpr double ns_per_ms = 1e6;
inline constexpr double ns_per_s = 1e9;

inline double in_ms(std::int64_t ns) {
    return static_cast<double>(ns) / ns_per_ms;
}
inline double in_s(std::int64_t ns) {
    return static_cast<double>(ns) / ns_per_s;
}
inline double as_double(std::int64_t value) {
    return static_cast<double>(value);
}
/// 0 where there is nothing to divide by.
inline double ratio(double value, double by) {
    return by == 0 ? 0 : value / by;
}

/// With so many decimals, "1234.50".
std::string fixed(double value, int decimals);
/// Digits with commas between thousands.
std::string with_commas(std::string digits);
inline std::string with_commas(double value, int decimals) {
    return with_commas(fixed(value, decimals));
}
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
/// In the middle of `width` fillers, as Python's "{:=^50}".
std::string centred(std::string_view text, std::size_t width, char filler);

/// A table without lines, each column as wide as its widest cell. Width is that of code points.
class ViewTable {
  public:
    explicit ViewTable(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// The first `left` columns begin at the left, the others end at the right; `is_last_left`: but
    /// for the last of a row.
    std::string text(std::size_t left = 1, bool is_last_left = false) const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// From the first begin to the last end.
struct ViewSpan {
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
    void add(std::int64_t begin_ns, std::int64_t end_ns) {
        first_ns = std::min(first_ns, begin_ns);
        last_ns = std::max(last_ns, end_ns);
    }
    std::int64_t length_ns() const { return last_ns < first_ns ? 0 : last_ns - first_ns; }
};
/// What a view must say of the records that it was given. `uses_events`: its figures need the
/// stamps of roles and finishes; `uses_gaps`: and those of all chunks.
struct ViewNeeds {
    bool events = false;
    bool gaps = false;
    bool client_tokens = false;  ///< the tool counts the tokens of the text itself
};
/// `more`: notes of the view's own, behind those.
std::vector<std::string> notes_on(const ViewedRun& run, const ViewNeeds& needs,
                                  std::initializer_list<const char*> more = {});

/// `counted`: tokens of these kinds; where they cannot be told apart, the server's count.
std::int64_t tokens_or_usage(const ViewedRequest& request, std::string_view kinds);

}  // namespace driftless
