#include "cmd/threshold_values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "cmd/values.hpp"

namespace driftless {

namespace {

Error remedy(const char* doing) {
    return {ErrorCode::invalid, 0, doing};
}

struct CompareWord {
    std::string_view word;
    Compare compare;
};
// The longer ones first.
constexpr std::array compare_words = {
    CompareWord{">=", Compare::at_least}, CompareWord{"<=", Compare::at_most},
    CompareWord{">", Compare::above}, CompareWord{"<", Compare::below}};

bool read_statistic(std::string_view name, Threshold& out) {
    constexpr std::array<std::pair<std::string_view, Statistic>, 4> words = {
        {{"mean", Statistic::mean},
         {"avg", Statistic::mean},
         {"min", Statistic::min},
         {"max", Statistic::max}}};
    for (const auto& [word, statistic] : words) {
        if (name == word) {
            out.statistic = statistic;
            return true;
        }
    }
    name = name == "median" ? "p50" : name;
    for (std::size_t i = 0; i < percentiles.size() && name.starts_with('p'); ++i) {
        if (name.substr(1) == percentiles[i].name) {
            out.statistic = Statistic::percentile;
            out.percentile = i;
            return true;
        }
    }
    return false;
}

/// A plain decimal number from 0 on.
std::optional<double> read_number(std::string_view text) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && std::isfinite(value) && value >= 0 && !text.starts_with('-')
               ? std::optional(value)
               : std::nullopt;
}

Result<double> read_bound(FigureUnit unit, std::string_view text) {
    if (unit == FigureUnit::share && text.starts_with('-')) {
        return remedy("needs a share from 0 to 100 %, as in \"errors > 0.1 %\"");
    }
    if (text.starts_with('+') || text.starts_with('-')) {
        return remedy(
            "compares with another run, but there is only one; give an absolute bound, as in "
            "\"ttft:p99 > 2s\"");
    }
    if (unit == FigureUnit::time) {
        const bool bare = text.find_first_not_of("0123456789.") == text.npos;
        const Result<std::int64_t> ns =
            bare ? Result<std::int64_t>(remedy("")) : parse_duration_ns(text);
        return ns ? Result<double>(static_cast<double>(ns.value()))
                  : Result<double>(remedy("needs a bound with its unit, as in 2s or 300ms"));
    }
    const bool percent = text.ends_with('%');
    const std::optional<double> value =
        read_number(percent ? text.substr(0, text.size() - 1) : text);
    if (unit == FigureUnit::number) {
        return value && !percent ? Result<double>(*value)
                                 : remedy("needs a plain number, as in \"completed < 240\"");
    }
    if (!value || *value > (percent ? 100 : 1)) {
        return remedy("needs a share from 0 to 100 %, as in \"errors > 0.1 %\"");
    }
    return percent ? *value / 100 : *value;
}

/// "ttft:p99", "errors": figure and statistic of a threshold.
Result<void> read_figure(std::string_view left, Threshold& out) {
    const std::size_t colon = left.find(':');
    const std::string_view name = left.substr(0, colon);
    out.figure = find_figure(name == "e2el" ? "e2e" : name);
    if (out.figure == nullptr) {
        return remedy(
            "is not a known figure; use ttft, ttft_due, tpot, itl, e2e, chunk_gap and drift (each "
            "with :p99 or the like), errors, good, tainted, overtaken, completed, failed, "
            "request_throughput, output_throughput, total_token_throughput and request_goodput");
    }
    const bool has_statistic = colon != left.npos;
    if (out.figure->unit != FigureUnit::time) {
        return has_statistic ? remedy("has no statistics: it is one figure; use its name alone")
                             : Result<void>();
    }
    if (!has_statistic || !read_statistic(left.substr(colon + 1), out)) {
        return remedy(
            "needs one of these statistics: p25, p50, p75, p90, p95, p99, p99.9, mean, min or max, "
            "as in ttft:p99");
    }
    return {};
}

/// Why a threshold holds, or does not, whatever a run does; null: a run decides.
const char* why_decided(const Threshold& threshold) {
    const bool is_share = threshold.figure->unit == FigureUnit::share;
    const double bound = threshold.bound;
    const bool at_zero = bound <= 0;
    const bool at_all = is_share && bound >= 1;
    const Compare compare = threshold.compare;
    if ((compare == Compare::above && at_all) || (compare == Compare::below && at_zero)) {
        return is_share
                   ? "never holds: a share is from 0 to 100 %; use a bound between them, as in "
                     "\"errors > 1 %\""
                   : "never holds: nothing is below 0; use a larger bound";
    }
    if ((compare == Compare::at_least && at_zero) || (compare == Compare::at_most && at_all)) {
        return is_share
                   ? "always holds: a share is from 0 to 100 %; use > or <, or a bound between "
                     "them"
                   : "always holds: nothing is below 0; use >, or a larger bound";
    }
    return nullptr;
}

}  // namespace

Result<Threshold> parse_figure(std::string_view text) {
    Threshold out;
    out.text = std::string(text);
    const Result<void> read = read_figure(text, out);
    return read ? Result<Threshold>(out) : Result<Threshold>(read.error());
}

Result<Threshold> parse_threshold(std::string_view text) {
    const std::string condition = without_blanks(text);
    const std::string_view all = condition;
    const std::size_t at = all.find_first_of("<>");
    if (at == all.npos) {
        return remedy(
            "has no comparison; say when the run fails, as in \"ttft:p99 > 2s\" or \"errors > 0.1 "
            "%\", in quotes: a shell takes > for the name of a file");
    }
    if (at > 0 && all[at - 1] == '=') {
        return remedy("is not a comparison; use >=, <=, > or <");
    }
    Threshold out;
    out.text = std::string(text);
    std::string_view bound;
    for (const auto& [word, compare] : compare_words) {
        if (all.substr(at).starts_with(word)) {
            out.compare = compare;
            bound = all.substr(at + word.size());
            break;
        }
    }
    if (const Result<void> read = read_figure(all.substr(0, at), out); !read) {
        return read.error();
    }
    const Result<double> value = read_bound(out.figure->unit, bound);
    if (!value) {
        return value.error();
    }
    out.bound = value.value();
    return out;
}

Result<Threshold> parse_fail_if(std::string_view text) {
    const Result<Threshold> threshold = parse_threshold(text);
    const char* const why = threshold ? why_decided(threshold.value()) : nullptr;
    return why == nullptr ? threshold : Result<Threshold>(remedy(why));
}

Result<StopRule> parse_stop_rule(std::string_view text) {
    constexpr std::string_view word = " for ";
    const std::size_t at = text.find(word);
    const Result<Threshold> threshold = parse_threshold(text.substr(0, at));
    if (!threshold) {
        return threshold.error();
    }
    if (const char* const why = why_decided(threshold.value()); why != nullptr) {
        return remedy(why);
    }
    StopRule rule;
    rule.threshold = threshold.value();
    rule.text = std::string(text);
    const std::optional<StopFigure> figure = stop_figure_of(rule.threshold);
    if (!figure) {
        return remedy(
            "uses a figure that is only known at the end; during a run use errors, failed, or "
            "ttft, ttft_due, tpot and e2e with a statistic, as in \"ttft:p99 > 10s for 30s\"");
    }
    rule.figure = *figure;
    if (at != text.npos) {
        const Result<std::int64_t> time =
            parse_duration_ns(without_blanks(text.substr(at + word.size())));
        if (!time) {
            return remedy("needs a time after \"for\", as in \"ttft:p99 > 10s for 30s\"");
        }
        rule.for_ns = time.value();
    }
    return rule;
}

}  // namespace driftless
