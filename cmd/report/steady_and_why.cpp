#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/reading/view.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/json/put.hpp"

namespace driftless {

/// Output tokens of which the stamps lie in [begin, end): by chunk where their tokens are known,
/// else each chunk has an equal part of the answer's.
static double tokens_within(const Record& record, std::int64_t begin, std::int64_t end) {
    if (!record.fired_ns || record.chunk_ns.empty()) {
        const bool inside =
            record.last_token_ns && *record.last_token_ns >= begin && *record.last_token_ns < end;
        return inside ? static_cast<double>(record.output_tokens.value_or(0)) : 0;
    }
    const double each = static_cast<double>(record.output_tokens.value_or(0)) /
                        static_cast<double>(record.chunk_ns.size());
    double tokens = 0;
    for (std::size_t i = 0; i < record.chunk_ns.size(); ++i) {
        const std::int64_t at = *record.fired_ns + record.chunk_ns[i];
        if (at >= begin && at < end) {
            tokens += record.chunk_tokens_known ? record.chunk_tokens[i] : each;
        }
    }
    return tokens;
}

bool SteadyRun::Side::cuts(const Answer& answer) const {
    if (!answer.is_whole) {
        return false;
    }
    const std::int64_t ended = answer.ended_ns.value_or(std::numeric_limits<std::int64_t>::max());
    const bool is_inside = holds(answer.fired_ns) && holds(ended);
    const bool is_outside = ended < begin_ns || answer.fired_ns >= end_ns;
    return !is_inside && !is_outside;
}

/// But for the tokens of what it cuts.
void SteadyRun::Side::add(const Answer& answer) {
    const bool ended = answer.ended_ns && holds(*answer.ended_ns);
    answered += ended && answer.is_whole ? 1 : 0;
    if (holds(answer.fired_ns)) {
        ++requests;
        times.add(answer.times);
    }
}

SteadySide SteadyRun::Side::figures() const {
    SteadySide side;
    side.requests = requests;
    side.seconds = in_s(end_ns - begin_ns);
    side.requests_per_s = ratio(static_cast<double>(answered), side.seconds);
    side.tokens_per_s = known_if(is_counted, ratio(tokens, side.seconds));
    times.put(side);
    return side;
}

void SteadyRun::add(const Record& record) {
    const std::uint32_t place = added_++;
    if (record.phase != Phase::profile || !record.fired_ns) {
        return;
    }
    Answer answer;
    answer.place = place;
    answer.is_whole = is_whole(record.outcome);
    answer.fired_ns = *record.fired_ns;
    answer.ended_ns = record.ended_ns;
    answer.ttft_ns = record.ttft_ns;
    answer.times = counted_times(record);
    if (counts_output(record)) {
        answer.tokens = static_cast<double>(*record.output_tokens);
    }
    answers_.push_back(answer);
}

std::vector<std::uint32_t> SteadyRun::find() {
    std::vector<SteadyRow> rows;
    for (const Answer& one : answers_) {
        if (one.ended_ns) {
            rows.push_back({one.fired_ns, *one.ended_ns, one.ttft_ns});
        }
    }
    state_ = find_steady_state(std::move(rows));
    whole_.begin_ns = state_.first_ns;
    whole_.end_ns = state_.last_ns + 1;
    window_.begin_ns = state_.begin_ns;
    window_.end_ns = state_.end_ns;
    std::vector<std::uint32_t> again;
    for (const Answer& one : answers_) {
        const bool is_cut = whole_.cuts(one) || window_.cuts(one);
        for (Side* side : {&whole_, &window_}) {
            side->add(one);
            const bool is_of_it = one.is_whole && (side->cuts(one) || side->holds(one.fired_ns));
            side->is_counted = side->is_counted && (!is_of_it || one.tokens);
            side->tokens += is_of_it && !is_cut ? one.tokens.value_or(0) : 0;
        }
        if (is_cut) {
            again.push_back(one.place);
        }
    }
    return again;
}

void SteadyRun::add_again(const Record& record) {
    for (Side* side : {&whole_, &window_}) {
        side->tokens += tokens_within(record, side->begin_ns, side->end_ns);
    }
}

static std::string trend_text(const char* what, const TrendFinding& trend) {
    if (!trend.known) {
        return fmt::format("{}: too few to tell", what);
    }
    const char* word = trend.p >= 0.01 ? "no trend" : trend.z > 0 ? "rises" : "falls";
    return fmt::format("{} {} (p = {:.3g})", what, word, trend.p);
}

static std::string little_text(const SteadyState& state) {
    return fmt::format("{:.2f} in flight; {:.3f}/s x {:.3f} s = {:.2f} ({:+.1f} %): {}",
                       state.in_flight, state.rate, state.time_s, state.rate * state.time_s,
                       100 * state.little_difference(),
                       state.little_holds() ? "holds within 5 %" : "does not hold");
}

static void add_lines(ViewTable& table, const char* name, const Distribution& whole,
                      const Distribution& window) {
    constexpr std::pair<const char*, std::size_t> shown[] = {
        {"p50", median_index}, {"p90", p90_index}, {"p99", p99_index}};
    for (const auto& [word, place] : shown) {
        const auto text = [place](const Distribution& of) {
            return of.count == 0 ? "-" : fixed(of.at[place] / ns_per_ms, 2);
        };
        table.add({fmt::format("{} {} ms", name, word), text(whole), text(window)});
    }
}

/// For `put`: an object of what tables show of times, ms.
static auto shown_ms(const Distribution& of) {
    return [&of](JsonWriter& json) {
        json.begin_object();
        for (const Statistic& statistic : shown_statistics) {
            put(json, {{statistic.name, known_if(of.count > 0, statistic.of(of) / ns_per_ms)}});
        }
        json.end_object();
    };
}

static void put_value(JsonWriter& json, const SteadySide& side) {
    put_object(json, {{"requests", side.requests},
                      {"seconds", side.seconds},
                      {"request_throughput", side.requests_per_s},
                      {"output_throughput", side.tokens_per_s},
                      {"ttft_ms", shown_ms(side.ttft)},
                      {"ttft_due_ms", shown_ms(side.ttft_due)},
                      {"tpot_ms", shown_ms(side.tpot)},
                      {"e2e_ms", shown_ms(side.e2e)}});
}

static void put_value(JsonWriter& json, const TrendFinding& trend) {
    put_object(json,
               {{"z", known_if(trend.known, trend.z)}, {"p", known_if(trend.known, trend.p)}});
}

static std::string steady_screen(const SteadyReading& reading) {
    const SteadyState& state = reading.state;
    Lines lines;
    lines.blank();
    if (!state.found) {
        lines.add("Steady state", "not computed: fewer than 100 requests were sent");
        return lines.take();
    }
    const double length = ratio(in_s(state.length_ns()), in_s(state.last_ns - state.first_ns));
    lines.add("Steady state",
              fmt::format("{}; from {:.2f} s to {:.2f} s, {:.1f} % of the run: ramp {:.2f} s, "
                          "drain {:.2f} s",
                          state.is_steady() ? "yes" : "not reached", in_s(state.begin_ns),
                          in_s(state.end_ns), 100 * length, in_s(state.begin_ns - state.first_ns),
                          in_s(state.last_ns - state.end_ns)));
    lines.add("Trend", trend_text("in flight", state.in_flight_trend) + "; " +
                           trend_text("TTFT", state.ttft_trend));
    lines.add("Little's law", little_text(state));
    lines.add("Independent",
              fmt::format("{:.0f} of {} TTFTs: the others depend on those before them",
                          state.effective, state.ttfts));
    ViewTable table({"", "whole run", "steady part"});
    const auto both = [&table, &reading](const char* name, auto figure) {
        table.add({name, figure(reading.whole), figure(reading.window)});
    };
    both("requests", [](const SteadySide& side) { return std::to_string(side.requests); });
    both("requests/s", [](const SteadySide& side) { return fixed(side.requests_per_s, 2); });
    both("output tokens/s", [](const SteadySide& side) {
        return side.tokens_per_s ? fixed(*side.tokens_per_s, 1) : "not counted";
    });
    add_lines(table, "TTFT", reading.whole.ttft, reading.window.ttft);
    add_lines(table, "TPOT", reading.whole.tpot, reading.window.tpot);
    add_lines(table, "E2E", reading.whole.e2e, reading.window.e2e);
    return lines.take() + table.text();
}

void put_value(JsonWriter& json, const SteadyReading& reading) {
    const SteadyState& state = reading.state;
    put_object(json, {{"found", state.found},
                      {"steady", state.is_steady()},
                      {"begin_ns", state.begin_ns},
                      {"end_ns", state.end_ns},
                      {"ramp_ns", state.begin_ns - state.first_ns},
                      {"drain_ns", state.last_ns - state.end_ns},
                      {"in_flight_trend", state.in_flight_trend},
                      {"ttft_trend", state.ttft_trend},
                      {"little", JsonPairs{{"in_flight", state.in_flight},
                                           {"rate", state.rate},
                                           {"time_s", state.time_s},
                                           {"difference", state.little_difference()},
                                           {"holds", state.little_holds()}}},
                      {"ttfts", state.ttfts},
                      {"effective_ttfts", state.effective},
                      {"whole", reading.whole},
                      {"window", reading.window}});
}

std::string take_steady(const ReportedRun& run, ReadingTexts& out) {
    SteadyRun steady;
    std::string why = each_record(run, [&steady](const Record& record) { steady.add(record); });
    if (why.empty()) {
        why = each_record_at(run, steady.find(),
                             [&steady](const Record& record) { steady.add_again(record); });
    }
    const SteadyReading reading = steady.reading();
    out.add("steady_state", steady_screen(reading), reading);
    return why;
}

static constexpr std::size_t correlations_shown = 3;
static constexpr double share_max = 0.5;  ///< more rows are not the slow ones

/// "1 in 10^12", or a share that a person can picture.
static std::string chance_text(double log10_chance) {
    return fmt::format("by chance 1 in 10^{:.0f}", -log10_chance);
}

static std::string statement_text(const WhyStatement& statement) {
    const Overlap& o = statement.overlap;
    return fmt::format("{} of the {} slowest {}; {} of all {} rows did ({}){}", o.hits, o.drawn,
                       statement.mark, o.marked, o.of, chance_text(statement.log10_chance),
                       statement.is_echo ? "; adds nothing to the first" : "");
}

/// Why there is no statement: there may be too few rows to make one.
static std::string nothing_found(const WhyFinding& finding) {
    if (finding.slow == 0) {
        return fmt::format("not computed: {} rows are too few, {} are needed", finding.rows,
                           finding.rows_needed);
    }
    if (finding.rows_needed == 0) {
        return finding.correlations.empty()
                   ? "nothing distinguishes them: no property in the records goes with them"
                   : "no mark distinguishes them";
    }
    const double percent = std::ceil(100 * static_cast<double>(finding.slow_needed) /
                                     static_cast<double>(finding.rows));
    return fmt::format(
        "no mark is clear, and {} slow rows are few: a mark of half of all rows shows from {} slow "
        "rows on. Replay {} rows or more{}",
        finding.slow, finding.slow_needed, finding.rows_needed,
        percent <= 100 * share_max ? fmt::format(", or use --why {:.0f}%", percent) : "");
}

static Result<double> parse_slow_share(std::string_view text) {
    const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    const auto percent = read_number<double>(digits, std::chars_format::fixed);
    if (digits == text || !percent || !(*percent >= 0.1 && *percent <= 100 * share_max)) {
        return Error{ErrorCode::invalid, 0,
                     "is not what --why takes; use ttft, ttft_due, tpot, e2e or drift, a share of "
                     "the rows from 0.1% to 50%, or both as in tpot:10%"};
    }
    return *percent / 100;
}

Result<WhyWish> parse_why(std::string_view text) {
    WhyWish wish;
    const std::size_t colon = text.find(':');
    if (const FigureName* const figure = find_why_figure(text.substr(0, colon));
        figure != nullptr) {
        wish.figure = figure;
        if (colon == text.npos) {
            return wish;
        }
        text.remove_prefix(colon + 1);
    }
    const Result<double> share = parse_slow_share(text);
    wish.share = share ? std::optional(share.value()) : std::nullopt;
    return share ? Result<WhyWish>(wish) : Result<WhyWish>(share.error());
}

std::string set_servers(const ReportedRun& run, WhyRecords& records) {
    std::string why;
    Result<std::vector<ServerInstant>> instants =
        read_server_instants(run.folder + "/server.jsonl", why);
    if (instants) {
        records.set_servers(std::move(instants).value());
    }
    return why;
}

static std::string why_screen(const WhyFinding& finding, const WhyWish& wish) {
    Lines lines;
    lines.blank();
    if (finding.slow == 0) {
        lines.add("Why slow", fmt::format("not computed: the {} of {} rows is known, {} are needed",
                                          wish.figure->title, finding.rows, finding.rows_needed));
        return lines.take();
    }
    lines.add("Why slow",
              fmt::format("the {} slowest of {} rows ({} of {:.2f} ms or more); of {} questions "
                          "asked, these findings have a chance below 1 in 100, corrected for all "
                          "questions",
                          finding.slow, finding.rows, wish.figure->title,
                          finding.slow_from / ns_per_ms, finding.questions));
    if (finding.statements.empty()) {
        lines.add("", nothing_found(finding));
    }
    for (std::size_t i = 0; i < finding.statements.size(); ++i) {
        lines.add(fmt::format("{:>14}.", i + 1), statement_text(finding.statements[i]));
    }
    for (std::size_t i = 0; i < std::min(finding.correlations.size(), correlations_shown); ++i) {
        const WhyCorrelation& one = finding.correlations[i];
        lines.add(i == 0 ? "Over all rows" : "",
                  fmt::format("the {} {} with {} (rank correlation {:+.2f}, {})",
                              wish.figure->title, one.rank_correlation > 0 ? "rises" : "falls",
                              one.name, one.rank_correlation, chance_text(one.log10_chance)));
    }
    return lines.take();
}

static void put_value(JsonWriter& json, const WhyStatement& one) {
    put_object(json, {{"mark", one.mark},
                      {"slow_with_mark", one.overlap.hits},
                      {"rows_with_mark", one.overlap.marked},
                      {"log10_chance", one.log10_chance},
                      {"echo", one.is_echo}});
}

static void put_value(JsonWriter& json, const WhyCorrelation& one) {
    put_object(json, {{"with", one.name},
                      {"rank_correlation", one.rank_correlation},
                      {"log10_chance", one.log10_chance}});
}

void write_why(JsonWriter& json, const WhyFinding& finding, const WhyWish& wish) {
    put_object(json,
               {{"metric", wish.figure->name},
                {"rows", finding.rows},
                {"rows_needed", known_if(finding.rows_needed > 0, finding.rows_needed)},
                {"slow", finding.slow},
                {"slow_from_ms", finding.slow_from / ns_per_ms},
                {"questions", finding.questions},
                {"nothing_found",
                 finding.statements.empty() ? std::optional(nothing_found(finding)) : std::nullopt},
                {"statements", finding.statements},
                {"correlations", finding.correlations}});
}

std::string take_why(const ReportedRun& run, const WhyWish& wish, ReadingTexts& out) {
    WhyRecords records(wish);
    std::string why = set_servers(run, records);
    if (why.empty()) {
        why = each_record(run, [&records](const Record& record) { records.add(record); });
    }
    const WhyFinding finding = records.finding();
    out.add("why", printable_lines(why_screen(finding, wish)),
            [&](JsonWriter& json) { write_why(json, finding, wish); });
    return why;
}

}  // namespace driftless
