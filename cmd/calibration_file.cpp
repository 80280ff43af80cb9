#include "cmd/calibration_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace driftless {

namespace {

/// What makes the figures.
std::string command_for(std::uint32_t engines) {
    return engines > 1 ? "driftless calibrate --engines " + std::to_string(engines)
                       : "driftless calibrate";
}

}  // namespace

std::string default_calibration_path(const EngineSetup& engines) {
    std::string name = "/driftless/calibration";
    name += engines.realtime ? "-realtime" : "";
    name += engines.engines > 1 ? "-engines-" + std::to_string(engines.engines) : "";
    name += ".json";
    const auto below = [](const char* variable, const std::string& rest) {
        const char* folder = std::getenv(variable);
        return folder == nullptr || *folder == '\0' ? std::string() : std::string(folder) + rest;
    };
    const std::string state = below("XDG_STATE_HOME", name);
    return state.empty() ? below("HOME", "/.local/state" + name) : state;
}

FoundCalibration find_calibration(const std::string& path, const HostFacts& host,
                                  const EngineSetup& run) {
    std::string from = path.empty() ? default_calibration_path(run) : path;
    std::ifstream file(from, std::ios::binary);
    if (!file && path.empty() && run.realtime) {
        from = default_calibration_path({false, run.engines});
        file.open(from, std::ios::binary);
    }
    if (!file) {
        return {std::nullopt,
                path.empty() ? command_for(run.engines) + " has not run on this host"
                             : from + " cannot be opened",
                true};
    }
    std::error_code failed;
    if (std::filesystem::is_directory(from, failed)) {
        return {std::nullopt, from + " is a folder, not a calibration file", true};
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    JsonDocument document;
    Result<Calibration> read = read_calibration(document, text);
    if (!read) {
        return {std::nullopt,
                from + " is not a calibration file: cannot " + read.error().doing + ": " +
                    reason_of(read.error()),
                true};
    }
    const std::string why = why_not_of(read.value(), host, run);
    if (!why.empty()) {
        return {std::nullopt, why + "; run " + command_for(run.engines) + " again", false};
    }
    return {std::move(read).value(), "", false};
}

}  // namespace driftless
