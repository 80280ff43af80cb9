#include "tests/sim/laws_of_waits.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/replay/lane_parts.hpp"
#include "engine/replay/lanes.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/laws_of_abandonment.hpp"
#include "tests/sim/laws_of_budgets.hpp"

namespace driftless::sim {

// A row knows at least how long its bytes have waited, whatever stood still.
std::string late_reads_are_known(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const auto found = result.waited.find(record.row);
        const std::int64_t waited_ns = found == result.waited.end() ? 0 : found->second.ns;
        breaches.unless(record.outcome != Outcome::ok || record.receive_delay_ns, record,
                        "has no bound on how late it was read");
        breaches.unless(!record.receive_delay_ns || waited_ns <= *record.receive_delay_ns, record,
                        "was read later than it says");
    }
    return breaches.text();
}

// No schedule keeps bytes from being read for long: `unread_max` of the loop, a guard, and the
// turns between them, each with a step of arithmetic.
std::string bytes_are_read_in_time(const SimResult& result) {
    constexpr Duration longest = microseconds(400);
    constexpr std::int64_t steps = 20;  // as many completions are handled in a turn, and some more
    return only(result.overload ||
                    result.unread_max <= longest + Duration{steps * result.arithmetic_max.ns},
                std::to_string(result.unread_max.ns) + " ns before something was read");
}

// Where the kernel has lost the end of a connection, somebody looks for it, whatever the limits of
// the row are.
std::string ends_are_seen_in_time(const SimResult& result) {
    const Duration longest = LanePool::end_unseen_max + result.arithmetic_max;
    return only(result.overload || result.end_unseen_max <= longest,
                std::to_string(result.end_unseen_max.ns) + " ns before an end was seen");
}

// Bounds are tight: where nothing kept the process from reading, no record says that something did.
std::string no_false_alarm_of_late_reads(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const std::int64_t delay_ns = record.receive_delay_ns.value_or(0);
        breaches.unless(!result.calm || delay_ns <= calm_delay_max.ns, record,
                        "says that it was read up to " + std::to_string(delay_ns) + " ns late");
        breaches.unless(!result.calm || !has_taint(record, taint_read_late), record,
                        "is tainted read_late, and nothing kept it from being read");
    }
    return breaches.text();
}

// Whatever kept the process from reading: what came before a deadline is read before it ends a row.
// Deadlines give in behind 65,536 reads on end (`receives_before_deadlines` of between_fires.cpp).
std::string timeouts_keep_to_what_came(const SimResult& result) {
    Breaches breaches;
    if (result.overload || result.bytewise) {
        return "";
    }
    for (const Record& record : result.records) {
        const auto unread = result.unread_ns.find(record.row);
        if (unread == result.unread_ns.end() || !record.fired_ns || record.stale_retries > 0) {
            continue;
        }
        const auto last = result.last_reads.find(record.row);
        const Timeouts& limits = result.timeouts;
        std::int64_t deadline_ns = std::numeric_limits<std::int64_t>::min();  // none has passed
        if (record.outcome == Outcome::timeout_total) {
            deadline_ns = *record.fired_ns + limits.total.ns;
        } else if (record.outcome == Outcome::timeout_first_byte) {
            deadline_ns = *record.fired_ns + limits.first_byte.ns;
        } else if (record.outcome == Outcome::abandoned) {
            deadline_ns = given_up_at_ns(result, record).value_or(deadline_ns);
        } else if (record.outcome == Outcome::timeout_idle && last != result.last_reads.end()) {
            deadline_ns = last->second.read_ns + limits.idle.ns;
        }
        breaches.unless(deadline_ns <= unread->second, record,
                        "timed out at " + std::to_string(deadline_ns) +
                            " ns, and did not read what had come at " +
                            std::to_string(unread->second));
    }
    return breaches.text();
}

