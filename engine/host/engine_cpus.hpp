/// Which CPUs several engines of one process take.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host/cpu_load.hpp"

namespace driftless {

/// `--engines auto`: the host decides how many.
inline constexpr std::uint32_t engines_auto = 0;

/// A CPU for each of `engines`, that of the first given. Others take cores of their own, the
/// quietest first, then siblings of cores that are taken; where there are more engines than CPUs,
/// they share them. `loads` may be empty: nothing is known of cores then.
std::vector<std::uint32_t> choose_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                              const std::vector<std::uint32_t>& allowed,
                                              const std::vector<CpuLoad>& loads);

/// `--engines auto`: a core for each, and one is left to the writer and the system; at least one.
std::uint32_t engines_for(const std::vector<std::uint32_t>& allowed,
                          const std::vector<CpuLoad>& loads);

/// The same, with what this host does at the moment: it is sampled if there is more than one
/// engine. `engines_auto`: as many as `engines_for` says, but at most `most`.
std::vector<std::uint32_t> find_engine_cpus(std::uint32_t first, std::uint32_t engines,
                                            std::uint32_t most,
                                            const std::vector<std::uint32_t>& allowed);

/// The CPUs for what is no engine: those that no engine has, or all where the engines have them
/// all.
std::vector<std::uint32_t> cpus_beside(const std::vector<std::uint32_t>& engines,
                                       const std::vector<std::uint32_t>& allowed);

}  // namespace driftless
