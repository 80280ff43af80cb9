/// CacheProbe: what was seen of the servers' prefix caches before the first row. Values; who asks
/// is engine/preflight/warm_probe.hpp. run.json keeps them, and the summary says them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

/// Of several servers the last one holds.
enum class CacheState : std::uint8_t {
    off,  ///< not asked
    cold,
    unknown,  ///< asked, and the answers do not say
    warm,
};
/// "off", "cold", "unknown", "warm".
const char* name_of(CacheState state);
std::optional<CacheState> cache_state_of(std::string_view name);

struct CacheProbe {
    CacheState state = CacheState::off;
    std::string why;                  ///< of `off` and `unknown`, as a clause; may be empty
    std::uint64_t tokens = 0;         ///< of the prompts that say so, one a server
    std::uint64_t cached_tokens = 0;  ///< of these, found in the cache
    /// `--reset-cache`: the paths that emptied the caches, as of a request; empty: none was asked.
    std::string reset;
};

}  // namespace driftless
