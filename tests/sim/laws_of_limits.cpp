#include "tests/sim/laws.hpp"

namespace driftless::sim {

namespace {

// A request that a lost segment has held up is tainted, and no row claims more than was sent again.
void losses_are_reported(const SimResult& result, Breaches& breaches) {
    std::uint64_t reported = 0;
    for (const Record& record : result.records) {
        reported += record.retransmits.value_or(0);
        const bool tainted = has_taint(record, taint_retransmitted);
        const bool gave_up = !record.first_byte_ns && record.outcome != Outcome::ok;
        breaches.unless(!tainted || gave_up || record.retransmits.value_or(0) > 0, record,
                        "is tainted by a loss that is not counted");
        const auto found = result.truth.find(record.row);
        // A part of it that waited for us was late, too.
        if (found == result.truth.end() || !record.fired_ns || record.stale_retries > 0 ||
            result.sends_block || has_taint(record, taint_sent_late)) {
            continue;
        }
        const std::int64_t way_ns = found->second.start_ns - result.zero_ns - *record.fired_ns;
        breaches.unless(tainted || way_ns < Weather::lost_for.ns, record,
                        "came to the server late by a loss, and is not tainted");
    }
    breaches.unless(reported <= result.segments_resent, of(reported, result.segments_resent));
}

// What held a row back and what failed for a lack of ours is never presented as certain.
void our_limits_taint(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool limited = record.late_cause == LateCause::limit;
        const bool failed = record.outcome == Outcome::client_failed;
        breaches.unless(limited == has_taint(record, taint_limit), record,
                        "was held back by our limit or is tainted by it, but not both");
        breaches.unless(failed == has_taint(record, taint_client_failed), record,
                        "failed for our lack or is tainted by it, but not both");
    }
}

// Of an answer that lost a part in our ring no count is known, nor what follows from one.
void lost_answers_count_nothing(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool counts = record.prompt_tokens || record.prompt_tokens_off ||
                            record.cached_tokens || record.output_tokens || record.tokens_source ||
                            record.tpot_ns || record.finish_reason || record.output_digest ||
                            record.chunk_tokens_known;
        breaches.unless(!counts || !lost_in_client(record), record,
                        "lost a part of its answer and tells a count");
    }
}

using Whole = __int128;

struct Left {
    std::int64_t at_ns = 0;
    Whole tokens = 0;
    const Record* record = nullptr;
};

std::vector<Left> left_by(const SimResult& result, bool of_input) {
    std::vector<Left> rows;
    for (const Record& record : result.records) {
        if (!record.fired_ns) {
            continue;
        }
        const auto cached = result.expected_cached.find(record.row);
        const Whole held =
            result.budgets.uncached && cached != result.expected_cached.end() ? cached->second : 0;
        rows.push_back({*record.fired_ns,
                        of_input ? record.input_length.value_or(0) - held
                                 : Whole{record.output_length.value_or(0)},
                        &record});
    }
    std::sort(rows.begin(), rows.end(), [](const Left& a, const Left& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.record->request < b.record->request;
    });
    return rows;
}

// Before a row leaves, those that left since any row before it are less than a bucket and what has
// been refilled since. Both sides are multiplied by the period.
void check(const std::vector<Left>& rows, const TokenRate& rate, Breaches& breaches) {
    const auto tokens = static_cast<Whole>(rate.tokens);
    Whole left = 0;   // times the period, of the rows so far
    Whole least = 0;  // of any row: what had left before it, less what was refilled by then
    bool any = false;
    for (const Left& row : rows) {
        const Whole before = left - tokens * row.at_ns;
        breaches.unless(!any || before - least < tokens * rate.period.ns, *row.record,
                        "left on a budget that was used up");
        least = any ? std::min(least, before) : before;
        any = true;
        left += row.tokens * rate.period.ns;
    }
}

void add_used_up(const std::vector<Left>& rows, const TokenRate& rate, std::int64_t until_ns,
                 std::vector<UsedUp>& all) {
    const auto tokens = static_cast<Whole>(rate.tokens);
    const Whole full = tokens * rate.period.ns;
    Whole level = full;  // times the period
    std::int64_t at_ns = rows.empty() ? 0 : rows.front().at_ns;
    for (const Left& row : rows) {
        if (row.at_ns >= until_ns) {
            return;
        }
        level = std::min(full, level + tokens * (row.at_ns - at_ns)) - row.tokens * rate.period.ns;
        at_ns = row.at_ns;
        if (level <= 0) {
            all.push_back({at_ns, at_ns + static_cast<std::int64_t>(-level / tokens) + 1});
        }
    }
}

