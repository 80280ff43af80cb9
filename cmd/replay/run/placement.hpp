/// Placement: one decision over the threads of a replay and the CPUs of its host: where the writer
/// runs, how the engines wait, and how the kernel schedules them. Each part is a flag; what no flag
/// says follows from the host. Plain values, decided before time 0 and written into run.json.
///
/// What was measured on two CPUs beside a server that may run on both is in perf/baselines
/// (placement); engine/README.md has the reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

struct PlacementFacts {
    std::vector<std::uint32_t> allowed;      ///< CPUs of this process
    std::vector<std::uint32_t> engine_cpus;  ///< [engine]
    bool server_is_here = false;             ///< a server runs on the same host
    bool yielding_is_free = false;           ///< a keeper takes no CPU time from others
    bool has_quota = false;  ///< CPU time is limited: what waits busily takes it from the rest
};

struct Placement {
    std::vector<std::uint32_t> writer_cpus;
    bool gives_way = false;  ///< the writer, because an engine has the same CPU
    bool may_leave = false;  ///< for the CPUs that are left, while it cannot keep up
    WaitPolicy wait = WaitPolicy::hybrid;
    Scheduling scheduling = Scheduling::ordinary;  ///< to ask for
    std::string reason;                            ///< of the writer's CPUs, for people
};

Placement choose_placement(const HostFlags& flags, const PlacementFacts& facts);

}  // namespace driftless
