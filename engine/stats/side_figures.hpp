/// SideFigures: the two sides of a dual-fire run beside each other, and the rows that both
/// answered, pair by pair.
///
/// Fed record by record, in any order. It owns its numbers: 40 bytes a request that is ok, and 24 a
/// row of which one side has a record and the other has none yet. Records without a side, and those
/// of a warm-up, are not counted. It judges nothing: whether a difference is more than chance is
/// `compare`'s.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/stats/distribution.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// What one server did with its copy of the rows.
struct OneSideFigures {
    std::string url;                           ///< empty: no record of it
    std::uint64_t requests = 0;                ///< records
    std::uint64_t completed = 0;               ///< ok
    std::uint64_t failed = 0;                  ///< not answered whole; of those not sent, too
    Distribution ttft;                         ///< ns, as those of the whole run
    Distribution tpot;                         ///< ns
    Distribution e2e;                          ///< ns
    Distribution drift;                        ///< ns, but for requests that the user had held back
    std::uint64_t cache_rows = 0;              ///< that reported their hits
    std::uint64_t expected_cached_tokens = 0;  ///< of those, where all are foretold
    std::uint64_t cache_rows_unforetold = 0;
    std::uint64_t cached_tokens = 0;  ///< of those
};

/// Rows whose requests to both sides have a TTFT; ns, b less a.
struct PairFigures {
    Distribution ttft;     ///< of all of them
    Distribution a_first;  ///< of those that left to a first
    Distribution b_first;
    std::uint64_t unpaired = 0;  ///< rows of which a side has no record, or no TTFT
};

struct SideFigures {
    OneSideFigures a;
    OneSideFigures b;
    PairFigures pairs;
};

class BySide {
  public:
    void add(const Record& record);
    /// Nothing where no record has a side.
    std::optional<SideFigures> figures() const;

  private:
    struct One {
        OneSideFigures figures;
        Sample ttft;
        Sample tpot;
        Sample e2e;
        Sample drift;
    };
    /// What the first record of a row leaves for the second.
    struct Half {
        OptionalNs ttft_ns;
        std::int64_t fired_ns = 0;
    };
    void add_pair(const Record& record);
    void add_one(One& one, const Record& record);

    One a_;
    One b_;
    std::unordered_map<std::uint32_t, Half> waiting_;  ///< by row: the other side is to come
    Sample differences_;
    Sample a_first_;
    Sample b_first_;
    std::uint64_t unpaired_ = 0;
};

}  // namespace driftless
