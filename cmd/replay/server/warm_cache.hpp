/// Before the first row: are the servers' caches warm from an earlier run, and `--reset-cache`.
#pragma once

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/io/driver.hpp"
#include "engine/stats/cache_probe.hpp"

namespace driftless {

/// Asks each server, empties its cache where that is asked for, and prints what was found; a cache
/// that cannot be emptied, or not provably so, is refused. Requests are numbered from
/// `first_request`.
OrExit<CacheProbe> probe_caches(const ReplayParts& parts, Driver& driver,
                                std::uint32_t first_request);

}  // namespace driftless
