#include "engine/schedule/rehearsal.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

/// An answer that is open: when it ends, and whose it is.
struct Open {
    std::int64_t end_ns = 0;
    Due due;
    bool operator>(const Open& other) const {
        return end_ns != other.end_ns ? end_ns > other.end_ns : due.request > other.due.request;
    }
};

}  // namespace

Plan rehearse(const Trace& trace, const Plan& plan, Schedule schedule, std::int64_t token_ns,
              std::size_t requests_max) {
    Plan rehearsed = plan;
    rehearsed.rows.clear();
    rehearsed.burst_rows_max = 0;
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    while (rehearsed.rows.size() < requests_max && (schedule.peek() != nullptr || !open.empty())) {
        const Due* const next = schedule.peek();
        if (next == nullptr || (!open.empty() && open.top().end_ns <= next->due_ns)) {
            const Open first = open.top();
            open.pop();
            schedule.ended(first.due, first.end_ns, true);
            if (schedule.awaits_words()) {
                schedule.replied(first.due.request, first.due.pass, first.due.attempt, first.end_ns,
                                 true);
            }
            continue;
        }
        const Due due = schedule.take();
        schedule.fired(due, due.due_ns);
        const std::uint32_t tokens = trace.rows[due.row].output_length;
        open.push({later(due.due_ns, token_ns * tokens), due});
        rehearsed.rows.push_back({due.due_ns, due.row, 0});
        rehearsed.burst_rows_max = std::max(rehearsed.burst_rows_max, due.rank + 1);
    }
    rehearsed.last_due_ns = rehearsed.rows.empty() ? 0 : rehearsed.rows.back().due_ns;
    return rehearsed;
}

}  // namespace driftless
