/// UserPlay: plays users to their end in the tests of their rules: a small corpus, and a server
/// that answers each request as it is told. Time is virtual.
#pragma once

#include "engine/plan/schedule.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

inline constexpr std::int64_t one_ms = 1'000'000;

// Rows of sessions by hand, in the order of time.
struct UserCorpus {
    Trace trace;
    Plan plan;

    // A row that waits for these, each with the same gap.
    std::uint32_t row(std::uint32_t session, std::int64_t at_ns,
                      const std::vector<std::uint32_t>& on = {}, std::int64_t gap_ns = 0) {
        const TraceRow& row =
            append_row(trace, {.at_ns = at_ns, .output_length = 10, .session = session});
        while (trace.sessions.size() <= session) {
            trace.sessions.push_back("s" + std::to_string(trace.sessions.size()));
        }
        plan.rows.push_back({at_ns, row.index, 0});
        for (const std::uint32_t parent : on) {
            trace.dependencies.push_back({row.index, parent, Trigger::completion, gap_ns});
        }
        return row.index;
    }
    // A session of so many turns, each so long behind the end of the one before.
    UserCorpus& chain(std::uint32_t session, std::uint32_t turns, std::int64_t gap_ns) {
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
            const std::int64_t at_ns = 1'000 * one_ms * session + turn * (gap_ns + one_ms);
            const auto last = static_cast<std::uint32_t>(trace.rows.size());
            row(session, at_ns,
                turn > 0 ? std::vector<std::uint32_t>{last - 1} : std::vector<std::uint32_t>{},
                gap_ns);
        }
        return *this;
    }
    Schedule schedule(const UserRules& rules) const { return {trace, plan, {}, rules}; }
};

struct Sent {
    Due due;
    std::int64_t end_ns = 0;
    bool answered = false;
};

struct UserPlay {
    std::vector<Sent> sent;
    std::vector<Due> dropped;
    std::optional<std::int64_t> measured_from_ns;
    IdleFigures idle;

    // Of that row, the attempts.
    std::vector<Sent> of(std::uint32_t row) const {
        std::vector<Sent> some;
        for (const Sent& one : sent) {
            if (one.due.row == row) {
                some.push_back(one);
            }
        }
        return some;
    }
    std::int64_t due_ns(std::uint32_t row) const {
        EXPECT_EQ(of(row).size(), 1u) << "row " << row;
        return of(row).empty() ? -1 : of(row).front().due.due_ns;
    }
};

// How each request ends; by default with an answer. All take 1 ms.
using Answers = std::function<TurnEnd(const Due&)>;

inline UserPlay play_users(const UserCorpus& corpus, const UserRules& rules,
                           const Answers& answers = {}, std::size_t requests_max = 10'000) {
    UserPlay play;
    Schedule schedule = corpus.schedule(rules);
    std::multimap<std::int64_t, std::size_t> open;  // by end
    std::int64_t now_ns = 0;
    while (play.sent.size() < requests_max) {
        if (const std::optional<Due> due = schedule.dropped()) {
            play.dropped.push_back(*due);
            schedule.take_dropped();
            schedule.ended(*due, now_ns, false);
            continue;
        }
        const Due* const next = schedule.peek();
        if (next == nullptr && open.empty()) {
            EXPECT_TRUE(schedule.over());
            EXPECT_EQ(schedule.taken(), play.sent.size() + play.dropped.size());
            break;
        }
        if (next == nullptr || (!open.empty() && open.begin()->first <= next->due_ns)) {
            const auto [end_ns, which] = *open.begin();
            open.erase(open.begin());
            now_ns = end_ns;
            const TurnEnd end = answers ? answers(play.sent[which].due) : TurnEnd(true);
            play.sent[which].answered = end.answered;
            schedule.ended(play.sent[which].due, end_ns, end);
            continue;
        }
        while (const std::optional<Due> ahead = schedule.within(Lookahead::arming, INT64_MAX)) {
            schedule.pass(Lookahead::arming, *ahead);
        }
        const Due due = schedule.take();
        EXPECT_GE(due.due_ns, now_ns);
        now_ns = due.due_ns;
        schedule.fired(due, now_ns);
        open.emplace(now_ns + one_ms, play.sent.size());
        play.sent.push_back({due, now_ns + one_ms, false});
    }
    play.measured_from_ns = schedule.measured_from_ns();
    play.idle = schedule.users()->idle();
    return play;
}

inline UserRules some_users(std::uint32_t users) {
    return UserRules{.users = users};
}

}  // namespace driftless
