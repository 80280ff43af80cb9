#include "cmd/compare/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace driftless {

namespace {

/// The server and its model, the work (same_work.cpp compares it), files, and the client's host.
constexpr std::array<std::string_view, 36> not_settings{
    "--url",        "--against", "--model",     "--api",         "--api-key",     "--seed",
    "--cache-salt", "--speed",   "--start",     "--end",         "--duration",    "--limit",
    "--spread",     "--rate",    "--arrivals",  "--sessions",    "--users",       "--for",
    "--output",     "--prompt",  "--tokenizer", "--dataset",     "--overhead",    "--format",
    "--label",      "--out",     "--report",    "--output-path", "--calibration", "--cpu",
    "--writer-cpu", "--wait",    "--fail-if",   "--goodput",     "--from",        "--listen"};

bool is_setting(const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return argument.starts_with("--") &&
           std::find(not_settings.begin(), not_settings.end(), name) == not_settings.end();
}

std::string only_in(const std::vector<std::string>& here, const std::vector<std::string>& there) {
    std::string text;
    for (const std::string& one : here) {
        if (is_setting(one) && std::find(there.begin(), there.end(), one) == there.end()) {
            text += (text.empty() ? "" : " ") + one;
        }
    }
    return text;
}

}  // namespace

std::pair<std::string, std::string> differing_settings(const std::vector<std::string>& a,
                                                       const std::vector<std::string>& b) {
    return {only_in(a, b), only_in(b, a)};
}

}  // namespace driftless
