/// The command line of `driftless calibrate`, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

struct CalibrateOptions {
    std::string out;  ///< file; empty: where `replay` looks
    std::optional<std::uint32_t> cpu;
    std::uint32_t engines = 1;  ///< or `engines_auto`
    bool quick = false;         ///< a tenth of the measurements and one rehearsal
    bool realtime = false;      ///< for replays with --realtime
    bool accept_noise = false;  ///< save what was measured while others had the CPU, too
};

/// Options to run with, or an exit code after help or a refusal was printed.
struct ParsedCalibrate {
    std::optional<int> exit_code;
    CalibrateOptions options;
};

ParsedCalibrate parse_calibrate_options(int argc, char** argv);

}  // namespace driftless
