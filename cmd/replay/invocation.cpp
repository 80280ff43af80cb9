#include "cmd/replay/invocation.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/flags/settings.hpp"
#include "cmd/replay/replay.hpp"
#include "engine/machines/meet.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::string_view bearer = "Bearer ";
// A shorter key may be a word of other flags, too.
static constexpr std::size_t repeated_bytes_min = 12;

/// Where a value is `env:NAME`, with or without "Bearer" before it: NAME; else empty.
static std::string variable_of(std::string_view value) {
    return std::string(
        environment_name(value.substr(value.starts_with(bearer) ? bearer.size() : 0)));
}

/// The value with its variable in place; `why` says what is wrong with the variable.
static std::string taken(const std::string& value, std::string& why) {
    const bool has_scheme = value.starts_with(bearer);
    const std::string name = variable_of(value);
    if (name.empty()) {
        return value;
    }
    const char* variable = std::getenv(name.c_str());
    if (variable == nullptr || *variable == '\0') {
        // The key itself may have been typed there.
        const bool is_usual =
            lower(name) != name && mask_any(name) == name &&
            std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
        why = "env:" + std::string(is_usual ? name : mask_text) +
              ": the environment variable is unset or empty; set it";
        return value;
    }
    const Result<Header> checked = parse_header(std::string("X: ") + variable);
    if (!checked) {
        why = "env:" + name + ": the variable has a control byte; remove it";
        return value;
    }
    return std::string(has_scheme ? bearer : "") + checked.value().value;
}

/// Overwrites every place of `secret` in an argument.
static void wipe(char* argument, const std::string& secret) {
    for (char* at = std::strstr(argument, secret.c_str()); at != nullptr;
         at = std::strstr(at, secret.c_str())) {
        std::memset(at, '*', secret.size());
        at += secret.size();
    }
}

/// `OPENAI_API_KEY=sk-1` before a pasted command: nothing here uses it. False: there is none.
static bool wipe_assigned(int argc, char** argv) {
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

static std::vector<Header> all_credentials(const RequestFlags& request,
                                           const std::vector<ReplayTarget>& targets,
                                           const std::vector<Header>& headers,
                                           const std::vector<Header>& from_environment) {
    std::vector<Header> credentials;
    const auto add = [&credentials](const std::string& name, std::string_view value) {
        if (is_secret_name(name) && !value.empty()) {
            credentials.push_back({name, std::string(value)});
            return;
        }
        for (SecretPart& part : secrets_in_text(value)) {
            credentials.push_back({name, std::move(part.value)});
        }
    };
    for (const Header& header : headers) {
        add(header.name, header.value);
    }
    credentials.insert(credentials.end(), from_environment.begin(), from_environment.end());
    for (const ReplayTarget& target : targets) {
        for (const Header& parameter : secret_parameters(target.api_path)) {
            credentials.push_back(parameter);
        }
    }
    for (const FieldTemplate& field : request.row_headers) {
        for (const TemplatePiece& piece : field.pieces) {
            add(field.name, piece.placeholder == Placeholder::none ? trim_blanks(piece.text) : "");
        }
    }
    for (const SecretMember& member : secret_members(request.extra_body)) {
        credentials.push_back({member.name, member.value});
        credentials.push_back({member.name, member.raw.substr(1, member.raw.size() - 2)});
    }
    return credentials;
}

OrExit<Credentials> take_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets) {
    OrExit<Credentials> credentials = read_credentials(request, targets);
    for (const Header& typed : request.headers) {
        if (const std::string variable = variable_of(typed.value); !variable.empty()) {
            wipe_variable(variable);
        }
    }
    return credentials;
}

OrExit<Credentials> read_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets) {
    std::string why;
    std::vector<Header> headers;
    std::vector<Header> from_environment;
    for (const Header& typed : request.headers) {
        headers.push_back({typed.name, taken(typed.value, why)});
        if (!variable_of(typed.value).empty()) {
            from_environment.push_back(headers.back());
        }
    }
    if (!why.empty()) {
        return refuse(exit_usage, "driftless: %s", why.c_str());
    }
    std::vector<Header> all = all_credentials(request, targets, headers, from_environment);
    return Credentials{std::move(headers), std::move(all)};
}

