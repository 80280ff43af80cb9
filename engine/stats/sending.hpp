/// Sending: how late each row left, and why: stage by stage from its due instant to the wire, by
/// cause, and by its place among the rows of the same instant. Fed with records one by one, in any
/// order, so that it can be rebuilt from `requests.jsonl`; it judges nothing. 48 bytes a row, 24
/// more one that a cap held back.
///
///     due --drift--> fired --wire delay--> on the wire
///                      `---- submit ----'  the call that hands the row over, which mostly reaches
///                                          the wire before it returns
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/stats/distribution.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Drift of the rows that are `first` to `last` among those of their instant, from 0: one core
/// sends one after another. Ranks 0, 1, 2-3, 4-7 and so on.
struct RankFigures {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    Distribution drift;
};

/// Rows that one cap held back: for how long, and how late they left in all, ns.
struct HeldFigures {
    Distribution held;
    Distribution drift;
};

/// ns. Rows that `--max-inflight` or a token budget held back are in none of the drifts, nor in
/// `wire_drift`.
struct SendingFigures {
    Distribution drift;                                   ///< fired - due
    std::array<Distribution, late_cause_count> by_cause;  ///< drift of the rows of each late cause
    std::vector<RankFigures> by_rank;                     ///< ranks that there are
    std::uint32_t instant_rows_max = 0;  ///< due at the instant of a row that left, up to it
    Distribution submit;
    Distribution wire_delay;         ///< wire - fired
    Distribution wire_drift;         ///< wire - due
    Distribution receive_delay;      ///< worst of each row
    HeldFigures held_by_user;        ///< `--max-inflight`
    HeldFigures held_by_budget;      ///< `--budget-input`, `--budget-output`
    HeldFigures held_by_host;        ///< a limit of the host: its rows are in the drifts, too
    std::uint64_t wire_unknown = 0;  ///< rows that left and have no `wire_ns`
};

class Sending {
  public:
    /// Rows that did not leave have a place in their instant, and no figures.
    void add(const Record& record);
    SendingFigures figures() const;

  private:
    struct Row {
        std::int64_t due_ns;
        std::int64_t drift_ns;
        std::int64_t wire_delay_ns;     ///< -1: unknown
        std::int64_t receive_delay_ns;  ///< -1: unknown
        std::int64_t submit_ns;         ///< -1: unknown
        std::uint32_t row;
        LateCause cause;
        bool left;
    };

    struct Held {
        std::int64_t held_ns;
        std::int64_t drift_ns;
        LateCause cause;
    };

    std::vector<RankFigures> by_rank(std::uint32_t& instant_rows_max) const;

    std::deque<Row> rows_;
    std::deque<Held> held_;
};

}  // namespace driftless
