/// The tables that views are made of, for view_*.cpp alone: what a tool counts of each request, and
/// one row for each key of its file, with the label on its screen and the figure. To add a key, add
/// a row. What several tools define alike is here once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cmd/reading/view.hpp"
#include "proto/json/put.hpp"

namespace driftless {

/// A request as a tool counts it. Tokens and ends are by the tool's own rules.
struct Counted {
    std::int64_t begin_ns = 0;  ///< from time 0, mostly the fire
    OptionalNs first_ns;        ///< from the begin to the first token; nothing: it has none
    std::int64_t last_ns = 0;   ///< from the begin to the end of the answer
    std::int64_t prompt = 0;    ///< tokens
    std::int64_t output = 0;
    std::vector<std::int64_t> events_ns;  ///< that the tool counts as tokens, from time 0
    const ViewedRequest* seen = nullptr;  ///< set by `tally_of`

    bool has_chunks() const { return seen->stamped == ViewedStamps::every_chunk; }
    std::int64_t end_ns() const { return begin_ns + last_ns; }
    std::int64_t decode_ns() const { return last_ns - first_ns.value_or(0); }
    /// From the first of the events to the last.
    std::int64_t events_length_ns() const {
        return events_ns.empty() ? 0 : events_ns.back() - events_ns.front();
    }
};
/// From its fire to `end_ns`, with the first of the events as its first token; without either, if
/// the answer was not streamed.
Counted counted_of(const ViewedRequest& request, std::vector<std::int64_t> events_ns,
                   std::int64_t end_ns, std::int64_t prompt, std::int64_t output);

/// What a tool counts of a run.
struct Tally {
    std::vector<Counted> ok;
    std::int64_t failed = 0;
    std::int64_t input = 0;   ///< tokens of `ok`
    std::int64_t output = 0;  ///< the same
    double seconds = 0;       ///< of the run; a tool that measures another time sets that
    ViewSpan span;            ///< of `ok`
    bool has_chunks = true;   ///< false: some of `ok` lack stamps of their tokens

    std::int64_t count() const { return static_cast<std::int64_t>(ok.size()); }
    std::int64_t sent() const { return count() + failed; }
    std::int64_t tokens() const { return input + output; }
    double per_second(std::int64_t of) const { return ratio(as_double(of), seconds); }
};
/// `counted`: nothing of a request that the tool counts as failed.
Tally tally_of(const ViewedRun& run, std::optional<Counted> (*counted)(const ViewedRequest&));

using Known = std::optional<double>;
/// Of one request; nothing: it has none.
using RequestFigure = Known (*)(const Counted& one);
/// One value of each gap between the events of a request.
struct Gaps {
    double ns_per_unit = ns_per_ms;
};

// Figures of several tools.

template <double ns_per_unit>
Known first_token(const Counted& one) {
    return one.first_ns ? Known(as_double(*one.first_ns) / ns_per_unit) : std::nullopt;
}
template <double ns_per_unit>
Known whole_answer(const Counted& one) {
    return as_double(one.last_ns) / ns_per_unit;
}
inline Known prompt_tokens(const Counted& one) {
    return as_double(one.prompt);
}
inline Known output_tokens(const Counted& one) {
    return as_double(one.output);
}
inline Known all_tokens(const Counted& one) {
    return as_double(one.prompt + one.output);
}
/// What `figure` has, of a request with a first token.
template <RequestFigure figure>
Known if_streamed(const Counted& one) {
    return one.first_ns ? figure(one) : std::nullopt;
}
template <double ns_per_unit>
Known decode_time(const Counted& one) {
    return known_if(one.first_ns.has_value(), as_double(one.decode_ns()) / ns_per_unit);
}
/// Prompt tokens by the time of the first token.
inline Known prefill_rate(const Counted& one) {
    return known_if(one.first_ns.has_value(),
                    ratio(as_double(one.prompt), in_s(one.first_ns.value_or(0))));
}
/// To the first chunk that is no reasoning.
Known first_spoken_ms(const Counted& one);
/// (end - first token) / (tokens - 1), ms; from two tokens on.
inline Known tpot_ms(const Counted& one) {
    return known_if(one.output > 1 && one.first_ns,
                    in_ms(one.decode_ns()) / as_double(one.output - 1));
}
/// The same in ns, with the other rounding: AIPerf's ITL.
inline Known itl_ns(const Counted& one) {
    return known_if(one.output > 1 && one.first_ns,
                    as_double(one.decode_ns()) / as_double(one.output - 1));
}
template <RequestFigure figure, double by>
Known divided(const Counted& one) {
    const Known value = figure(one);
    return value ? Known(*value / by) : std::nullopt;
}
/// None where it is 0.
template <RequestFigure figure>
Known positive(const Counted& one) {
    const double value = figure(one).value_or(0);
    return known_if(value > 0, value);
}

/// Requests within all limits that are given; one that lacks the figure of a limit is not.
/// `tpot`: in units of so many ns.
std::int64_t count_good(const Tally& tally, const GoodputLimits& limits, RequestFigure tpot,
                        double ns_per_unit);
/// With `tpot_ms`, and 0, which passes, where there is none.
std::int64_t count_good(const Tally& tally, const GoodputLimits& limits);

/// The records do not say it: null in the file, or left out; "-" on the screen.
struct NotComputable {};

/// What a key has: null, a count, a number, a text; or values of which statistics are shown, as
/// they are, of each request, or of each gap.
using KeyValue = std::variant<std::nullptr_t, NotComputable, std::int64_t, double, std::string,
                              ValueList, RequestFigure, Gaps>;

/// A key of a tool's file, a line of its screen, or both.
struct ToolKey {
    /// Members of members have slashes, "a/b"; "a/" is an empty object, and "a[]/b" a member of the
    /// one object in an array. `*` stands for the name of each statistic. Empty: it is not in the
    /// file.
    std::string key;
    KeyValue value;
    std::string label = "";  ///< empty: it is not on the screen
    std::string unit = "";
    int place = 0;  ///< on the screen, behind smaller ones and equal ones above it

