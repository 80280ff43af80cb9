#include "proto/trace/frontier.hpp"

#include <algorithm>

#include "proto/trace/decimal_time.hpp"

namespace driftless {

void Frontier::pause(std::int64_t length_ns) {
    for (RowWait& one : waits_) {
        one.delay_ns = later(one.delay_ns, length_ns);
    }
    since_start_ns_ = waits_.empty() ? later(since_start_ns_, length_ns) : since_start_ns_;
}

void Frontier::pass(TraceDraft& draft, TraceRow& row, std::int64_t answer_ns) {
    row.at_ns = since_start_ns_;
    for (const RowWait& one : waits_) {
        draft.depend({draft.rows(), one.row, Trigger::completion, one.delay_ns});
        row.at_ns = std::max(row.at_ns, later(one.end_ns, one.delay_ns));
    }
    waits_ = {{draft.rows(), later(row.at_ns, answer_ns), 0}};
}

/// Of two waits for one row the longer one holds.
void Frontier::add(const Frontier& line) {
    for (const RowWait& wait : line.waits_) {
        const auto same = std::find_if(waits_.begin(), waits_.end(),
                                       [&](const RowWait& one) { return one.row == wait.row; });
        if (same == waits_.end()) {
            waits_.push_back(wait);
        } else {
            same->delay_ns = std::max(same->delay_ns, wait.delay_ns);
        }
    }
    since_start_ns_ = std::max(since_start_ns_, line.since_start_ns_);
}

/// Every line waits at least for what the fork waits for, so that only those that went on count.
Frontier Frontier::join(const Frontier& fork, const std::vector<Frontier>& lines) {
    Frontier joined;
    for (const Frontier& line : lines) {
        if (line != fork) {
            joined.add(line);
        }
    }
    return joined == Frontier() ? fork : joined;
}

}  // namespace driftless
