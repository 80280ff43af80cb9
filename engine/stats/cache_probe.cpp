#include "engine/stats/cache_probe.hpp"

#include <array>
#include <cstddef>

namespace driftless {

namespace {

constexpr std::array<const char*, 4> names{"off", "cold", "unknown", "warm"};

}  // namespace

const char* name_of(CacheState state) {
    return names[static_cast<std::size_t>(state)];
}

std::optional<CacheState> cache_state_of(std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (name == names[i]) {
            return static_cast<CacheState>(i);
        }
    }
    return std::nullopt;
}

}  // namespace driftless
