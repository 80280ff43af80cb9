#include "cmd/replay/credentials.hpp"

#include <sys/prctl.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/secrets.hpp"

namespace driftless {

namespace {

constexpr std::string_view bearer = "Bearer ";

/// The value with its variable in place; `why` says what is wrong with the variable.
std::string taken(const std::string& value, std::string& why) {
    const bool has_scheme = value.starts_with(bearer);
    const std::string name(
        environment_name(std::string_view(value).substr(has_scheme ? bearer.size() : 0)));
    if (name.empty()) {
        return value;
    }
    const char* variable = std::getenv(name.c_str());
    if (variable == nullptr || *variable == '\0') {
        why = "env:" + name + ": there is no such variable, or it is empty";
        return value;
    }
    const Result<Header> checked = parse_header(std::string("X: ") + variable);
    if (!checked) {
        why = "env:" + name + ": the variable holds a control byte";
        return value;
    }
    return std::string(has_scheme ? bearer : "") + checked.value().value;
}

/// Overwrites every place of `secret` in an argument.
void wipe(char* argument, const std::string& secret) {
    for (char* at = std::strstr(argument, secret.c_str()); at != nullptr;
         at = std::strstr(at, secret.c_str())) {
        std::memset(at, '*', secret.size());
        at += secret.size();
    }
}

}  // namespace

std::string take_from_environment(ReplayOptions& options) {
    std::string why;
    for (Header& header : options.headers) {
        header.value = taken(header.value, why);
    }
    if (why.empty()) {
        options.api_key = taken(options.api_key, why);
    }
    return why;
}

void hide_secrets(const ReplayOptions& options, int argc, char** argv) {
    std::vector<std::string> secrets;
    for (const Header& header : options.headers) {
        if (is_secret_header(header.name) && !header.value.empty()) {
            const std::string_view value = header.value;
            secrets.emplace_back(value.starts_with(bearer) ? value.substr(bearer.size()) : value);
        }
    }
    if (secrets.empty()) {
        return;
    }
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 1; i < argc; ++i) {
        // Only flags that carry credentials: a short key may be part of other words.
        const bool carries = std::strncmp(argv[i], "--api-key", 9) == 0 ||
                             std::strncmp(argv[i], "--header", 8) == 0 ||
                             std::strcmp(argv[i - 1], "--api-key") == 0 ||
                             std::strcmp(argv[i - 1], "--header") == 0;
        for (const std::string& secret : secrets) {
            if (carries && !secret.empty()) {
                wipe(argv[i], secret);
            }
        }
    }
}

}  // namespace driftless
