#include "engine/history/rest.hpp"

#include <algorithm>

#include "engine/history/waiting_rows.hpp"
#include "engine/record/origin.hpp"
#include "engine/record/taint.hpp"

namespace driftless {

namespace {

/// When the run had died at the latest, by its own clock. A row without a sign says nothing of
/// that: it may have been held back, and have left with the ones behind it after the last line.
std::int64_t died_before_ns(const Remains& remains) {
    const std::int64_t known = std::max(remains.past.known_ns(), remains.last_first_due_ns);
    return known + signs_every_ns + unseen_ns;
}

bool may_have_left(const Remains& remains, const Planned& planned, const Expectation& expected) {
    const std::uint32_t row = remains.trace.rows[planned.row].index;
    const bool unseen = remains.marks != nullptr
                            ? remains.marks->marked(planned.row)
                            : expected.possible && expected.due_ns <= died_before_ns(remains);
    return unseen || remains.past.open().contains(row);
}

void put(const Remains& remains, bool resend, std::uint32_t position, WaitingRows& waiting,
         std::vector<Fate>& fates) {
    const Planned& planned = remains.plan.rows[position];
    if (remains.past.has_record(remains.trace.rows[planned.row].index)) {
        return;
    }
    const Expectation expected = waiting.expect(position);
    Fate& fate = fates[position];
    fate.left = may_have_left(remains, planned, expected);
    fate.kind = fate.left && !resend ? Fate::given_up
                : expected.failed    ? Fate::dropped
                                     : Fate::sent;
    fate.failed = expected.failed.value_or(0);
    fate.earliest_ns = expected.due_ns;
    waiting.settle(position, fate);
}

/// [rows of the plan]
std::vector<Fate> fates_of(const Remains& remains, bool resend, Rest& rest) {
    std::vector<Fate> fates(remains.plan.rows.size());
    WaitingRows waiting(remains);
    if (!remains.closed) {
        for (std::uint32_t position = 0; position < fates.size(); ++position) {
            put(remains, resend, position, waiting, fates);
        }
        return fates;
    }
    for (const std::uint32_t position : file_order(remains.trace, remains.plan)) {
        put(remains, resend, position, waiting, fates);  // those that it waits for come before
    }
    rest.earlier = waiting.earlier();
    for (const Fate& fate : fates) {
        rest.earliest_ns.push_back(fate.earliest_ns);
    }
    return fates;
}

Record unsent_record(const Remains& remains, std::uint32_t position,
                     const AssemblerConfig& config) {
    Record record;
    fill_origin(record, due_at(remains.plan, position), config);
    record.segment = config.segment;
    record.has_chunks = false;
    return record;
}

Record interrupted_record(const Remains& remains, const Rest& rest, std::uint32_t position,
                          const AssemblerConfig& config) {
    Record record = unsent_record(remains, position, config);
    record.segment = config.segment - 1;
    record.outcome = Outcome::interrupted;
    record.due_ns = remains.closed ? rest.earliest_ns[position] : record.due_ns;
    const auto left = remains.past.open().find(record.row);
    if (left != remains.past.open().end()) {
        record.due_ns = left->second.due_ns.value_or(record.due_ns);
        record.fired_ns = left->second.fired_ns;
        record.drift_ns = left->second.fired_ns - record.due_ns;
        record.held_ns = left->second.held_ns;
        record.late_cause = left->second.late_cause;
        const std::uint32_t rank = remains.closed ? 0 : due_at(remains.plan, position).rank;
        add_taints(record, RowLosses{}, config.limits, rank);
    }
    return record;
}

}  // namespace

Rest rest_of(const Remains& remains, bool resend) {
    Rest rest;
    const std::vector<Fate> fates = fates_of(remains, resend, rest);
    for (std::uint32_t position = 0; position < fates.size(); ++position) {
        const Planned& planned = remains.plan.rows[position];
        const Fate& fate = fates[position];
        if (fate.kind == Fate::given_up) {
            rest.given_up.push_back(position);
        } else if (fate.kind == Fate::dropped) {
            rest.dropped.push_back({position, fate.failed});
        } else if (fate.kind == Fate::sent) {
            if (fate.left) {
                rest.again.push_back(planned.row);
            }
            rest.send.push_back(planned);
            rest.positions.push_back(position);
        }
    }
    return rest;
}

void mark_again(const Rest& rest, FiredMarks& marks) {
    for (const std::uint32_t row : rest.again) {
        marks.mark(row);
    }
}

std::vector<Record> records_of_rest(const Remains& remains, const Rest& rest,
                                    AssemblerConfig config) {
    config.plan = &remains.plan;
    config.numbers.clear();  // positions are those of the whole run
    std::vector<Record> records;
    for (const std::uint32_t position : rest.given_up) {
        records.push_back(interrupted_record(remains, rest, position, config));
    }
    for (const Rest::Dropped& one : rest.dropped) {
        Record& record = records.emplace_back(unsent_record(remains, one.position, config));
        record.outcome = Outcome::not_sent;
        record.error = waited_in_vain(one.failed);
    }
    return records;
}

}  // namespace driftless
