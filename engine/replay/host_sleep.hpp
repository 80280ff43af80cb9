/// HostSleep: a sleep of the host, which no stamp of ours counts. Plain value.
#pragma once

#include <cstdint>

#include "engine/time/instant.hpp"

namespace driftless {

/// What came before it was noticed, and was not read then, has waited for so much longer.
struct HostSleep {
    Instant noticed{INT64_MIN};
    Duration length{0};
};

}  // namespace driftless
