#include "cmd/replay/run/placement.hpp"

#include <algorithm>

#include "engine/host/engine_cpus.hpp"

namespace driftless {

namespace {

/// With fewer CPUs than these beside the engines a server of this host needs them all.
constexpr std::size_t roomy_cpus = 3;
/// An engine that never sleeps needs one CPU for the rest of us and one for everybody else.
constexpr std::size_t spin_cpus = 2;

/// Of these CPUs, those that an engine has.
std::size_t engines_on(const PlacementFacts& facts, const std::vector<std::uint32_t>& cpus) {
    return static_cast<std::size_t>(
        std::count_if(cpus.begin(), cpus.end(), [&facts](std::uint32_t cpu) {
            return std::find(facts.engine_cpus.begin(), facts.engine_cpus.end(), cpu) !=
                   facts.engine_cpus.end();
        }));
}

std::size_t spare_cpus(const PlacementFacts& facts) {
    return facts.allowed.size() - engines_on(facts, facts.allowed);
}

void place_writer(const HostFlags& flags, const PlacementFacts& facts, Placement& out) {
    using Where = WriterCpu::Where;
    const std::size_t spare = spare_cpus(facts);
    const bool never_sleeps = flags.wait == WaitPolicy::spin;
    const Where where = flags.writer_cpu.where;
    if (where == Where::on) {
        out.writer_cpus = {flags.writer_cpu.cpu};
        out.reason = "--writer-cpu";
    } else if (spare == 0) {
        out.writer_cpus = facts.allowed;
        out.reason = "there is no other";
    } else if (where == Where::automatic && facts.server_is_here && spare < roomy_cpus &&
               !never_sleeps) {
        out.writer_cpus = facts.engine_cpus;
        out.may_leave = true;
        out.reason = "the engine's: the server, on this host, can use the rest";
    } else if (where == Where::beside) {
        out.writer_cpus = facts.engine_cpus;
        out.may_leave = true;
        out.reason = "--writer-cpu beside";
    } else {
        out.writer_cpus = cpus_beside(facts.engine_cpus, facts.allowed);
        out.reason = where == Where::apart ? "--writer-cpu apart" : "what the engine leaves free";
    }
    out.gives_way = !never_sleeps && engines_on(facts, out.writer_cpus) > 0;
}

}  // namespace

Placement choose_placement(const HostFlags& flags, const PlacementFacts& facts) {
    Placement out;
    place_writer(flags, facts, out);
    const std::size_t spare = spare_cpus(facts);
    const bool may_spin =
        spare >= spin_cpus && !out.gives_way && !flags.realtime && !facts.has_quota;
    out.wait = flags.wait.value_or(may_spin ? WaitPolicy::spin : WaitPolicy::hybrid);
    // A CPU that is kept awake costs as much power as one that spins, and as much of a quota. Where
    // the engines have all CPUs, everybody else is there, too.
    const bool can_keep = spare > 0 && facts.yielding_is_free;
    const bool may_keep = can_keep && out.wait == WaitPolicy::hybrid && !facts.has_quota;
    const Scheduling best = may_keep ? Scheduling::kept : Scheduling::slice;
    out.scheduling = flags.realtime ? Scheduling::realtime : flags.scheduling.value_or(best);
    if (out.scheduling == Scheduling::kept && !can_keep) {
        out.scheduling = Scheduling::slice;
    }
    return out;
}

}  // namespace driftless
