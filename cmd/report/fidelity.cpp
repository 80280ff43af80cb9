#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cmd/reading/trace_figures.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static std::string digest_text(std::optional<std::uint64_t> digest) {
    return digest ? fmt::format("{:016x}", *digest) : "unknown";
}

namespace {

/// What a certificate has of the records.
struct WorkCertificate {
    std::optional<double> ceiling;        ///< share of prompt tokens that an endless cache holds
    std::optional<double> observed;       ///< share that the servers reported
    std::uint64_t first_turns = 0;        ///< first of their session, or without one
    std::uint64_t first_turn_prompt = 0;  ///< tokens of those that reported their hits
    std::uint64_t first_turn_cached = 0;
    std::uint64_t first_turn_expected = 0;
    std::uint64_t first_turns_unforetold = 0;  ///< that reported: recorded text
    HitLossTokens loss;
};

}  // namespace

/// Of the work: what was selected, what was sent of it, what was dropped because a row that it
/// waited for failed, and what was sent with one word because it was not longer than the template.
static std::uint64_t digest_of(const ReportedRun& run) {
    const RunFacts& facts = run.facts;
    Digest digest;
    for (const std::uint64_t part :
         {facts.trace_digest, facts.schedule_digest, facts.prompts_digest.value_or(0),
          std::uint64_t{facts.prompts_digest ? 1U : 0U}, facts.rows, run.figures.fired,
          run.figures.dropped, run.info.clamped_rows}) {
        digest.add_u64(part);
    }
    return digest.value();
}

/// Rows that were not sent, for any reason.
static std::uint64_t unsent_rows(const ReportedRun& run) {
    return run.figures.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
}

static std::optional<double> share_of(std::uint64_t part, std::uint64_t whole) {
    return known_if(whole > 0, ratio(static_cast<double>(part), static_cast<double>(whole)));
}

static std::string share_text(const std::optional<double>& share) {
    return share ? fmt::format("{:.2f} %", 100 * *share) : "unknown";
}

static std::uint64_t rules_in(const ReportedRun& run, RuleState state) {
    return static_cast<std::uint64_t>(
        std::ranges::count(run.info.rules, state, &RuleFinding::state));
}

static void add_first_turn(const Record& record, WorkCertificate& out) {
    const bool first = !record.session || record.turn.value_or(1) == 1;
    if (record.phase != Phase::profile || !first || !record.fired_ns) {
        return;
    }
    ++out.first_turns;
    if (record.cached_tokens) {
        out.first_turn_cached += token_count(record.cached_tokens);
        out.first_turn_prompt += token_count(prompt_tokens_of(record));
        out.first_turn_expected += token_count(record.expected_cached_tokens);
        out.first_turns_unforetold += record.expected_cached_tokens ? 0 : 1;
    }
}

static std::string read_certificate(const ReportedRun& run, WorkCertificate& out) {
    const SummaryFigures& f = run.figures;
    HitLoss loss;
    std::uint64_t prompts = 0;
    std::uint64_t expected = 0;
    std::uint64_t reported = 0;
    const std::string why = each_record(run, [&](const Record& record) {
        loss.add(record);
        add_first_turn(record, out);
        if (record.phase == Phase::profile && record.fired_ns && record.expected_cached_tokens) {
            prompts += token_count(prompt_tokens_of(record));
            expected += static_cast<std::uint64_t>(*record.expected_cached_tokens);
        }
        if (record.phase == Phase::profile && record.cached_tokens && record.prompt_tokens) {
            reported += static_cast<std::uint64_t>(*record.prompt_tokens);
        }
    });
    out.ceiling = f.shard_role.forecast_apart ? std::nullopt : share_of(expected, prompts);
    out.observed = f.cache_rows_reported == 0 ? std::nullopt : share_of(f.cached_tokens, reported);
    out.loss = loss.tokens();
    return why;
}

