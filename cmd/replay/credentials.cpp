#include "cmd/replay/credentials.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/environment.hpp"
#include "cmd/secrets.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr std::string_view bearer = "Bearer ";

/// Where a value is `env:NAME`, with or without "Bearer" before it: NAME; else empty.
std::string variable_of(std::string_view value) {
    return std::string(
        environment_name(value.substr(value.starts_with(bearer) ? bearer.size() : 0)));
}

/// The value with its variable in place; `why` says what is wrong with the variable.
std::string taken(const std::string& value, std::string& why) {
    const bool has_scheme = value.starts_with(bearer);
    const std::string name = variable_of(value);
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

/// `OPENAI_API_KEY=sk-1` before a pasted command: nothing here uses it. False: there is none.
bool wipe_assigned(int argc, char** argv) {
    bool found = false;
    for (int i = 1; i < argc; ++i) {
        const std::size_t at = assigned_secret_at(argv[i]);
        if (at > 0) {
            std::memset(argv[i] + at, '*', std::strlen(argv[i] + at));
            found = true;
        }
    }
    return found;
}

}  // namespace

std::string take_from_environment(ReplayOptions& options) {
    std::string why;
    std::vector<std::string> variables;
    for (Header& header : options.request.headers) {
        const std::string variable = variable_of(header.value);
        header.value = taken(header.value, why);
        if (!variable.empty()) {
            variables.push_back(variable);
            options.request.secret_headers.push_back(header);
        }
    }
    if (why.empty()) {
        variables.push_back(variable_of(options.request.api_key));
        options.request.api_key = taken(options.request.api_key, why);
    }
    for (const std::string& variable : variables) {  // several headers may have had one
        wipe_variable(variable);
    }
    return why;
}

std::vector<Header> credentials_of(const ReplayOptions& options) {
    std::vector<Header> credentials;
    const auto add = [&credentials](const std::string& name, std::string_view value) {
        if (is_secret_name(name) && !value.empty()) {
            credentials.push_back({name, std::string(value)});
        }
    };
    for (const Header& header : options.request.headers) {
        add(header.name, header.value);
    }
    for (const Header& header : options.request.secret_headers) {
        credentials.push_back(header);
    }
    for (const ReplayTarget& target : options.server.targets) {
        for (const Header& parameter : secret_parameters(target.api_path)) {
            credentials.push_back(parameter);
        }
    }
    for (const FieldTemplate& field : options.request.row_headers) {
        for (const TemplatePiece& piece : field.pieces) {
            add(field.name, piece.placeholder == Placeholder::none ? trim_blanks(piece.text) : "");
        }
    }
    for (const SecretMember& member : secret_members(options.request.extra_body)) {
        add(member.name, member.value);
        add(member.name, std::string_view(member.raw).substr(1, member.raw.size() - 2));
    }
    return credentials;
}

std::string whole_url(const ReplayTarget& target) {
    Url server = target.url;
    server.path.clear();  // the path of the API begins with it
    return to_text(server) + target.api_path;
}

std::string shown_url(const ReplayTarget& target) {
    return mask_url(whole_url(target));
}

void hide_secrets(const ReplayOptions& options, int argc, char** argv) {
    constexpr std::array<std::string_view, 7> carriers{
        "--api-key", "--header", "--extra-body", "--url", "--endpoint", "--base-url", "--backend"};
    const std::vector<Header> credentials = credentials_of(options);
    const bool assigned = wipe_assigned(argc, argv);
    if (!assigned && credentials.empty() && options.server.tls.key_file.empty()) {
        return;
    }
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 1; i < argc; ++i) {
        // Only flags that carry credentials: a short key may be part of other words.
        const bool carries =
            std::any_of(carriers.begin(), carriers.end(), [&](std::string_view flag) {
                return std::string_view(argv[i]).starts_with(flag) || argv[i - 1] == flag;
            });
        for (const Header& credential : credentials) {
            const std::string& value = credential.value;
            const bool has_scheme = value.starts_with(bearer) && value.size() > bearer.size();
            if (carries) {
                wipe(argv[i], has_scheme ? value.substr(bearer.size()) : value);
            }
        }
    }
}

}  // namespace driftless
