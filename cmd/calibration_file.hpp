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

/// Where a replay keeps what it measured itself of engines that were placed so ("hybrid-kept"), for
/// the next one that is placed alike. Empty where there is no home.
std::string kept_calibration_path(const EngineSetup& engines, const std::string& placed);

/// Writes the file, and the folders above it. Errors: those of the file system.
Result<void> save_calibration(const Calibration& calibration, const std::string& path);

/// For so many days after its date it is used again.
inline constexpr std::int64_t kept_days_max = 30;

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