static std::string certificate_screen(const ReportedRun& run, const WorkCertificate& certificate) {
    const RunFacts& facts = run.facts;
    Lines lines;
    lines.blank();
    for (const std::string& reason : run.info.verdict_reasons) {
        lines.add(&reason == &run.info.verdict_reasons.front() ? run.info.verdict : "", reason);
    }
    lines.add("Certificate", digest_text(digest_of(run)) +
                                 ": runs with the same certificate played the same work");
    lines.add("",
              fmt::format("trace {}, schedule {}, prompts {}", digest_text(facts.trace_digest),
                          digest_text(facts.schedule_digest), digest_text(facts.prompts_digest)));
    lines.add("", fmt::format("{} rows selected, {} sent, {} dropped after a failure, {} clamped "
                              "to one word, {} not sent",
                              facts.rows, run.figures.fired, run.figures.dropped,
                              run.info.clamped_rows, unsent_rows(run)));
    if (!run.info.rules.empty()) {
        lines.add(
            "", fmt::format("rules: {} met, {} violated, {} unknown", rules_in(run, RuleState::met),
                            rules_in(run, RuleState::violated), rules_in(run, RuleState::unknown)));
    }
    lines.add("Hit rate", fmt::format("ceiling {}, observed {}", share_text(certificate.ceiling),
                                      share_text(certificate.observed)));
    lines.add("First turns",
              fmt::format("{} sent; hits {} of their prompts, {} expected", certificate.first_turns,
                          share_text(share_of(certificate.first_turn_cached,
                                              certificate.first_turn_prompt)),
                          share_text(certificate.first_turns_unforetold > 0
                                         ? std::nullopt
                                         : share_of(certificate.first_turn_expected,
                                                    certificate.first_turn_prompt))));
    lines.add("Hits lost", hit_loss_text(certificate.loss));
    return lines.take();
}

static void write_certificate(JsonWriter& json, const ReportedRun& run, const WorkCertificate& c) {
    const RunFacts& facts = run.facts;
    json.begin_object();
    put(json, {{"digest", digest_text(digest_of(run))},
               {"trace_digest", digest_text(facts.trace_digest)},
               {"schedule_digest", digest_text(facts.schedule_digest)},
               {"prompts_digest",
                known_if(facts.prompts_digest.has_value(), digest_text(facts.prompts_digest))},
               {"selected", facts.rows},
               {"sent", run.figures.fired},
               {"dropped", run.figures.dropped},
               {"clamped", run.info.clamped_rows},
               {"not_sent", unsent_rows(run)},
               {"rules_met", rules_in(run, RuleState::met)},
               {"rules_violated", rules_in(run, RuleState::violated)},
               {"rules_unknown", rules_in(run, RuleState::unknown)},
               {"ceiling_hit_rate", c.ceiling},
               {"observed_hit_rate", c.observed},
               {"first_turns",
                JsonPairs{{"sent", c.first_turns},
                          {"prompt_tokens", c.first_turn_prompt},
                          {"cached_tokens", c.first_turn_cached},
                          {"expected_cached_tokens", c.first_turns_unforetold == 0
                                                         ? std::optional(c.first_turn_expected)
                                                         : std::nullopt}}}});
    json.key("hits_lost").begin_object();
    put(json, {{"rows", c.loss.rows},
               {"expected_tokens", c.loss.expected},
               {"tokens", c.loss.lost},
               {"gained_tokens", c.loss.gained}});
    for (const HitLossCause& cause : hit_loss_causes) {
        put(json, {{cause.key, c.loss.*cause.tokens}});
    }
    json.end_object().end_object();
}

std::string take_certificate(const ReportedRun& run, ReadingTexts& out) {
    WorkCertificate certificate;
    std::string why = read_certificate(run, certificate);
    out.add("certificate", printable_lines(certificate_screen(run, certificate)),
            [&](JsonWriter& json) { write_certificate(json, run, certificate); });
    return why;
}

namespace {

/// One figure on both sides; nothing: not known.
struct FidelityLine {
    std::string name;
    const char* unit = "";
    std::optional<double> recorded;
    std::optional<double> replayed;
    int decimals = 0;
};

struct FidelityReading {
    double speed = 1;         ///< recorded time over replayed time, by which the former is divided
    bool rows_match = false;  ///< the run's rows are rows of this trace, one by one
    std::uint64_t rows_sent = 0;
    std::vector<FidelityLine> lines;
    // Where rows match; ms.
    std::vector<FidelityLine> by_row;
    /// Largest distance of the two cumulative curves (Kolmogorov and Smirnov), 0 to 1.
    std::vector<FidelityLine> distances;
};

/// What was recorded, or replayed: what is compared of its requests, in the order in which they
/// came.
struct Half {
    struct Request {
        std::int64_t at_ns = 0;
        std::uint32_t row = 0;
        std::string session;  ///< empty: none
        double input = 0;     ///< 0: not known
        double output = 0;
    };
    std::vector<Request> requests;
    std::optional<double> ceiling;   ///< share of prompt tokens, by an endless cache
    std::optional<double> observed;  ///< by what servers reported

