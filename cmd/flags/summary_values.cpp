#include "cmd/flags/summary_values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/values.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

struct CompareWord {
    std::string_view word;
    Compare compare;
};

}  // namespace

// The longer ones first.
static constexpr std::array compare_words = {
    CompareWord{">=", Compare::at_least}, CompareWord{"<=", Compare::at_most},
    CompareWord{">", Compare::above}, CompareWord{"<", Compare::below}};

/// Null: it is none.
static const Statistic* read_statistic(std::string_view name) {
    return find_statistic(name == "avg" ? "mean" : name == "median" ? "p50" : name);
}

static Result<double> read_bound(const FigureName& figure, std::string_view text) {
    const FigureUnit unit = figure.unit;
    if (unit == FigureUnit::share && text.starts_with('-')) {
        return invalid("needs a share from 0 to 100 %, as in \"errors > 0.1 %\"");
    }
    if (text.starts_with('+') || text.starts_with('-')) {
        return invalid(
            "compares with another run, but there is only one; give an absolute bound, as in "
            "\"ttft:p99 > 2s\"");
    }
    if (unit == FigureUnit::time) {
        const bool bare = text.find_first_not_of("0123456789.") == text.npos;
        const Result<std::int64_t> ns =
            bare ? Result<std::int64_t>(invalid("")) : parse_duration_ns(text);
        return ns ? Result<double>(static_cast<double>(ns.value()))
                  : Result<double>(invalid("needs a bound with its unit, as in 2s or 300ms"));
    }
    const bool percent = text.ends_with('%');
    const std::optional<double> value =
        read_decimal(percent ? text.substr(0, text.size() - 1) : text);
    if (unit == FigureUnit::number) {
        return value && !percent ? Result<double>(*value)
                                 : invalid("needs a plain number, as in \"completed < 240\"");
    }
    if (!value || (figure.is_part && *value > (percent ? 100 : 1))) {
        return invalid("needs a share from 0 to 100 %, as in \"errors > 0.1 %\"");
    }
    return percent ? *value / 100 : *value;
}

/// The words of a name: "p99_ttft_ms", "ttft.p99.9".
static std::vector<std::string> name_words(std::string_view name) {
    std::vector<std::string> words(1);
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool in_number = name[i] == '.' && i + 1 < name.size() && is_digit(name[i + 1]);
        if (!in_number && std::string_view(":._-").find(name[i]) != std::string_view::npos) {
            words.emplace_back();
        } else {
            words.back() += name[i];
        }
    }
    return words;
}

/// "ttft:p99" where "tftt:p99", "ttft.p99" or the benchmarks' "p99_ttft_ms" was typed; empty: no
/// figure is near.
static std::string nearest_figure(std::string_view typed) {
    std::vector<std::string> names;
    for (const FigureName& figure : figure_names()) {
        names.emplace_back(figure.name);
    }
    std::string statistic = "p99";
    std::vector<std::string> words = name_words(lower(typed));
    std::string whole;
    for (const std::string& word : words) {
        if (read_statistic(word) != nullptr) {
            statistic = word;
        } else if (word != "ms") {
            whole += (whole.empty() ? "" : "_") + word;
        }
    }
    words.insert(words.begin(), whole);
    std::erase(words, "");
    for (const std::string& word : words) {
        const std::string name = find_figure(word) != nullptr ? word : nearest_name(word, names);
        if (!name.empty()) {
            const FigureName* const figure = find_figure(name);
            const bool lacks = figure != nullptr && figure->has_statistics();
            return lacks ? name + ":" + statistic : name;
        }
    }
    return "";
}

/// Each text that was needed stays: of few figures and statistics there are few.
static const char* unknown_figure(std::string_view typed, TakesFigure takes,
                                  std::string_view more) {
    static std::set<std::string, std::less<>> texts;
    std::string nearest = nearest_figure(typed);
    const FigureName* const offered = find_figure(nearest.substr(0, nearest.find(':')));
    nearest = offered == nullptr || takes(*offered) ? nearest : "";
    return texts
        .insert("is not a known figure; use " + list_of_figures(takes) + std::string(more) +
                (nearest.empty() ? "" : "; did you mean " + nearest + "?"))
        .first->c_str();
}

