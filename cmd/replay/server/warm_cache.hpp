/// Before the first row: whether the servers' caches are warm from an earlier run, and
/// `--reset-cache`.
#pragma once

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/io/driver.hpp"
#include "engine/stats/cache_probe.hpp"

namespace driftless {

/// Asks each server, empties its cache if that was asked for, and prints what was found. Refuses to
/// go on if a cache cannot be emptied, or cannot be shown to be empty. Requests are numbered from
/// `first_request`.
OrExit<CacheProbe> probe_caches(const ReplayParts& parts, Driver& driver,
                                std::uint32_t first_request);

}  // namespace driftless
