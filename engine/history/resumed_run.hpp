/// A run that was killed and is resumed: what is left to do of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/history/fired_marks.hpp"
#include "engine/history/past.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/plan/plan.hpp"
#include "engine/record/fill_record.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// RemainingRows: what is left to do of a run that was killed: which rows are sent, which are given
// up because they may have left, and which are dropped because a row that they wait for will never
// be answered. Pure functions of what was read back; they own and print nothing.
//
// A row that left and has no record is given up: a server may have seen it. Which rows left is in
// the marks of the run (FiredMarks); where those are gone, as after the end of the host, also a
// row that was due so late that it may have left unseen is taken to have.
//
// Under closed sessions a row is due by the records of those that it waits for, in whatever
// segment they ended. Where one of them has none, the row was due at the earliest when that one
// can have ended: at the instant at which it left.

/// Without marks: what was due up to this long after the last sign of a run may have left unseen:
/// its files are written twice a second (flush_every_ns), and a writer that is kept from its CPU
/// has as long again.
inline constexpr std::int64_t unseen_ns = 1'000'000'000;
/// Signs of life come once a second (client.jsonl), and with every row that leaves or ends.
inline constexpr std::int64_t signs_every_ns = 1'000'000'000;

/// What a run leaves behind when it is killed.
struct InterruptedRun {
    const Trace& trace;
    const Plan& plan;  ///< of the whole run
    const Past& past;
    const FiredMarks* marks = nullptr;   ///< of its last segment; null: they are gone
    std::int64_t last_first_due_ns = 0;  ///< of the first row that its last segment was to send
    bool closed = false;                 ///< rows wait for those that they depend on
    Speed speed;                         ///< of the gaps between them
};

struct RemainingRows {
    std::vector<Planned> send;             ///< in the order of the plan
    std::vector<std::uint32_t> positions;  ///< those of `send` in the plan
    std::vector<std::uint32_t> again;      ///< marks of those of `send` that may have left
    std::vector<std::uint32_t> given_up;   ///< rows of the plan

    // Of closed sessions.
    struct Dropped {
        std::uint32_t position = 0;  ///< row of the plan
        std::uint32_t failed = 0;    ///< index of the row that will never be answered
    };
    std::vector<Dropped> dropped;
    std::vector<std::int64_t> earliest_ns;  ///< [rows of the plan] the earliest possible due
    EarlierRows earlier;                    ///< what releases the rows of `send`
};

/// Every row without a record is either sent, given up or dropped; with `resend` none is given up.
RemainingRows remaining_rows(const InterruptedRun& run, bool resend);

/// In the marks of the segment that sends them: rows that may have left before stay marked, should
/// it die before their turn.
void mark_again(const RemainingRows& remaining, FiredMarks& marks);

/// The records of the rows that no segment will send: those that are given up are `interrupted`,
/// in the segment before the one that `config` is of; those that are dropped are `not_sent`, in
/// that one. The plan of `config` is not used.
std::vector<Record> settled_records(const InterruptedRun& run, const RemainingRows& remaining,
                                    AssemblerConfig config);

/// ResumedRun: a run that was killed and is resumed: what it left behind, and what becomes of its
/// rows. A plain value, made once; what it refers to outlives it.
///
/// The run goes on at the due instant of the first row that is still to be sent, on the same
/// timeline: due and stamps count from the time 0 of the run, which lies in the past.
struct ResumedRun {
    InterruptedRun whole;              ///< its marks are not kept: null
    std::vector<RunSegment> segments;  ///< those that were killed, in order; at least one
    RemainingRows remaining;
    std::optional<MeetingFacts> meeting{};  ///< of its first segment
    std::vector<std::string> urls{};        ///< of the servers that its rows were sent to

    std::uint32_t segment() const { return static_cast<std::uint32_t>(segments.size()); }
    /// The plan of the rows that are to be sent; none where all had left.
    Plan remaining_plan() const;
    /// The records of the rows that no segment will send; `config` is that of the new segment.
    std::vector<Record> settled(const AssemblerConfig& config) const;
};

/// `segments` are those that its run.json names.
ResumedRun resume_run(const InterruptedRun& run, const std::vector<RunSegment>& segments,
                      bool resend);

}  // namespace driftless