    void sort() {
        std::ranges::stable_sort(requests, [](const Request& a, const Request& b) {
            return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.row < b.row;
        });
    }
    double span_s() const {
        return requests.empty() ? 0 : in_s(requests.back().at_ns - requests.front().at_ns);
    }
};

/// What one side's requests are like; s and tokens.
struct SideLists {
    std::vector<double> gaps;
    std::vector<double> turn_gaps;
    std::vector<double> input;
    std::vector<double> output;
};

}  // namespace

static SideLists lists_of(const Half& side, double speed) {
    SideLists lists;
    std::unordered_map<std::string, std::int64_t> before;
    for (std::size_t i = 0; i < side.requests.size(); ++i) {
        const Half::Request& one = side.requests[i];
        if (i > 0) {
            lists.gaps.push_back(in_s(one.at_ns - side.requests[i - 1].at_ns) / speed);
        }
        if (!one.session.empty()) {
            const auto [found, fresh] = before.try_emplace(one.session, one.at_ns);
            if (!fresh) {
                lists.turn_gaps.push_back(in_s(one.at_ns - found->second) / speed);
                found->second = one.at_ns;
            }
        }
        if (one.input > 0) {
            lists.input.push_back(one.input);
        }
        if (one.output > 0) {
            lists.output.push_back(one.output);
        }
    }
    return lists;
}

static Distribution distribution_of(const std::vector<double>& values) {
    Sample sample;
    for (const double value : values) {
        sample.add(value);
    }
    return sample.distribution();
}

static void add_distributions(std::vector<FidelityLine>& lines, const std::string& name,
                              const char* unit, const std::vector<double>& recorded,
                              const std::vector<double>& replayed, double scale, int decimals) {
    const Distribution a = distribution_of(recorded);
    const Distribution b = distribution_of(replayed);
    const auto add = [&](const char* what, double left, double right) {
        const auto known = [scale](const Distribution& of, double value) {
            return of.count == 0 ? std::nullopt : std::optional(value * scale);
        };
        lines.push_back({name + " " + what, unit, known(a, left), known(b, right), decimals});
    };
    add("mean", a.mean, b.mean);
    add("p50", a.median(), b.median());
    add("p99", a.at[p99_index], b.at[p99_index]);
}

static std::optional<double> variation(const std::vector<double>& gaps) {
    const Distribution of = distribution_of(gaps);
    return known_if(of.count > 0 && of.mean != 0, ratio(of.std, of.mean));
}

static std::string read_side(const ReportedRun& run, Half& side) {
    double prompts = 0;
    double expected = 0;
    double reported = 0;
    double cached = 0;
    std::string why = each_record(run, [&](const Record& record) {
        const bool first_try = record.pass == 0 && record.attempt == 0;
        const bool is_copy = record.side == Side::b;  // of what side a got
        if (record.phase != Phase::profile || !record.fired_ns || !first_try || is_copy) {
            return;
        }
        const double input =
            static_cast<double>(record.input_length ? std::int64_t{*record.input_length}
                                                    : record.prompt_tokens.value_or(0));
        side.requests.push_back({*record.fired_ns, record.row, record.session.value_or(""), input,
                                 is_whole(record.outcome) && counts_output(record)
                                     ? static_cast<double>(*record.output_tokens)
                                     : 0});
        if (record.expected_cached_tokens) {
            prompts += input;
            expected += static_cast<double>(*record.expected_cached_tokens);
        }
        if (record.cached_tokens && record.prompt_tokens) {
            reported += static_cast<double>(*record.prompt_tokens);
            cached += static_cast<double>(*record.cached_tokens);
        }
    });
    side.sort();
    side.ceiling = known_if(prompts > 0, ratio(expected, prompts));
    side.observed = known_if(reported > 0, ratio(cached, reported));
    return why;
}

