#include "engine/history/remaining_rows.hpp"

#include <algorithm>

#include "engine/stats/taint.hpp"

namespace driftless {

namespace {

/// When the run had died at the latest, by its own clock. A row without a sign says nothing of
/// that: it may have been held back, and have left with the ones behind it after the last line.
std::int64_t died_before_ns(const InterruptedRun& run) {
    const std::int64_t known = std::max(run.past.known_ns(), run.last_first_due_ns);
    return known + signs_every_ns + unseen_ns;
}

}  // namespace

RemainingRows remaining_rows(const InterruptedRun& run, bool resend) {
    const std::int64_t died_ns = died_before_ns(run);
    RemainingRows remaining;
    for (std::uint32_t position = 0; position < run.plan.rows.size(); ++position) {
        const Planned& planned = run.plan.rows[position];
        const std::uint32_t row = run.trace.rows[planned.row].index;
        if (run.past.has_record(row)) {
            continue;
        }
        const bool unseen =
            run.marks != nullptr ? run.marks->marked(planned.row) : planned.due_ns <= died_ns;
        const bool may_have_left = unseen || run.past.open().contains(row);
        if (may_have_left && !resend) {
            remaining.given_up.push_back(position);
            continue;
        }
        if (may_have_left) {
            remaining.again.push_back(planned.row);
        }
        remaining.send.push_back(planned);
    }
    return remaining;
}

void mark_again(const RemainingRows& remaining, FiredMarks& marks) {
    for (const std::uint32_t row : remaining.again) {
        marks.mark(row);
    }
}

std::vector<Record> interrupted_records(const InterruptedRun& run, const RemainingRows& remaining,
                                        AssemblerConfig config) {
    config.plan = &run.plan;
    std::vector<Record> records;
    for (const std::uint32_t position : remaining.given_up) {
        Record& record = records.emplace_back();
        const Due due = due_at(run.plan, position);
        fill_origin(record, due, config);
        record.segment = config.segment - 1;
        record.outcome = Outcome::interrupted;
        record.has_chunks = false;
        const auto left = run.past.open().find(record.row);
        if (left != run.past.open().end()) {
            record.fired_ns = left->second.fired_ns;
            record.drift_ns = left->second.fired_ns - record.due_ns;
            record.held_ns = left->second.held_ns;
            record.late_cause = left->second.late_cause;
            add_taints(record, RowLosses{}, config.limits, due.rank);
        }
    }
    return records;
}

}  // namespace driftless