/// Keys have eight bytes or more, and digits or capitals among them. Words are none, nor are paths,
/// as of PWD.
static bool may_be_key(const std::string& value) {
    std::error_code none;
    return value.size() >= 8 && value.find_first_of(" \t\n") == value.npos &&
           value.find_first_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != value.npos &&
           !(value.starts_with('/') && std::filesystem::exists(value, none));
}

std::vector<Header> secrets_of_environment(const std::vector<std::string>& environment) {
    std::vector<Header> secrets;
    for (const std::string& entry : environment) {
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const std::string name = entry.substr(0, equals);
        const std::string value = entry.substr(std::min(equals + 1, entry.size()));
        if (is_secret_name(name) && may_be_key(value)) {
            secrets.push_back({name, value});
        }
        for (const SecretPart& part : secrets_in_text(value)) {  // http://user:word@host
            secrets.push_back({name, part.value});
        }
    }
    return secrets;
}

bool repeats_secret(const std::vector<std::string>& masked_command,
                    const Credentials& credentials) {
    std::vector<Header> all = credentials.all;
    std::ranges::move(secrets_of_environment(own_environment()), std::back_inserter(all));
    const std::vector<std::string> secrets = secrets_of(all);
    std::string flag = "the trace";
    for (const std::string& argument : masked_command) {
        if (argument.starts_with("--")) {
            flag = argument.substr(0, argument.find('='));
        }
        for (const std::string& secret : secrets) {
            if (secret.size() >= repeated_bytes_min && argument.find(secret) != argument.npos) {
                complain(
                    "driftless: %s contains a key of this run and would be recorded; remove the "
                    "key, give a header as NAME: env:VARIABLE, or name it in a command as "
                    "'$VARIABLE', in single quotes: these are never recorded",
                    flag.c_str());
                return true;
            }
        }
    }
    return false;
}

std::string whole_url(const ReplayTarget& target) {
    Url server = target.url;
    server.path.clear();  // the path of the API begins with it
    return to_text(server) + target.api_path;
}

std::string shown_url(const ReplayTarget& target) {
    return mask_url(whole_url(target));
}

void hide_secrets(const Credentials& credentials, const TlsClientOptions& tls, int argc,
                  char** argv) {
    const bool assigned = wipe_assigned(argc, argv);
    if (!assigned && credentials.all.empty() && tls.key_file.empty()) {
        return;
    }
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 1; i < argc; ++i) {
        // Only flags that carry credentials: a short key may be part of other words.
        const std::string_view argument = argv[i];
        const std::string_view before = argv[i - 1];
        const bool carries =
            (argument.starts_with('-') && mask_of(argument.substr(0, argument.find('=')))) ||
            (before.starts_with('-') && mask_of(before));
        for (const Header& credential : credentials.all) {
            const std::string& value = credential.value;
            const bool has_scheme = value.starts_with(bearer) && value.size() > bearer.size();
            if (carries) {
                wipe(argv[i], has_scheme ? value.substr(bearer.size()) : value);
            }
        }
    }
}

static std::string draw_run_id() {
    const auto seed = static_cast<std::uint64_t>(realtime_clock().now());
    return hex_text(mix64(seed)).substr(8);
}

/// `--cache-salt random`: a salt that no other run has. It is recorded, and printed once it is
/// known that prompts have it, so that the run can be repeated with it.
static std::string salt_of(const std::string& typed) {
    if (typed != "random") {
        return typed;
    }
    std::random_device source;
    const std::uint64_t high = source();
    return hex_text(high << 32 | source());
}

static std::string current_folder() {
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::current_path(none);
    return folder.empty() ? "." : folder.string();
}

/// What `--resume` and `--from` of a later run need. A salt that was drawn is kept as it fell.
static std::vector<std::string> kept_arguments(const std::vector<std::string>& given,
                                               const std::string& folder, const std::string& salt) {
    std::vector<std::string> kept = arguments_to_keep(given, folder);
    for (std::string& argument : kept) {
        if (argument.starts_with("--cache-salt=")) {
            argument = "--cache-salt=" + salt;
        }
    }
    return kept;
}

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

