#include "cmd/flags/synth_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "engine/plan/synth_rows.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr std::int64_t second_ns = 1'000'000'000;
static constexpr std::uint64_t set_tokens_max = 1'000'000'000'000;
static constexpr std::uint64_t groups_max = 1'000'000;

namespace {

/// What a law's values are.
struct LawValues {
    std::int64_t least;
    std::int64_t most;
    bool times;
    const char* remedy;
    const char* range;
};

}  // namespace

static constexpr const char* token_remedy =
    "is not a length; use 512, uniform:100..900, normal:512:100, lognormal:512:0.8 (median, sigma) "
    "or file:PATH (lines of length,weight)";
static constexpr const char* token_range = "has a length that is not from 1 to 134217728 tokens";
static constexpr LawValues tokens{1, row_tokens_max, false, token_remedy, token_range};
static constexpr LawValues any_tokens{0, row_tokens_max, false, token_remedy,
                                      "has a length that is not from 0 to 134217728 tokens"};
static constexpr LawValues numbers{
    1, 1'000'000, false,
    "is not a number; use 4, uniform:2..8, normal:6:2, lognormal:4:0.8 or "
    "file:PATH (lines of number,weight)",
    "has a number that is not from 1 to 1000000"};
static constexpr LawValues times{
    0, 366LL * 86400 * second_ns, true,
    "is not a time; use 2s, uniform:1s..5s, lognormal:3s:1 (median, sigma), "
    "exponential:2s or file:PATH (lines of milliseconds,weight)",
    "has a time that is not from 0 to 366 days"};

/// A decimal that is not negative and finite.
static std::optional<double> number_of(std::string_view text) {
    const auto value = read_number<double>(text);
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

/// One whole value of the law, within its range.
static Result<std::int64_t> value_of(std::string_view text, const LawValues& values) {
    Result<std::int64_t> value = invalid(values.remedy);
    if (values.times) {
        value = parse_duration_ns(text);
    } else if (const Result<std::uint64_t> count = parse_count(text); count) {
        value = count.value() > static_cast<std::uint64_t>(values.most)
                    ? values.most + 1
                    : static_cast<std::int64_t>(count.value());
    } else if (count.error().code == ErrorCode::out_of_range ||
               (text.starts_with('-') && parse_count(text.substr(1)))) {
        return invalid(values.range);
    }
    if (!value) {
        return invalid(text.starts_with('-') ? values.range : values.remedy);
    }
    if (value.value() < values.least || value.value() > values.most) {
        return invalid(values.range);
    }
    return value;
}

static Result<ValueLaw> between(ValueLaw law, std::string_view text, const LawValues& values) {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) {
        return invalid(values.remedy);
    }
    const Result<std::int64_t> low = value_of(text.substr(0, dots), values);
    const Result<std::int64_t> high = value_of(text.substr(dots + 2), values);
    if (!low || !high) {
        return low ? high.error() : low.error();
    }
    if (high.value() < low.value()) {
        return invalid("has a range that ends before it begins; swap the two ends");
    }
    law.low = low.value();
    law.high = high.value();
    return law;
}

/// "512:100", "512:0.8", "512", and maybe bounds behind it.
static Result<ValueLaw> real_law(LawKind kind, std::string_view text, const LawValues& values) {
    ValueLaw law;
    law.kind = kind;
    law.low = values.least;
    law.high = values.most;
    const auto real = [&](std::string_view part) {
        if (!values.times) {
            return number_of(part);
        }
        const Result<std::int64_t> ns = parse_duration_ns(part);
        return ns ? std::optional(static_cast<double>(ns.value())) : std::nullopt;
    };
    const std::optional<double> centre = real(take_until(text, ":"));
    std::optional<double> spread = 0.0;
    if (kind != LawKind::exponential) {
        const std::string_view part = take_until(text, ":");
        spread = kind == LawKind::lognormal ? number_of(part) : real(part);
    }
    if (!centre || !spread || *centre <= 0) {
        return invalid(centre && *centre <= 0 ? "must have a mean or median above 0"
                                              : values.remedy);
    }
    law.centre = *centre;
    law.spread = *spread;
    if (!text.empty()) {
        const Result<ValueLaw> bounded = between(law, text, values);
        if (!bounded) {
            return bounded;
        }
        law = bounded.value();
    }
    if (share_inside(law) < law_share_min) {
        return invalid(
            "has more than half of its values outside its bounds; use a smaller deviation, or "
            "lognormal");
    }
    return law;
}

