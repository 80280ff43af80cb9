/// HostSleep: sleeps of the host, which no stamp of ours counts. Plain value.
#pragma once

#include <cstdint>

#include "engine/time/instant.hpp"

namespace driftless {

/// What came before the last sleep was noticed, and was not read then, has waited for up to so much
/// longer.
struct HostSleep {
    Instant noticed{INT64_MIN};
    /// Of the last sleep and of those before it in the same backlog: since the first of these
    /// something has always been waiting to be read.
    Duration length{0};
};

}  // namespace driftless
