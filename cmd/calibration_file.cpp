#include "cmd/calibration_file.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace driftless {

std::string default_calibration_path(bool realtime) {
    const std::string name =
        realtime ? "/driftless/calibration-realtime.json" : "/driftless/calibration.json";
    const auto below = [](const char* variable, const std::string& rest) {
        const char* folder = std::getenv(variable);
        return folder == nullptr || *folder == '\0' ? std::string() : std::string(folder) + rest;
    };
    const std::string state = below("XDG_STATE_HOME", name);
    return state.empty() ? below("HOME", "/.local/state" + name) : state;
}

FoundCalibration find_calibration(const std::string& path, const HostFacts& host, bool realtime) {
    std::string from = path.empty() ? default_calibration_path(realtime) : path;
    std::ifstream file(from, std::ios::binary);
    if (!file && path.empty() && realtime) {
        from = default_calibration_path(false);
        file.open(from, std::ios::binary);
    }
    if (!file) {
        return {std::nullopt,
                path.empty() ? "driftless calibrate has not run on this host"
                             : from + " cannot be opened",
                true};
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
    const std::string why = why_not_of(read.value(), host, realtime);
    if (!why.empty()) {
        return {std::nullopt, why + "; run driftless calibrate again", false};
    }
    return {std::move(read).value(), "", false};
}

}  // namespace driftless