static Result<ValueLaw> parse_law(std::string_view text, const LawValues& values) {
    std::string_view behind = text;
    const std::string_view kind = take_until(behind, ":");
    if (kind == "file" && !behind.empty()) {
        ValueLaw law;
        law.kind = LawKind::histogram;
        law.low = values.least;
        law.high = values.most;
        law.file = behind;
        law.unit = values.times ? second_ns / 1000 : 1;
        return law;
    }
    if (kind == "uniform") {
        ValueLaw law;
        law.kind = LawKind::uniform;
        return between(law, behind, values);
    }
    if (kind == "normal" || kind == "lognormal" || kind == "exponential") {
        return real_law(kind == "normal"      ? LawKind::normal
                        : kind == "lognormal" ? LawKind::lognormal
                                              : LawKind::exponential,
                        behind, values);
    }
    const Result<std::int64_t> value = value_of(text, values);
    return value ? Result<ValueLaw>(fixed_law(value.value())) : value.error();
}

static Result<std::uint32_t> narrow(const Result<std::uint64_t>& value) {
    return value ? Result<std::uint32_t>(static_cast<std::uint32_t>(value.value())) : value.error();
}

static constexpr const char* range_remedy =
    "is not from 0 up to (not including) 1, as in 0.2, nor {\"input\":0.2,\"output\":0.1}";

Result<ValueLaw> parse_token_law(std::string_view text) {
    return parse_law(text, tokens);
}

Result<ValueLaw> parse_any_token_law(std::string_view text) {
    return parse_law(text, any_tokens);
}

Result<ValueLaw> parse_number_law(std::string_view text) {
    return parse_law(text, numbers);
}

Result<ValueLaw> parse_time_law(std::string_view text) {
    return parse_law(text, times);
}

Result<std::uint32_t> parse_row_tokens(std::string_view text) {
    return narrow(
        within(parse_count(text), 0, row_tokens_max, "is not from 0 to 134217728 tokens"));
}

Result<std::uint32_t> parse_positive_row_tokens(std::string_view text) {
    return narrow(
        within(parse_count(text), 1, row_tokens_max, "is not from 1 to 134217728 tokens"));
}

Result<std::uint64_t> parse_set_tokens(std::string_view text) {
    return within(parse_count(text), 1, set_tokens_max, "is not from 1 to 1000000000000 tokens");
}

Result<SetRange> parse_set_range(std::string_view text) {
    constexpr const char* remedy =
        "is not a range of tokens, the smaller one first, as in 1000000..4000000";
    const std::size_t dots = text.find("..");
    if (dots == text.npos) {
        return invalid(remedy);
    }
    const Result<std::uint64_t> low = parse_set_tokens(text.substr(0, dots));
    const Result<std::uint64_t> high = parse_set_tokens(text.substr(dots + 2));
    if (!low || !high || high.value() < low.value()) {
        return invalid(remedy);
    }
    return SetRange{low.value(), high.value()};
}

Result<std::uint64_t> parse_rows(std::string_view text) {
    return within(parse_count(text), 1, synth_rows_max,
                  "is not from 1 to 4294967000, the most rows that a trace can have");
}

Result<std::uint32_t> parse_groups(std::string_view text) {
    return narrow(within(parse_count(text), 1, groups_max, "is not a number from 1 to 1000000"));
}

Result<std::uint32_t> parse_small(std::string_view text) {
    return narrow(within(parse_count(text), 1, 1000, "is not a number from 1 to 1000"));
}

Result<std::uint32_t> parse_depth(std::string_view text) {
    return narrow(within(parse_count(text), 0, 8, "is not a number from 0 to 8"));
}

