#include "cmd/calibration_file.hpp"

#include <cstdlib>
#include <filesystem>

#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

/// What makes the figures.
std::string command_for(std::uint32_t engines) {
    return engines > 1 ? "driftless calibrate --engines " + std::to_string(engines)
                       : "driftless calibrate";
}

/// Of a file of this user's state.
std::string state_path(const std::string& begin, const EngineSetup& engines) {
    std::string name = "/driftless/" + begin;
    name += engines.realtime ? "-realtime" : "";
    name += engines.engines > 1 ? "-engines-" + std::to_string(engines.engines) : "";
    name += ".json";
    const auto below = [](const char* variable, const std::string& rest) {
        const char* folder = std::getenv(variable);
        const bool is_whole = folder != nullptr && *folder == '/';  // else it is no place of a user
        return is_whole ? std::string(folder) + rest : std::string();
    };
    const std::string state = below("XDG_STATE_HOME", name);
    return state.empty() ? below("HOME", "/.local/state" + name) : state;
}

}  // namespace

std::string default_calibration_path(const EngineSetup& engines) {
    return state_path("calibration", engines);
}

std::string kept_calibration_path(const EngineSetup& engines, const std::string& placed) {
    return state_path("measured-" + placed, engines);
}

Result<void> save_calibration(const Calibration& calibration, const std::string& path) {
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) {
        (void)std::filesystem::create_directories(folder, failed);
    }
    return failed ? Error{ErrorCode::io_failed, failed.value(), "make its folder"}
                  : write_whole_file(path, to_json(calibration), Lasting::written);
}

FoundCalibration find_calibration(const std::string& path, const HostFacts& host,
                                  const EngineSetup& run) {
    std::string from = path.empty() ? default_calibration_path(run) : path;
    Result<std::string> text = read_regular_file(from);
    if (!text && path.empty() && run.realtime) {
        from = default_calibration_path({false, run.engines});
        text = read_regular_file(from);
    }
    if (!text && path.empty() && text.error().code == ErrorCode::not_found) {
        return {std::nullopt, command_for(run.engines) + " has not run on this host", true};
    }
    if (!text) {
        return {std::nullopt, from + " " + why_unreadable(text.error()), true};
    }
    JsonDocument document;
    Result<Calibration> read = read_calibration(document, text.value());
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
