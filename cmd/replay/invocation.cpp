#include "cmd/replay/invocation.hpp"

#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>

#include "cmd/replay/resume/recall.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

std::string draw_run_id() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    const auto seed = static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec);
    char text[16];
    std::snprintf(text, sizeof(text), "%08x", static_cast<unsigned>(mix64(seed)));
    return text;
}

/// `--cache-salt random`: a salt that no other run has. It is recorded, and printed once it is
/// known that prompts have it, so that the run can be repeated with it.
std::string salt_of(const std::string& typed) {
    if (typed != "random") {
        return typed;
    }
    std::random_device source;
    const std::uint64_t high = source();
    char text[32];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(high << 32 | source()));
    return text;
}

std::string current_folder() {
    char folder[PATH_MAX];
    return ::getcwd(folder, sizeof(folder)) != nullptr ? folder : ".";
}

/// What `--resume` and `--from` of a later run need. A salt that was drawn is kept as it fell.
std::vector<std::string> kept_arguments(const std::vector<std::string>& given,
                                        const std::string& folder, const std::string& salt) {
    std::vector<std::string> kept = arguments_to_keep(given, folder);
    for (std::string& argument : kept) {
        if (argument.starts_with("--cache-salt=")) {
            argument = "--cache-salt=" + salt;
        }
    }
    return kept;
}

}  // namespace

Invocation make_invocation(ReplayCommandLine line, Credentials credentials,
                           std::vector<std::string> command) {
    const std::string salt = salt_of(line.options.prompts.cache_salt);
    const std::string folder = current_folder();
    const std::string records_path = absolute_path(line.options.results.records_path, folder);
    return {std::move(line.options),
            std::move(credentials),
            draw_run_id(),
            salt,
            std::move(command),
            kept_arguments(line.arguments, folder, salt),
            records_path};
}

}  // namespace driftless
