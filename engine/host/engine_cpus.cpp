#include "engine/host/engine_cpus.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

bool is_among(std::uint32_t cpu, const std::vector<std::uint32_t>& cpus) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

/// One of `taken` runs on the same core.
bool shares_a_core(std::uint32_t cpu, const std::vector<std::uint32_t>& taken,
                   const std::vector<CpuLoad>& loads) {
    const CpuLoad* const load = load_of(loads, cpu);
    return load != nullptr &&
           std::any_of(load->siblings.begin(), load->siblings.end(),
                       [&taken](std::uint32_t sibling) { return is_among(sibling, taken); });
}

/// Those that are allowed, the quietest first; of equals the last, since the first ones serve most
/// interrupts.
std::vector<std::uint32_t> by_quiet(std::vector<std::uint32_t> allowed,
                                    const std::vector<CpuLoad>& loads) {
    const auto busy = [&loads](std::uint32_t cpu) {
        const CpuLoad* const load = load_of(loads, cpu);
        return load == nullptr ? 0 : load->busy;
    };
    std::reverse(allowed.begin(), allowed.end());
    std::stable_sort(allowed.begin(), allowed.end(),
                     [&busy](std::uint32_t a, std::uint32_t b) { return busy(a) < busy(b); });
    return allowed;
}

}  // namespace

std::vector<std::uint32_t> choose_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                              const std::vector<std::uint32_t>& allowed,
                                              const std::vector<CpuLoad>& loads) {
    CHECK(engines > 0);
    std::vector<std::uint32_t> taken{first};
    const std::vector<std::uint32_t> quiet = by_quiet(allowed, loads);
    for (const bool may_share_a_core : {false, true}) {
        for (const std::uint32_t cpu : quiet) {
            const bool fits = may_share_a_core || !shares_a_core(cpu, taken, loads);
            if (taken.size() < engines && fits && !is_among(cpu, taken)) {
                taken.push_back(cpu);
            }
        }
    }
    for (std::size_t again = 0; taken.size() < engines; ++again) {
        taken.push_back(taken[again]);
    }
    return taken;
}

std::uint32_t engines_for(const std::vector<std::uint32_t>& allowed,
                          const std::vector<CpuLoad>& loads) {
    std::vector<std::uint32_t> cores;
    for (const std::uint32_t cpu : allowed) {
        if (!shares_a_core(cpu, cores, loads)) {
            cores.push_back(cpu);
        }
    }
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(cores.size()), 2) - 1;
}

std::vector<std::uint32_t> find_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                            std::uint32_t most,
                                            const std::vector<std::uint32_t>& allowed) {
    if (engines == 1) {
        return {first};
    }
    const std::vector<CpuLoad> loads = sample_cpu_loads(cpu_sample_ns);
    const std::uint32_t wanted =
        engines == engines_auto ? std::min(engines_for(allowed, loads), most) : engines;
    return choose_engine_cpus(first, wanted, allowed, loads);
}

std::vector<std::uint32_t> cpus_beside(const std::vector<std::uint32_t>& engines,
                                       const std::vector<std::uint32_t>& allowed) {
    std::vector<std::uint32_t> left;
    for (const std::uint32_t cpu : allowed) {
        if (!is_among(cpu, engines)) {
            left.push_back(cpu);
        }
    }
    return left.empty() ? allowed : left;
}

}  // namespace driftless