// In any time no more tokens leave than a bucket, what that time refills, and the last request.
void budgets_are_kept(const SimResult& result, Breaches& breaches) {
    if (result.budgets.input.tokens > 0) {
        check(left_by(result, true), result.budgets.input, breaches);
    }
    if (result.budgets.output.tokens > 0) {
        check(left_by(result, false), result.budgets.output, breaches);
    }
}

// In the order of the file, from time 0 on; at one constant rate exactly there.
void rows_arrive_as_asked(const SimResult& result, Breaches& breaches) {
    if (!result.arrivals || result.disk_failed) {
        return;
    }
    const ArrivalRules& rules = *result.arrivals;
    std::map<std::uint32_t, const Record*> rows;
    for (const Record& record : result.records) {
        rows[record.row] = &record;
    }
    std::int64_t last_ns = 0;
    for (const auto& [row, record] : rows) {
        breaches.unless(record->due_ns >= last_ns, *record, "arrives before one in front of it");
        last_ns = record->due_ns;
        const double exact_ns = static_cast<double>(row) * 1e9 / rules.curve.last_rate();
        breaches.unless(rules.law != ArrivalLaw::constant ||
                            std::abs(static_cast<double>(last_ns) - exact_ns) <= 1,
                        *record, "does not arrive where its number says");
        breaches.unless(row > 0 || last_ns == 0, *record, "does not arrive at time 0");
    }
}

// The loop sleeps for 20 ms at most, and looks at the flag when it wakes.
constexpr Duration reaction_max = milliseconds(25);

/// Of the measurement, up to this run time.
EndedRequests ended_by(const SimResult& result, std::int64_t at_ns) {
    EndedRequests all;
    for (const Record& record : result.records) {
        if (record.ended_ns && *record.ended_ns <= at_ns) {
            all.add(record);
        }
    }
    return all;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void nothing_leaves_behind_a_stop(const SimResult& result, Breaches& breaches) {
    if (!result.stop_wanted_ns || !result.calm || result.overload) {
        return;
    }
    for (const Record& record : result.records) {
        breaches.unless(
            !record.fired_ns || *record.fired_ns <= *result.stop_wanted_ns + reaction_max.ns,
            record, "left when the run had to stop");
    }
}

// The condition is one of those that were given, it holds, and enough had ended. What ends between
// the end of the period and the look may be counted or not.
void stops_have_their_cause(const SimResult& result, Breaches& breaches) {
    breaches.unless(!result.stopped_early || result.stop_found, "stopped early without a cause");
    if (!result.stop_found || !result.stop_wanted_ns || result.disk_failed) {
        return;
    }
    const StoppedWhen& found = *result.stop_found;
    const EndedRequests least =
        ended_by(result, static_cast<std::int64_t>(found.at_s * 1e9) - settle_ns_max);
    const EndedRequests most = ended_by(result, *result.stop_wanted_ns);
    bool is_asked = false;
    for (const StopRule& rule : result.stop_when) {
        if (rule.text != found.condition) {
            continue;
        }
        is_asked = true;
        const double scale = found.unit == FigureUnit::time ? 1e6 : 1;
        breaches.unless(crosses(rule.threshold, found.value * scale), "its condition did not hold");
        if (rule.figure == StopFigure::errors) {
            breaches.unless(most.ended >= EarlyStop::sample_min, "judged by too few requests");
            breaches.unless(found.value >= share(least.failed, most.ended) - 1e-9 &&
                                found.value <= share(most.failed, least.ended) + 1e-9,
                            "another share has failed");
        }
    }
    breaches.unless(is_asked, "stopped by a condition that nobody gave");
}

void bodies_returned(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.body_bytes_held == 0, std::to_string(result.body_bytes_held) + " bytes");
}

void frames_returned(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.frames_live == 0, std::to_string(result.frames_live) + " live");
}

void operations_ended(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.ops_in_flight == 0, std::to_string(result.ops_in_flight) + " in flight");
}

void sockets_closed(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.sockets_open == 0, std::to_string(result.sockets_open) + " open");
}

void events_read(const SimResult& result, Breaches& breaches) {
    breaches.unless(result.events_left == 0, std::to_string(result.events_left) + " in the ring");
    breaches.unless(result.counts.stray_events == 0,
                    std::to_string(result.counts.stray_events) + " of rows that had ended");
    breaches.unless(result.counts.unended == 0,
                    std::to_string(result.counts.unended) + " rows without an end");
}

