/// LaneSupply: sees to it that as many connections stand ready as rows to come need: opens them
/// ahead of need, and ends idle ones before their server does, once they have a successor. Owned by
/// the run.
#pragma once

#include <cstdint>

#include "engine/replay/lanes.hpp"
#include "engine/replay/rows_ahead.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

class LaneSupply {
  public:
    LaneSupply(const ReplaySettings& settings, Lanes& lanes, const RowsAhead& ahead)
        : settings_(settings), lanes_(lanes), ahead_(ahead) {}

    /// Starts one connection that is wanted; false where enough stand or are under way, or none can
    /// be had.
    bool open_one(Instant now);
    /// Ends at most one idle lane that its server may soon close; nothing is due for `gap`. False
    /// where there is nothing to do.
    bool age_slice(Instant now, Duration gap);

    /// Lanes to the target that rows to come can count on, those connecting not included; under
    /// `--connections` busy ones, too.
    std::uint32_t in_stock(std::uint32_t target) const;

    /// Kept ready ahead of need, at most; more where more rows of one instant come within a second.
    static constexpr std::uint32_t idle_max = RowsAhead::crowd_min;

  private:
    std::uint32_t wanted(std::uint32_t target) const;

    const ReplaySettings& settings_;
    Lanes& lanes_;
    const RowsAhead& ahead_;
};

}  // namespace driftless