// No wait counts twice: all of them lie between the fire and the last part. And waits of the parts
// of a request add up, but for as long as a part may have been on its way to
// the kernel, and for what may be a sleep of ours in which the kernel took it.
std::string parts_that_waited_are_reported(const SimResult& result) {
    Breaches breaches;
    const std::int64_t unsure_ns = result.latency_max.ns + calm_delay_max.ns;
    for (const Record& record : result.records) {
        const auto found = result.parts_ns.find(record.row);
        if (found == result.parts_ns.end() || !record.sent_ns || record.stale_retries > 0) {
            continue;
        }
        const bool reported = has_taint(record, taint_sent_late);
        breaches.unless(
            !reported || found->second.back() - *record.fired_ns > result.limits.receive_delay_ns,
            record, "is tainted sent_late, and had left by then");
        if (result.sends_block || result.flushes_fail) {
            continue;
        }
        std::int64_t waited_ns = 0;
        for (std::size_t i = 1; i < found->second.size(); ++i) {
            const std::int64_t apart_ns = found->second[i] - found->second[i - 1];
            waited_ns += std::max<std::int64_t>(apart_ns - unsure_ns, 0);
        }
        breaches.unless(reported || waited_ns <= result.limits.receive_delay_ns, record,
                        "had parts that waited for " + std::to_string(waited_ns) +
                            " ns in sum, and is not tainted");
    }
    return breaches.text();
}

