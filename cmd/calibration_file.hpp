/// Where the figures of `driftless calibrate` lie, and how they are fetched. Shared by `calibrate`,
/// which writes them, and `replay`, which compares with them.
#pragma once

#include <string>

#include "engine/host/calibration.hpp"

namespace driftless {

/// $XDG_STATE_HOME/driftless/calibration.json, else ~/.local/state/driftless/calibration.json;
/// empty where neither variable is set.
std::string default_calibration_path();

/// The figures, or why there are none that hold for this host.
struct FoundCalibration {
    std::optional<Calibration> calibration;
    std::string why_not;  ///< a clause; empty where there are some
};

/// Reads `path` (empty: the default) and compares it with the host. Prints nothing.
FoundCalibration find_calibration(const std::string& path, const HostFacts& host);

}  // namespace driftless