static Half side_of(const Trace& trace) {
    Half side;
    for (const TraceRow& row : trace.rows) {
        side.requests.push_back(
            {row.at_ns, row.index, row.session == no_session ? "" : trace.sessions[row.session],
             static_cast<double>(row.input_length), static_cast<double>(row.output_length)});
    }
    side.sort();
    const Result<Plan> plan = make_plan(trace, {});
    if (plan && trace.block_size > 0) {
        const ForetoldHits& hits = plan.value().foretold;
        side.ceiling = share_of(hits.cached_tokens, hits.input_tokens);
    }
    return side;
}

/// The requests of `recorded` that were sent, by row, where every one that was sent is there with
/// the length of its prompt. Else nothing.
static std::vector<Half::Request> matched(const Half& recorded, const Half& replayed) {
    std::unordered_map<std::uint32_t, const Half::Request*> by_row;
    for (const Half::Request& one : recorded.requests) {
        by_row.emplace(one.row, &one);
    }
    std::vector<Half::Request> rows;
    for (const Half::Request& one : replayed.requests) {
        const auto found = by_row.find(one.row);
        if (found == by_row.end() || found->second->input != one.input) {
            return {};
        }
        rows.push_back(*found->second);
    }
    return rows;
}

static void compare_rows(const std::vector<Half::Request>& recorded, const Half& replayed,
                         double speed, std::vector<FidelityLine>& out) {
    Sample off;
    std::uint64_t exact = 0;
    std::uint64_t outputs = 0;
    const std::int64_t first = std::ranges::min_element(recorded, {}, &Half::Request::at_ns)->at_ns;
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        const Half::Request& sent = replayed.requests[i];
        const double wanted = in_ms(recorded[i].at_ns - first) / speed;
        off.add(std::fabs(in_ms(sent.at_ns - replayed.requests.front().at_ns) - wanted));
        outputs += sent.output > 0 && recorded[i].output > 0 ? 1 : 0;
        exact += sent.output > 0 && sent.output == recorded[i].output ? 1 : 0;
    }
    const Distribution of = off.distribution();
    out.push_back({"arrival off, p50", "ms", {}, of.median(), 3});
    out.push_back({"arrival off, p99", "ms", {}, of.at[p99_index], 3});
    out.push_back({"arrival off, max", "ms", {}, of.max, 3});
    out.push_back({"outputs of the recorded length", "", static_cast<double>(outputs),
                   static_cast<double>(exact), 0});
}

/// Rounded: rows of one instant leave some 10 us apart, which is no other distribution.
static std::vector<double> to_ms(std::vector<double> seconds) {
    for (double& value : seconds) {
        value = std::round(value * 1000);
    }
    return seconds;
}

/// The run's own where its rows left at recorded instants; else as the spans of time tell.
static double speed_of(const ReportedRun& run, bool rows_match, const Half& recorded,
                       const Half& replayed) {
    const RunDescription& how = run.info.run;
    const double typed = std::strtod(how.speed.c_str(), nullptr);
    if (rows_match && !how.arrival && how.sessions == "recorded" && typed > 0) {
        return typed;
    }
    const double spans = ratio(recorded.span_s(), replayed.span_s());
    constexpr double near_enough = 0.002;
    return spans <= 0 || std::fabs(spans - 1) < near_enough ? 1 : spans;
}