namespace {

// When a row was really over for the client: when the end of its answer came, where a read has
// ended it; else when we say that it was, which is later or the same.
std::int64_t over_ns(const SimResult& result, const Record& record) {
    const auto found = result.last_reads.find(record.row);
    const bool by_read =
        found != result.last_reads.end() && found->second.read_ns == record.ended_ns;
    return by_read ? found->second.came_ns : record.ended_ns.value_or(INT64_MAX);
}

// For how long a row that was held back had room from when it was due to when it left: fewer rows
// than may be in flight had left and were not over, where the user has set that cap, and no token
// budget was used up, which counts as so many rows. What may pass between the end of an answer and
// the next fire does not count, nor as much again: the client may not know which answer came first.
std::int64_t room_ns(const SimResult& result, const Record& held) {
    std::vector<std::pair<std::int64_t, std::int64_t>> changes{{held.due_ns, 0},
                                                               {*held.fired_ns, 0}};
    for (const Record& record : result.records) {
        if (record.fired_ns && *record.fired_ns < *held.fired_ns && !result.capped_by_host) {
            changes.emplace_back(*record.fired_ns, 1);
            changes.emplace_back(std::max(over_ns(result, record), *record.fired_ns), -1);
        }
    }
    for (const UsedUp& stretch : used_up(result, *held.fired_ns)) {
        changes.emplace_back(stretch.from_ns, result.inflight_max);
        changes.emplace_back(stretch.to_ns, -std::int64_t{result.inflight_max});
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t room_ns = 0;
    std::int64_t open = 0;
    std::int64_t since_ns = held.due_ns;  // there was room, or it is not that late yet
    for (const auto& [at_ns, change] : changes) {
        const bool full = open >= std::int64_t{result.inflight_max};
        open += change;
        const bool fills = open >= std::int64_t{result.inflight_max};
        if (at_ns < held.due_ns || at_ns > *held.fired_ns) {
            continue;
        }
        if (!full && (fills || at_ns == *held.fired_ns)) {
            const std::int64_t stretch_ns = at_ns - since_ns;
            room_ns += stretch_ns > 2 * RoomTimes::unseen_max.ns ? stretch_ns : 0;
        }
        since_ns = full && !fills ? at_ns : since_ns;
    }
    return room_ns;
}

// For how long tokens of its budget were lost while a row waited: the bucket was full, and it was
// we who sent nothing. Those that others took late were there in time for the next.
std::int64_t lost_ns(const SimResult& result, const Record& held) {
    std::int64_t lost_ns = 0;
    for (const UsedUp& stretch : ran_over(result, *held.fired_ns)) {
        const std::int64_t both_ns =
            std::min(stretch.to_ns, *held.fired_ns) - std::max(stretch.from_ns, held.due_ns);
        lost_ns += both_ns > RoomTimes::unseen_max.ns ? both_ns : 0;
    }
    return lost_ns;
}

// For how long a row that a full cap held back last had waited for tokens of a budget before: they
// come at their instants, whether or not there was room meanwhile.
std::int64_t waited_for_tokens_ns(const SimResult& result, const Record& held) {
    std::int64_t waited_ns = 0;
    for (const UsedUp& stretch : used_up(result, *held.fired_ns)) {
        waited_ns = std::max(waited_ns, std::min(stretch.to_ns, *held.fired_ns) - held.due_ns);
    }
    return waited_ns > 0 ? std::max<std::int64_t>(waited_ns - lost_ns(result, held), 0) : 0;
}

}  // namespace

// What --max-inflight or a budget held back the user wanted to wait, but only while as many rows
// were in flight, or the tokens had left: a place is free when an answer has come, not when we read
// so. The rest of the wait is a stop, or whatever else kept us from reading and sending, and nobody
// wanted it. Which of several answers came first is not known where they are read in another order,
// and nothing of it where the host slept: its clock stood still.
std::string only_a_full_cap_holds_back(const SimResult& result) {
    if (result.engines > 1) {
        return "";  // each has a part of the cap, and records do not say whose they are
    }
    Breaches breaches;
    const bool two_budgets = result.budgets.input.tokens > 0 && result.budgets.output.tokens > 0;
    for (const Record& record : result.records) {
        const bool by_budget = record.late_cause == LateCause::budget;
        if (!is_wish(record.late_cause) || !record.fired_ns || result.disk_failed ||
            !result.sleeps.empty() || (by_budget && two_budgets)) {
            continue;
        }
        // Tokens that ran over while all places were taken are no loss of ours.
        const std::int64_t room = room_ns(result, record);
        const std::int64_t by_cap_ns = *record.drift_ns - room;
        const std::int64_t wanted_ns =
            by_budget ? *record.drift_ns - std::min(lost_ns(result, record), room)
                      : std::max(by_cap_ns, waited_for_tokens_ns(result, record));
        breaches.unless(record.held_ns <= wanted_ns + RoomTimes::unseen_max.ns, record,
                        "was held by the cap for " + std::to_string(wanted_ns) + " ns, and says " +
                            std::to_string(record.held_ns));
    }
    return breaches.text();
}

// Of single rows, which are built in the order in which answers release them: one whose body was
// there when it was due is late by `prepare` only where it stood behind one that was late for that.
// Over TLS it may be the records instead.
std::string late_bodies_make_rows_late(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const bool plain = result.users.single_rows && !record.url.starts_with("https");
        if (!plain || record.late_cause != LateCause::prepare || !record.fired_ns) {
            continue;
        }
        const bool any = std::any_of(
            result.records.begin(), result.records.end(), [&record](const Record& before) {
                return before.late_cause == LateCause::prepare &&
                       before.fired_ns >= record.due_ns && before.fired_ns < record.fired_ns;
            });
        breaches.unless(any || record.armed_ns > record.due_ns, record,
                        "is late by prepare, and every body was there");
    }
    return breaches.text();
}

// Our clock does not show that the host slept: its stamps say nothing of what came meanwhile. Each
// row that was open knows that bytes may have waited for as long. One that was sent again is
// tainted for that.
std::string sleeps_of_the_host_are_reported(const SimResult& result) {
    constexpr std::int64_t length_min_ns = 1'000'000;
    Breaches breaches;
    for (const Record& record : result.records) {
        for (const SimResult::Sleep& sleep : result.sleeps) {
            const bool open = record.fired_ns && *record.fired_ns < sleep.at_ns &&
                              record.ended_ns.value_or(0) > sleep.at_ns;
            breaches.unless(!open || record.stale_retries > 0 || sleep.length_ns < length_min_ns ||
                                record.receive_delay_ns.value_or(0) >= sleep.length_ns,
                            record, "was open while the host slept, and does not say so");
        }
    }
    return breaches.text();
}

}  // namespace driftless::sim
