/// TurnsLeft: of a killed run with closed sessions, when a row without a record is due, by what
/// is known of the rows that it waits for. Asked for one row after the other, parents first;
/// nothing waits where sessions are not closed. Used by remaining_rows.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/planned_rows.hpp"
#include "engine/schedule/earlier_rows.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct InterruptedRun;

/// What becomes of a row of the plan.
struct Fate {
    enum Kind : std::uint8_t { recorded, sent, given_up, dropped };
    Kind kind = recorded;
    bool left = false;             ///< it may have
    std::uint32_t failed = 0;      ///< `dropped`: index of the row that will never be answered
    std::int64_t earliest_ns = 0;  ///< it was due then at the earliest
};

struct Expectation {
    std::int64_t due_ns = 0;  ///< from time 0, at the earliest
    bool possible = true;     ///< it can have been due in an earlier segment
    /// Index of the row that it waits for, itself or through others, and that will never be
    /// answered.
    std::optional<std::uint32_t> failed;
};

class TurnsLeft {
  public:
    explicit TurnsLeft(const InterruptedRun& run);

    /// Of a row without a record; those that it waits for are settled.
    Expectation expect(std::uint32_t position) const;
    void settle(std::uint32_t position, const Fate& fate);

    /// What rows that are sent may wait for: records, and what is given up and known to have left.
    EarlierRows earlier() const { return earlier_; }

  private:
    void add(const Dependency& one, std::uint32_t parent, Expectation& expected) const;

    const InterruptedRun& run_;
    std::optional<PlannedRows> planned_;  ///< of closed sessions
    std::vector<Fate> fates_;             ///< [rows of the plan] the same
    EarlierRows earlier_;
};

}  // namespace driftless