    bool computable() const { return !std::holds_alternative<NotComputable>(value); }
    const ValueList& values() const { return std::get<ValueList>(value); }
    /// `statistic_of` its values.
    double statistic(std::string_view name) const { return statistic_of(values(), name); }
};
using ToolKeys = std::vector<ToolKey>;

/// null, where `known` is false.
inline KeyValue known_value(bool known, KeyValue value) {
    return known ? std::move(value) : KeyValue(nullptr);
}
inline KeyValue computed_if(bool can, KeyValue value) {
    return can ? std::move(value) : KeyValue(NotComputable());
}
void append(ToolKeys& keys, ToolKeys more);
/// With the values of the tally's requests in the place of figures and gaps. What has none there,
/// although requests lack stamps, is not computable.
ToolKeys measured(ToolKeys keys, const Tally& tally);
/// `ToolKey::statistic`, and "count".
KeyValue plain_statistic(const ToolKey& row, std::string_view name);

/// How a tool writes its file.
struct FileStyle {
    /// What it does with a row of statistics that has no value. If that cannot be computed: the
    /// same, but null for zeros, or left out where it has a unit.
    enum class Empty { zeros, left_out, null, object };

    /// Words that `statistic_of` knows, "count", or those of the style's own function.
    std::string_view statistics = "";
    Empty empty = Empty::zeros;
    const char* unit_key = "";  ///< of the unit, before the figures; empty: it is not written
    KeyValue (*statistic)(const ToolKey& row, std::string_view name) = plain_statistic;
    /// All numbers that are no counts.
    void (*put_number)(JsonWriter& json, double value) = [](JsonWriter& json, double value) {
        json.number(value);
    };
};
/// A path in a file with the JSON that is there.
struct ToolMember {
    std::string path;
    std::string json;  ///< of "a/": nothing
};
std::vector<std::string> words_in(std::string_view text);
std::vector<ToolMember> members_of(const ToolKeys& keys, const FileStyle& style);
std::string file_of(const ToolKeys& keys, const FileStyle& style);

/// The rows with a label, in the order of the screen.
std::vector<const ToolKey*> lines_of(const ToolKeys& keys);
/// A table of those statistics that the head names, each as `write` has it. A row with one value
/// has it in the first column. `none`: for what is missing, or not computable.
std::string table_of(std::vector<std::string> head, const ToolKeys& keys,
                     std::string (*write)(const ToolKey& row, std::string_view name),
                     const char* none = "-");

// What the serving benchmarks of vLLM, SGLang and InferenceX's fork of it have in common.

/// Both by bins of one second from the first start: each event counts for one token, and a request
/// for every second that it touches, so that two one after the other count as two at once.
struct ServingPeaks {
    std::int64_t tokens_per_s = 0;  ///< not computable of a tally without `has_chunks`
    std::int64_t concurrent = 0;
};
ServingPeaks peaks_of(const Tally& tally);

/// Label and value in two columns; statistics as a block with a title, where `unit` is the short
/// name; null without a key is a title.
std::string serving_screen(const ToolKeys& keys);

/// Kinds of chunks that are no reasoning.
inline constexpr std::string_view spoken_kinds = "ceut";
/// What AIPerf counts, of which InferenceX's aggregate is made, too.
std::optional<Counted> aiperf_counted(const ViewedRequest& request);

}  // namespace driftless
