#include "engine/history/rest.hpp"

#include <algorithm>

#include "engine/record/taint.hpp"

namespace driftless {

namespace {

/// When the run had died at the latest, by its own clock. A row without a sign says nothing of
/// that: it may have been held back, and have left with the ones behind it after the last line.
std::int64_t died_before_ns(const Remains& remains) {
    const std::int64_t known = std::max(remains.past.known_ns(), remains.last_first_due_ns);
    return known + signs_every_ns + unseen_ns;
}

}  // namespace

Rest rest_of(const Remains& remains, bool resend) {
    const std::int64_t died_ns = died_before_ns(remains);
    Rest rest;
    for (std::uint32_t position = 0; position < remains.plan.rows.size(); ++position) {
        const Planned& planned = remains.plan.rows[position];
        const std::uint32_t row = remains.trace.rows[planned.row].index;
        if (remains.past.has_record(row)) {
            continue;
        }
        const bool unseen = remains.marks != nullptr ? remains.marks->marked(planned.row)
                                                     : planned.due_ns <= died_ns;
        const bool may_have_left = unseen || remains.past.open().contains(row);
        if (may_have_left && !resend) {
            rest.given_up.push_back(position);
            continue;
        }
        if (may_have_left) {
            rest.again.push_back(planned.row);
        }
        rest.send.push_back(planned);
    }
    return rest;
}

void mark_again(const Rest& rest, FiredMarks& marks) {
    for (const std::uint32_t row : rest.again) {
        marks.mark(row);
    }
}

std::vector<Record> interrupted_records(const Remains& remains, const Rest& rest,
                                        AssemblerConfig config) {
    config.plan = &remains.plan;
    std::vector<Record> records;
    for (const std::uint32_t position : rest.given_up) {
        Record& record = records.emplace_back();
        const Due due = due_at(remains.plan, position);
        fill_origin(record, due, config);
        record.segment = config.segment - 1;
        record.outcome = Outcome::interrupted;
        record.has_chunks = false;
        const auto left = remains.past.open().find(record.row);
        if (left != remains.past.open().end()) {
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
