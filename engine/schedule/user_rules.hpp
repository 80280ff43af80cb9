/// UserRules: how many users there are, and what they play. Plain values.
#pragma once

#include <cstdint>
#include <optional>

namespace driftless {

/// The order in which trees are drawn.
enum class TreeRule : std::uint8_t {
    file,     ///< by their first rows in the file
    shuffle,  ///< seeded; the same in each pass
};

struct UserRules {
    std::uint32_t users = 0;   ///< 0: there are none, and sessions begin at their recorded instants
    std::int64_t ramp_ns = 0;  ///< they begin within so long
    TreeRule order = TreeRule::file;
    bool recycle = false;                ///< the corpus begins anew when it is used up
    std::optional<std::int64_t> for_ns;  ///< nothing is due from there on; nothing: to the end
    std::uint64_t seed = 0;
};

}  // namespace driftless