// A calm process sleeps for 0.5 ms at most while answers stream, and its other work is far shorter.
constexpr Duration abandon_reaction_max = milliseconds(1);

// Those that were drawn and no others, never early, and soon: what ended before has its own
// outcome. A request that was sent again may have been without a connection then.
void abandoned_as_drawn(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool abandoned = record.outcome == Outcome::abandoned;
        const std::optional<std::int64_t> at_ns = given_up_at_ns(result, record);
        breaches.unless(!abandoned || at_ns, record, "was abandoned, and its client would wait");
        breaches.unless(!abandoned || (record.ended_ns && !record.done_ns), record,
                        "was abandoned, and was complete or has no end");
        if (!at_ns || !record.ended_ns) {
            continue;
        }
        breaches.unless(!abandoned || *record.ended_ns >= *at_ns, record,
                        "was abandoned before its time");
        const bool in_time = *record.ended_ns <= *at_ns + abandon_reaction_max.ns;
        breaches.unless(
            in_time || !result.calm || result.overload || record.stale_retries > 0, record,
            "was given up, and went on for " + std::to_string(*record.ended_ns - *at_ns) + " ns");
    }
}

// A process that does not run cuts nothing off: what came past a limit says so.
void answers_past_a_limit_are_told(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const auto last = result.last_reads.find(record.row);
        if (record.outcome != Outcome::ok || last == result.last_reads.end()) {
            continue;
        }
        const std::int64_t total_ns = *record.fired_ns + result.timeouts.total.ns;
        const std::int64_t limit_ns =
            std::min(total_ns, given_up_at_ns(result, record).value_or(total_ns));
        breaches.unless(last->second.came_ns <= limit_ns || has_taint(record, taint_end_unsure),
                        record,
                        "was whole " + std::to_string(last->second.came_ns - limit_ns) +
                            " ns past its limit, and is not tainted");
    }
}

constexpr Law laws_of_limits_all[] = {
    {"answers past a limit are told", answers_past_a_limit_are_told},
    {"losses are reported", losses_are_reported},
    {"our limits taint", our_limits_taint},
    {"lost answers count nothing", lost_answers_count_nothing},
    {"budgets are kept", budgets_are_kept},
    {"rows arrive as asked", rows_arrive_as_asked},
    {"nothing leaves when the run has to stop", nothing_leaves_behind_a_stop},
    {"runs stop for what they have measured", stops_have_their_cause},
    {"bodies are returned", bodies_returned},
    {"frames are returned", frames_returned},
    {"no operation in flight", operations_ended},
    {"sockets are closed", sockets_closed},
    {"every event is read", events_read},
    {"requests are abandoned as drawn", abandoned_as_drawn},
};

}  // namespace

std::span<const Law> laws_of_limits() {
    return laws_of_limits_all;
}

std::vector<UsedUp> used_up(const SimResult& result, std::int64_t until_ns) {
    std::vector<UsedUp> all;
    if (result.budgets.input.tokens > 0) {
        add_used_up(left_by(result, true), result.budgets.input, until_ns, all);
    }
    if (result.budgets.output.tokens > 0) {
        add_used_up(left_by(result, false), result.budgets.output, until_ns, all);
    }
    return all;
}

std::vector<UsedUp> ran_over(const SimResult& result, std::int64_t until_ns) {
    const bool of_input = result.budgets.input.tokens > 0;
    const TokenRate& rate = of_input ? result.budgets.input : result.budgets.output;
    const auto tokens = static_cast<Whole>(rate.tokens);
    const Whole full = tokens * rate.period.ns;
    std::vector<UsedUp> all;
    Whole level = full;  // times the period
    std::int64_t at_ns = INT64_MIN / 2;
    for (const Left& row : left_by(result, of_input)) {
        if (row.at_ns >= until_ns) {
            break;
        }
        const auto full_ns = at_ns + static_cast<std::int64_t>((full - level) / tokens);
        if (full_ns < row.at_ns) {
            all.push_back({full_ns, row.at_ns});
        }
        level = std::min(full, level + tokens * (row.at_ns - at_ns)) - row.tokens * rate.period.ns;
        at_ns = row.at_ns;
    }
    return all;
}

std::optional<std::int64_t> given_up_at_ns(const SimResult& result, const Record& record) {
    if (record.phase == Phase::warmup || !record.fired_ns) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> after_ns =
        abandoned_after_ns(result.abandon, {record.row, record.pass, record.attempt});
    return after_ns ? std::optional(*record.fired_ns + *after_ns) : std::nullopt;
}

}  // namespace driftless::sim