/// Reads the trace and the records. Returns why one of them cannot be read, or the empty text.
static std::string read_fidelity(const ReportedRun& run, const std::string& path,
                                 FidelityReading& out) {
    TraceFiles files;
    files.paths = {path};
    files.times_free = true;
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    if (!read_trace(files, trace, errors, notes)) {
        const std::vector<std::string> lines = to_lines(errors);
        return "--against " + path + ": " + (lines.empty() ? "cannot be read" : lines.front());
    }
    Half recorded = side_of(trace);
    Half replayed;
    if (std::string why = read_side(run, replayed); !why.empty()) {
        return why;
    }
    const std::vector<Half::Request> rows = matched(recorded, replayed);
    out.rows_match = !rows.empty();
    out.rows_sent = replayed.requests.size();
    const std::size_t in_trace = recorded.requests.size();
    if (out.rows_match) {  // what was not selected is no part of it
        recorded.requests = rows;
        recorded.sort();
    }
    out.speed = speed_of(run, out.rows_match, recorded, replayed);
    const SideLists a = lists_of(recorded, out.speed);
    const SideLists b = lists_of(replayed, 1);
    out.lines.push_back({"requests", "", static_cast<double>(in_trace),
                         static_cast<double>(replayed.requests.size()), 0});
    out.lines.push_back({"span", "s", recorded.span_s() / out.speed, replayed.span_s(), 3});
    add_distributions(out.lines, "gap between requests", "ms", a.gaps, b.gaps, 1000, 3);
    out.lines.push_back(
        {"gap variation (std / mean)", "", variation(a.gaps), variation(b.gaps), 3});
    add_distributions(out.lines, "gap between turns", "s", a.turn_gaps, b.turn_gaps, 1, 3);
    add_distributions(out.lines, "input", "tokens", a.input, b.input, 1, 1);
    add_distributions(out.lines, "output", "tokens", a.output, b.output, 1, 1);
    const auto percent = [](const std::optional<double>& share) {
        return known_if(share.has_value(), 100 * share.value_or(0));
    };
    out.lines.push_back(
        {"hit rate, endless cache", "%", percent(recorded.ceiling), percent(replayed.ceiling), 2});
    out.lines.push_back({"hit rate, observed", "%", {}, percent(replayed.observed), 2});
    if (out.rows_match) {
        compare_rows(rows, replayed, out.speed, out.by_row);
    }
    const auto distance = [&out](const char* name, const std::vector<double>& left,
                                 const std::vector<double>& right) {
        const bool is_known = !left.empty() && !right.empty();
        out.distances.push_back(
            {name, "", {}, known_if(is_known, is_known ? greatest_distance(left, right) : 0), 4});
    };
    distance("gaps between requests, to 1 ms", to_ms(a.gaps), to_ms(b.gaps));
    distance("gaps between turns, to 1 ms", to_ms(a.turn_gaps), to_ms(b.turn_gaps));
    distance("input", a.input, b.input);
    distance("output", a.output, b.output);
    return "";
}

static std::string fidelity_screen(const std::string& path, const FidelityReading& reading) {
    Lines lines;
    lines.blank();
    lines.add("Fidelity",
              fmt::format(
                  "against {}: {}{}", printable(path),
                  reading.rows_match
                      ? "every request is a row of it"
                      : "the requests do not match its rows one by one; distributions are compared",
                  reading.speed == 1
                      ? ""
                      : fmt::format("; {:.4g} times as fast as recorded, which is corrected for",
                                    reading.speed)));
    ViewTable table({"", "recorded", "replayed", ""});
    const auto add = [&table](const FidelityLine& line, const std::string& note) {
        const auto text = [&line](const std::optional<double>& value) {
            return value ? fixed(*value, line.decimals) : std::string("-");
        };
        const std::string unit = line.unit[0] == '\0' ? "" : std::string(", ") + line.unit;
        table.add({line.name + unit, text(line.recorded), text(line.replayed), note});
    };
    for (const FidelityLine& line : reading.lines) {
        add(line, "");
    }
    for (const FidelityLine& line : reading.by_row) {
        add(line, "row by row");
    }
    for (const FidelityLine& line : reading.distances) {
        if (line.replayed) {
            add({"distance of " + line.name, "", {}, line.replayed, line.decimals}, "0 to 1");
        }
    }
    return lines.take() + table.text();
}

static void put_value(JsonWriter& json, const FidelityLine& line) {
    put_object(json, {{"figure", line.name},
                      {"unit", line.unit},
                      {"recorded", line.recorded},
                      {"replayed", line.replayed}});
}

static void put_value(JsonWriter& json, const FidelityReading& reading) {
    put_object(json, {{"speed", reading.speed},
                      {"rows_match", reading.rows_match},
                      {"rows_sent", reading.rows_sent},
                      {"figures", reading.lines},
                      {"by_row", reading.by_row},
                      {"distances", reading.distances}});
}

std::string take_fidelity(const ReportedRun& run, const std::string& trace, ReadingTexts& out) {
    FidelityReading reading;
    std::string why = read_fidelity(run, trace, reading);
    out.add("fidelity", fidelity_screen(trace, reading), reading);
    return why;
}

}  // namespace driftless
