/// The flags of a replay on several machines.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/flags/shard_values.hpp"

namespace driftless {

inline void add_machine_flags(Flags& flags, ShardFlags& shard) {
    flags.group("Several machines");
    flags.value("--shard", "I/N",
                "send share I (from 0) of N; all N processes get the same flags.\n"
                "none: send all [as Slurm, MPI or DRIFTLESS_SHARDS says, else none]",
                nullptr, parse_shard, shard.typed);
    flags.value("--meet", "HOST:PORT",
                "begin all shards at one instant: shard 0 listens at PORT, the others\n"
                "connect to HOST; they compare plans and clocks. No authentication",
                nullptr, parse_meet_place, shard.meet);
    flags.value("--meet-timeout", "T",
                "a shard that is later than this is named, and nothing is sent", "5m",
                parse_positive_duration_ns, shard.meet_timeout_ns);
    flags.value("--start-at", "UTC", "time 0, as in 2026-11-26T05:30:00Z [when all is ready]",
                nullptr, parse_utc_ns, shard.start_at_utc_ns);
    flags.value("--clock-error-max", "T",
                "warn if the offset to shard 0's clock is not known to within T", "1ms",
                parse_positive_duration_ns, shard.clock_error_max_ns);
}

}  // namespace driftless
