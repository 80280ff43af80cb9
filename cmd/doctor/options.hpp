/// The command line of `driftless doctor`, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

struct DoctorOptions {
    std::string folder = "runs";  ///< where runs will be written
    std::optional<std::uint32_t> cpu;
    bool json = false;
};

/// Options to run with, or an exit code after help or a refusal was printed.
struct ParsedDoctor {
    std::optional<int> exit_code;
    DoctorOptions options;
};

ParsedDoctor parse_doctor_options(int argc, char** argv);

}  // namespace driftless