Result<std::uint64_t> parse_hit_rate(std::string_view text) {
    const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    const std::optional<double> percent = number_of(digits);
    if (!percent || *percent > 100) {
        return invalid("is not a hit rate from 0 to 100 %");
    }
    return static_cast<std::uint64_t>(std::floor(*percent * 10'000 + 0.5));
}

Result<double> parse_part(std::string_view text) {
    const std::optional<double> part = number_of(text);
    return part && *part <= 1 ? Result<double>(*part)
                              : invalid("is not a decimal from 0 to 1, as in 0.25");
}

Result<RangeRatio> parse_range_ratio(std::string_view text) {
    RangeRatio ratio;
    if (const std::optional<double> both = number_of(text)) {
        ratio = {*both, *both};
    } else {
        JsonDocument document;
        const Result<JsonValue> pair = document.parse(text);
        if (!pair || !pair.value().is(JsonType::object)) {
            return invalid(range_remedy);
        }
        for (JsonValue one = pair.value().first(); one.present(); one = one.next()) {
            const std::optional<double> part = number_of(one.raw());
            if (!part || (one.key() != "input" && one.key() != "output")) {
                return invalid(range_remedy);
            }
            (one.key() == "input" ? ratio.input : ratio.output) = *part;
        }
    }
    return ratio.input < 1 && ratio.output < 1 ? Result<RangeRatio>(ratio) : invalid(range_remedy);
}

Result<double> parse_synth_rate(std::string_view text) {
    constexpr double least = 1e-6;
    const Result<TypedRate> rate = parse_rate(text);
    if (!rate || rate.value().infinite) {
        return rate ? Result<double>(0.0) : Result<double>(rate.error());
    }
    return rate.value().per_second < least
               ? invalid("is less than one row in 11 days; use 10 (a second), 600/m, 50/h or inf")
               : Result<double>(rate.value().per_second);
}

Result<Popularity> parse_popularity(std::string_view text) {
    Popularity popularity;
    if (!text.starts_with("zipf:")) {
        const Result<bool> ordered = popularity_choices(text);
        popularity.ordered = ordered && ordered.value();
        return ordered ? Result<Popularity>(popularity) : ordered.error();
    }
    const std::optional<double> zipf = number_of(text.substr(5));
    if (!zipf || *zipf > 20) {
        return invalid("has an exponent that is not from 0 to 20, as in zipf:1.1");
    }
    popularity.zipf = *zipf;
    return popularity;
}

Result<std::int64_t> parse_token_time(std::string_view text) {
    return within(parse_duration_ns(text), 0, 10 * second_ns, "is not a time up to 10s");
}

Result<ValueLaw> range_law(const ValueLaw& fixed, double ratio) {
    ValueLaw law = fixed;
    law.kind = LawKind::uniform;
    law.low = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::floor(fixed.centre * (1 - ratio))));
    law.high = static_cast<std::int64_t>(std::ceil(fixed.centre * (1 + ratio)));
    return law.high <= row_tokens_max ? Result<ValueLaw>(law) : invalid("reaches beyond 134217728");
}

static std::string read_histogram(ValueLaw& law) {
    if (law.file.empty()) {
        return "";
    }
    const Result<std::string> text = read_whole_file(law.file);
    if (!text) {
        return "file:" + law.file + ": " + reason_of(text.error()) + "; name an existing file";
    }
    std::uint64_t line = 0;
    Result<std::vector<LawBin>> bins =
        read_law_bins(text.value(), law.unit, law.low, law.high, line);
    if (!bins) {
        return "file:" + law.file + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " +
               bins.error().doing +
               "; lines are value,weight or from..to,weight, with values from " +
               std::to_string(law.low / law.unit) + " to " + std::to_string(law.high / law.unit);
    }
    law.bins = std::move(bins).value();
    return "";
}

std::string read_histograms(SynthSpec& spec) {
    std::vector<ValueLaw*> laws;
    if (auto* random = std::get_if<RandomSpec>(&spec.kind)) {
        laws = {&random->input, &random->output};
    } else if (auto* prefix = std::get_if<PrefixSpec>(&spec.kind)) {
        laws = {&prefix->prefix, &prefix->suffix, &prefix->output};
    } else if (auto* tree = std::get_if<TreeSpec>(&spec.kind)) {
        laws = {&tree->turns,  &tree->sub_turns, &tree->first,   &tree->sub_first, &tree->growth,
                &tree->output, &tree->gap,       &tree->summary, &tree->fan_out};
    } else if (auto* stress = std::get_if<StressSpec>(&spec.kind)) {
        laws = {&stress->output};
    }
    for (ValueLaw* law : laws) {
        if (const std::string why = read_histogram(*law); !why.empty()) {
            return why;
        }
    }
    return "";
}

static int refuse(const std::string& why) {
    complain("driftless: %s", why.c_str());
    return exit_usage;
}

bool names_made_trace(const std::vector<std::string>& paths) {
    return std::ranges::any_of(paths,
                               [](std::string_view path) { return path.starts_with(made_scheme); });
}

int read_made_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                    std::vector<std::string>& notes) {
    if (files.paths.size() > 1) {
        return refuse(std::string(made_scheme) +
                      "..: a synthetic workload is already a trace; give no other");
    }
    const std::string_view line = std::string_view(files.paths[0]).substr(made_scheme.size());
    const std::vector<std::string_view> words = words_in(line, " ");
    SynthCommandLine parsed = parse_synth_options({words.begin(), words.end()});
    if (parsed.kind == SynthCommandLine::Kind::refused) {
        return refuse(files.paths[0] + ": " + parsed.text.substr(parsed.text.find(": ") + 2));
    }
    if (parsed.kind == SynthCommandLine::Kind::help) {
        return refuse(files.paths[0] + ": is not a workload; driftless synth --help lists them");
    }
    SynthOptions& options = parsed.options;
    if (const std::string why = read_histograms(options.spec); !why.empty()) {
        complain("driftless: %s", why.c_str());
        return exit_input;
    }
    const bool usable = read_made(options.spec, "synth-" + options.name, *options.target, files,
                                  out, errors, notes);
    return usable ? exit_done : exit_input;
}

}  // namespace driftless