/// "ttft:p99", "errors": figure and statistic of a threshold.
static Result<void> read_figure(std::string_view left, TakesFigure takes, std::string_view more,
                                Threshold& out) {
    const std::size_t colon = left.find(':');
    const std::string_view name = left.substr(0, colon);
    out.figure = find_figure(name);
    if (out.figure == nullptr) {
        return invalid(unknown_figure(left, takes, more));
    }
    if (out.figure->only_in_tables && more.empty()) {
        return invalid(
            "is a figure of compare --table alone, which reckons it from finished runs; no run is "
            "judged by it: use compare --table with --sort");
    }
    const bool has_statistic = colon != left.npos;
    if (!out.figure->has_statistics()) {
        return has_statistic ? invalid("has no statistics: it is one figure; use its name alone")
                             : Result<void>();
    }
    const Statistic* const statistic =
        has_statistic ? read_statistic(left.substr(colon + 1)) : nullptr;
    if (statistic == nullptr) {
        return invalid(
            "needs one of these statistics: p25, p50, p75, p90, p95, p99, p99.9, mean, min or max, "
            "as in ttft:p99");
    }
    // A threshold has the statistic of the times: the least speed has the longest one.
    const std::string_view read = statistic->name;
    const bool is_end = out.figure->is_inverse && (read == "min" || read == "max");
    out.statistic = !is_end ? statistic : find_statistic(read == "min" ? "max" : "min");
    return {};
}

/// Why a threshold holds, or does not, whatever a run does, or may mean two things; null: a run
/// decides.
static const char* why_decided(const Threshold& threshold) {
    const bool is_share = threshold.figure->unit == FigureUnit::share;
    const double bound = threshold.bound;
    const bool at_zero = bound <= 0;
    const bool at_all = is_share && threshold.figure->is_part && bound >= 1;
    const Compare compare = threshold.compare;
    if ((compare == Compare::above && at_all) || (compare == Compare::below && at_zero)) {
        return is_share
                   ? "never holds: a share is from 0 to 100 %; use a bound between them, as in 1 %"
                   : "never holds: nothing is below 0; use a larger bound";
    }
    if ((compare == Compare::at_least && at_zero) || (compare == Compare::at_most && at_all)) {
        return is_share
                   ? "always holds: a share is from 0 to 100 %; use > or <, or a bound between "
                     "them"
                   : "always holds: nothing is below 0; use >, or a larger bound";
    }
    if (is_share && bound != 0 && threshold.text.find('%') == std::string::npos) {
        return "needs a percent sign: 0.5 may be a half, 50 %, or 0.5 %";
    }
    return nullptr;
}

Result<Threshold> parse_figure(std::string_view text, std::string_view more) {
    Threshold out;
    out.text = std::string(text);
    const Result<void> read = read_figure(text, takes_all, more, out);
    return read ? Result<Threshold>(out) : Result<Threshold>(read.error());
}