/// Where a run will write only after minutes of preparation, it is tried before.
static int try_places(const ResultFlags& results, bool dry_run, Place place) {
    const bool makes_folder = place == Place::free && !(results.out.empty() && dry_run);
    const std::string folder = results.out.empty() ? default_folder("trace") : results.out;
    const Result<void> made = makes_folder ? try_place(folder) : Result<void>{};
    if (!made) {
        return fail_folder(folder, made.error());
    }
    const bool makes_records = !results.records_path.empty() && !dry_run;
    const Result<void> records = makes_records ? try_place(results.records_path) : Result<void>{};
    return records ? exit_done : fail_host(results.records_path.c_str(), records.error());
}

std::string folder_date() {
    return utc_text(realtime_clock().now(), "%Y%m%dT%H%M%SZ");
}

std::string default_folder(const std::string& trace_name) {
    std::string name = printable(trace_name);  // a file's name may hold anything
    std::replace(name.begin(), name.end(), '\\', '_');
    return "runs/" + folder_date() + "-" + name;
}

std::string folder_of(const ReplayOptions& options, const std::string& trace_name) {
    if (!options.results.out.empty()) {
        return options.results.out;
    }
    const ShardPlace& place = options.shard.place;
    return default_folder(trace_name) +
           (place.is_part() ? "-shard-" + std::to_string(place.index) : "");
}

/// Two flags that name one file would be told of only after the run.
static int check_files_apart(const ReplayOptions& options) {
    const ResultFlags& results = options.results;
    const std::pair<const char*, const std::string&> files[] = {
        {"--markdown", results.ci.markdown},
        {"--junit", results.ci.junit},
        {"--output-path", results.records_path},
        {"--save-prompts", options.prompts.save_prompts}};
    const auto place_of = [](const std::string& path) {
        std::error_code none;  // what cannot be reached is told by who makes it
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
    };
    for (std::size_t i = 0; i < std::size(files); ++i) {
        const auto& [flag, path] = files[i];
        const std::filesystem::path place = path.empty() ? "" : place_of(path);
        for (std::size_t j = 0; j < i && !path.empty(); ++j) {
            if (!files[j].second.empty() && place_of(files[j].second) == place) {
                return refuse(exit_usage, "driftless: %s and %s name one file; name two",
                              files[j].first, flag);
            }
        }
        const bool is_in_run =
            !path.empty() && !results.out.empty() && place.parent_path() == place_of(results.out);
        if (is_in_run && is_file_of_run(place.filename().string())) {
            return refuse(exit_usage, "driftless: %s %s: is a file of the run itself; name another",
                          flag, path.c_str());
        }
    }
    return exit_done;
}

static int check_ci_files(const ReplayOptions& options) {
    const CiFiles& ci = options.results.ci;
    for (const auto& [flag, path, begins] : {std::tuple{"--markdown", ci.markdown, markdown_begins},
                                             {"--junit", ci.junit, junit_begins}}) {
        if (path.empty()) {
            continue;
        }
        if (const int code = refuse_existing_file(flag, path, ci.force, begins);
            code != exit_done) {
            return code;
        }
        if (const Result<void> tried = try_place(path); !tried) {
            return fail_host(path.c_str(), tried.error());
        }
    }
    return exit_done;
}

// What a run left that was killed before it wrote run.json may be replaced.
int check_places(Replay& run) {
    int code = check_files_apart(run.options());
    code = code == exit_done && !run.options().dry_run ? check_ci_files(run.options()) : code;
    if (code != exit_done) {
        return code;
    }
    if (run.resumes()) {
        return exit_done;
    }
    const ResultFlags& results = run.options().results;
    const Result<Place> found =
        results.out.empty() ? Result<Place>(Place::free) : place_at(results.out);
    if (!found) {
        return fail_host(("--out " + results.out).c_str(), found.error());
    }
    const Place place = found.value();
    if (place == Place::taken) {
        return refuse(exit_usage,
                      "driftless: --out %s: already exists; name a new folder or remove it",
                      results.out.c_str());
    }
    if (place == Place::leftover) {
        const Result<FolderLock> lock = FolderLock::take(results.out);
        if (!lock && lock.error().code == ErrorCode::exists) {
            return refuse_folder(results.out);
        }
    }
    std::error_code none;
    if (!results.records_path.empty() &&
        std::filesystem::exists(std::filesystem::symlink_status(results.records_path, none))) {
        return refuse(exit_usage,
                      "driftless: --output-path %s: already exists; name a new file or remove it",
                      results.records_path.c_str());
    }
    return try_places(results, run.options().dry_run, place);
}

}  // namespace driftless
