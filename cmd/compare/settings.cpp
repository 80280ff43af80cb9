#include "cmd/compare/settings.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

namespace driftless {

namespace {

/// The server and its model, the work (same_work.cpp compares it), files, the client's host, and
/// how it was dealt to several.
constexpr std::array<std::string_view, 41> not_settings{
    "--url",        "--against",  "--model",     "--api",          "--api-key",        "--seed",
    "--cache-salt", "--speed",    "--start",     "--end",          "--duration",       "--limit",
    "--spread",     "--rate",     "--arrivals",  "--sessions",     "--users",          "--for",
    "--output",     "--prompt",   "--tokenizer", "--dataset",      "--overhead",       "--format",
    "--label",      "--out",      "--report",    "--output-path",  "--calibration",    "--cpu",
    "--writer-cpu", "--wait",     "--fail-if",   "--goodput",      "--from",           "--listen",
    "--shard",      "--start-at", "--meet",      "--meet-timeout", "--clock-error-max"};

/// How the client watches, and how it uses its host: shards may differ in it.
constexpr std::array<std::string_view, 23> watching{
    "--metrics",        "--metrics-period",  "--metrics-table", "--event",
    "--events",         "--event-timeout",   "--period",        "--save-responses",
    "--save-prompts",   "--rules",           "--stamps",        "--require-certified",
    "--verify-prompts", "--wait-ready",      "--no-progress",   "--quiet",
    "--table",          "--realtime",        "--chunks",        "--engines",
    "--warm-send",      "--receive-buffers", "--scheduling"};

bool is_among(std::span<const std::string_view> names, const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_setting(const std::string& argument) {
    return argument.starts_with("--") && !is_among(not_settings, argument);
}

bool is_sending(const std::string& argument) {
    return is_setting(argument) && !is_among(watching, argument);
}

std::string only_in(const std::vector<std::string>& here, const std::vector<std::string>& there,
                    bool (*counts)(const std::string&)) {
    std::string text;
    for (const std::string& one : here) {
        if (counts(one) && std::find(there.begin(), there.end(), one) == there.end()) {
            text += (text.empty() ? "" : " ") + one;
        }
    }
    return text;
}

}  // namespace

std::pair<std::string, std::string> differing_settings(const std::vector<std::string>& a,
                                                       const std::vector<std::string>& b) {
    return {only_in(a, b, is_setting), only_in(b, a, is_setting)};
}

std::pair<std::string, std::string> differing_sending(const std::vector<std::string>& a,
                                                      const std::vector<std::string>& b) {
    return {only_in(a, b, is_sending), only_in(b, a, is_sending)};
}

std::vector<std::string> sending_settings(const std::vector<std::string>& arguments) {
    std::vector<std::string> settings;
    std::copy_if(arguments.begin(), arguments.end(), std::back_inserter(settings), is_sending);
    std::sort(settings.begin(), settings.end());
    return settings;
}

}  // namespace driftless