Result<Threshold> parse_threshold(std::string_view text, TakesFigure takes) {
    const std::string condition = without_blanks(text);
    const std::string_view all = condition;
    const std::size_t at = all.find_first_of("<>");
    if (at == all.npos) {
        return invalid(
            "has no comparison; say when the run fails, as in \"ttft:p99 > 2s\" or \"errors > 0.1 "
            "%\", in quotes: a shell takes > for the name of a file");
    }
    if (at > 0 && all[at - 1] == '=') {
        return invalid("is not a comparison; use >=, <=, > or <");
    }
    if (all.substr(0, at).find('=') != all.npos) {
        return invalid("names a group of rows, which only --fail-if of a run takes");
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
    if (const Result<void> read = read_figure(all.substr(0, at), takes, "", out); !read) {
        return read.error();
    }
    const Result<double> value = read_bound(*out.figure, bound);
    if (!value) {
        return value.error();
    }
    out.bound = value.value();
    return out;
}

/// A key of rows that have one value of it; a bare name is a kept column.
static Result<GroupKey> parse_key_of_rows(std::string_view name) {
    Result<GroupKey> key = parse_group_key(name);
    if (!key) {
        key = parse_group_key("kept." + std::string(name));
    }
    return key && key.value().kind == GroupKey::Kind::input
               ? Result<GroupKey>(invalid("uses input:PARTS, which has no single value; use phase, "
                                          "turn, api, url, model, header.NAME or a name of --keep"))
               : key;
}

/// The value behind the '=' of a key, up to one of `ends`, or in quotes. Returns where it ends;
/// npos: nothing follows.
static std::size_t read_value(std::string_view text, std::size_t equals, std::string_view ends,
                              std::string_view& value) {
    const bool quoted = text.substr(equals + 1).starts_with('"');
    const std::size_t begin = equals + (quoted ? 2 : 1);
    const std::size_t end = quoted ? text.find('"', begin) : text.find_first_of(ends, begin);
    value = text.substr(begin, end - begin);
    return end == text.npos ? end : end + (quoted ? 1 : 0);
}

Result<Threshold> parse_group_threshold(std::string_view text) {
    const std::string_view typed = trim_blanks(text);
    const std::size_t equals = typed.find_first_of("=<> ");
    const bool of_group = equals != typed.npos && typed[equals] == '=';
    std::string_view value;
    const std::size_t end = of_group ? read_value(typed, equals, " ", value) : 0;
    Result<Threshold> threshold = parse_threshold(typed.substr(std::min(end, typed.size())));
    if (!threshold) {
        return threshold;
    }
    threshold.value().text = std::string(text);
    if (of_group) {
        Result<GroupKey> key = parse_key_of_rows(typed.substr(0, equals));
        if (!key) {
            return key.error();
        }
        threshold.value().key = std::move(key).value();
        threshold.value().value = std::string(value);
    }
    return threshold;
}

Result<Threshold> parse_fail_if(std::string_view text) {
    const Result<Threshold> threshold = parse_group_threshold(text);
    const char* const why = threshold ? why_decided(threshold.value()) : nullptr;
    return why == nullptr ? threshold : Result<Threshold>(invalid(why));
}

Result<StopRule> parse_stop_rule(std::string_view text) {
    constexpr std::string_view word = " for ";
    constexpr TakesFigure takes = [](const FigureName& one) { return one.stop.has_value(); };
    const std::size_t at = text.find(word);
    const Result<Threshold> threshold = parse_threshold(text.substr(0, at), takes);
    if (!threshold) {
        return threshold.error();
    }
    if (const char* const why = why_decided(threshold.value()); why != nullptr) {
        return invalid(why);
    }
    StopRule rule;
    rule.threshold = threshold.value();
    rule.text = std::string(text);
    if (!rule.threshold.figure->stop) {
        static const std::string why =
            "uses a figure that is only known at the end; during a run use " +
            list_of_figures(takes) + ", as in \"ttft:p99 > 10s for 30s\"";
        return invalid(why.c_str());
    }
    rule.figure = *rule.threshold.figure->stop;
    if (at != text.npos) {
        const Result<std::int64_t> time =
            parse_duration_ns(without_blanks(text.substr(at + word.size())));
        if (!time) {
            return invalid("needs a time after \"for\", as in \"ttft:p99 > 10s for 30s\"");
        }
        rule.for_ns = time.value();
    }
    return rule;
}

std::string text_of(const StopRule& rule) {
    const Threshold& limit = rule.threshold;
    return std::string(limit.figure->name) + ":" + std::string(limit.statistic->name) +
           std::to_string(static_cast<int>(limit.compare)) + ":" + std::to_string(limit.bound) +
           " for " + std::to_string(rule.for_ns);
}

static constexpr const char* limits_remedy =
    "is not a list of limits; use ttft:200 ttft_due:500 tpot:50 e2e:3s (a bare number is "
    "milliseconds)";
static constexpr const char* group_remedy =
    "is not a rule for some rows; use KEY=VALUE and limits in ms, as in \"tier=gold ttft:200\"";
static constexpr const char* colon_remedy =
    "has = where a limit has a colon; use ttft:200 ttft_due:500 tpot:50 e2e:3s (a bare number is "
    "milliseconds); "
    "a kept column of that name is kept.NAME";
static constexpr std::string_view between = " ,";

static constexpr Choices<decltype(&GoodputLimits::ttft_ns)> limit_choices{
    {"ttft", &GoodputLimits::ttft_ns},
    {"ttft_due", &GoodputLimits::ttft_due_ns},
    {"tpot", &GoodputLimits::tpot_ns},
    {"e2e", &GoodputLimits::e2e_ns},
    {"e2el", &GoodputLimits::e2e_ns}};

static Result<void> read_limit(std::string_view part, GoodputLimits& limits) {
    const std::size_t colon = part.find(':');
    const auto member = limit_choices(part.substr(0, colon));
    if (colon == part.npos || !member) {
        return invalid(limits_remedy);
    }
    std::string value(part.substr(colon + 1));
    if (value.find_first_not_of("0123456789.") == value.npos) {
        value += "ms";
    }
    const Result<std::int64_t> limit = parse_duration_ns(value);
    if (!limit || limit.value() <= 0) {
        return invalid(limits_remedy);
    }
    limits.*member.value() = limit.value();
    return {};
}

static Result<GoodputLimits> parse_goodput(std::string_view text) {
    GoodputLimits limits;
    for (const std::string_view part : words_in(text, between)) {
        if (const Result<void> read = read_limit(part, limits); !read) {
            return read.error();
        }
    }
    return limits.set() ? Result<GoodputLimits>(limits)
                        : Result<GoodputLimits>(invalid(limits_remedy));
}

static Result<GoodputRule> parse_group_goodput(std::string_view text) {
    const std::size_t equals = text.find('=');
    std::string_view value;
    const std::size_t end = equals == text.npos ? equals : read_value(text, equals, between, value);
    const std::string name(text.substr(0, equals));
    const std::size_t begin = text.find_last_of(between, equals) + 1;
    if (equals != text.npos && limit_choices(text.substr(begin, equals - begin))) {
        return invalid(colon_remedy);
    }
    if (equals == text.npos || equals == 0 || end == text.npos) {
        return invalid(group_remedy);
    }
    Result<GroupKey> key = parse_key_of_rows(name);
    const Result<GoodputLimits> limits = parse_goodput(text.substr(end + 1));
    if (!key || !limits) {
        return key ? limits.error() : key.error();
    }
    return GoodputRule{std::move(key).value(), std::string(value), limits.value()};
}

std::string text_of(const GoodputRule& rule) {
    std::string text = (rule.key ? rule.key->text : "") + "=" + rule.value;
    for (const Choice<decltype(&GoodputLimits::ttft_ns)>& one : limit_choices) {
        text += " " + std::to_string((rule.limits.*one.value).value_or(0));
    }
    return text;
}

Result<GoodputRule> parse_goodput_rule(std::string_view text) {
    if (text.find('=') != text.npos) {
        return parse_group_goodput(text);
    }
    const Result<GoodputLimits> limits = parse_goodput(text);
    return limits ? Result<GoodputRule>(GoodputRule{{}, "", limits.value()})
                  : Result<GoodputRule>(limits.error());
}

GoodputRules with_rules(GoodputRules asked, const GoodputRules& before) {
    for (const GoodputRule& rule : before) {
        const bool is_asked = std::any_of(asked.begin(), asked.end(), [&](const GoodputRule& one) {
            return group_text(one) == group_text(rule);
        });
        if (!is_asked) {
            asked.push_back(rule);
        }
    }
    return asked;
}

std::string repeated_goodput(const GoodputRules& rules) {
    const auto common =
        std::count_if(rules.begin(), rules.end(), [](const auto& rule) { return !rule.key; });
    return common > 1 ? "--goodput is given " + std::to_string(common) +
                            " times for all rows; give it once, and add rules for some rows as in "
                            "\"tier=gold ttft:200\""
                      : "";
}

std::string limits_missing(std::string_view figure, const std::string& rule,
                           const std::string& who) {
    return figure == "good" || figure == "request_goodput"
               ? "--fail-if \"" + rule + "\" counts good requests, but " + who +
                     "; add --goodput \"ttft:200 tpot:50\" or the like"
               : "";
}

std::string limits_missing(const std::vector<Threshold>& fail_if) {
    std::string why;
    for (const Threshold& one : fail_if) {
        why = why.empty() ? limits_missing(one.figure->name, one.text, "no limits are set") : why;
    }
    return why;
}

/// Why no record has what tells those rows apart; empty: they have it.
static std::string unkept(const char* flag, const std::optional<GroupKey>& key,
                          const std::string& value, const std::vector<std::string>& keep) {
    if (key && std::find(keep.begin(), keep.end(), key->text) != keep.end()) {
        return std::string(flag) + " \"" + key->text + "=" + value + " ..\" may mean the " +
               key->text + " of a request or the column; the column is kept." + key->text;
    }
    return !key || key->kind != GroupKey::Kind::kept ||
                   std::ranges::find(keep, key->member) != keep.end()
               ? ""
               : std::string(flag) + " \"" + key->member + "=" + value +
                     " ..\" uses a column that no record has; add --keep " + key->member + ", too";
}

std::string group_refusal(const GoodputRules& rules, const std::vector<Threshold>& fail_if,
                          const std::vector<std::string>& keep) {
    std::string why = repeated_goodput(rules);
    for (const GoodputRule& rule : rules) {
        why = why.empty() ? unkept("--goodput", rule.key, rule.value, keep) : why;
    }
    for (const Threshold& one : fail_if) {
        why = why.empty() ? unkept("--fail-if", one.key, one.value, keep) : why;
    }
    return why;
}

}  // namespace driftless
