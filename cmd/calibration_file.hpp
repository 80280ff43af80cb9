/// Where the figures of `driftless calibrate` lie, and how they are fetched. Shared by `calibrate`,
/// which writes them, and `replay`, which compares with them.
#pragma once

#include <string>

#include "engine/host/calibration.hpp"

namespace driftless {

/// $XDG_STATE_HOME/driftless/calibration.json, else ~/.local/state/driftless/calibration.json;
/// calibration-realtime.json, calibration-engines-2.json or calibration-realtime-engines-2.json
/// there, as `engines` says. Empty where neither variable is set.
std::string default_calibration_path(const EngineSetup& engines);

/// The figures, or why there are none that hold for this host.
struct FoundCalibration {
    std::optional<Calibration> calibration;
    std::string why_not;      ///< a clause; empty where there are some
    bool unreadable = false;  ///< there is no such file, or it is not a calibration
};

/// Reads `path` and compares it with the host and the run. Empty `path`: the default; if a realtime
/// run has no file of its own there, the ordinary one. Prints nothing.
FoundCalibration find_calibration(const std::string& path, const HostFacts& host,
                                  const EngineSetup& run);

}  // namespace driftless
