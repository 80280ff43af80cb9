/// What `doctor` says of a host's readings. Pure.
#pragma once

#include <vector>

#include "cmd/doctor/readings.hpp"
#include "cmd/host_finding.hpp"

namespace driftless {

/// Every topic in a fixed order, also those that are well. A finding that is not has a remedy.
std::vector<HostFinding> judge_host(const HostReadings& host);

}  // namespace driftless
