#include "cmd/flags/settings.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/synth_values.hpp"
#include "proto/core/text.hpp"
#include "proto/http/request.hpp"

namespace driftless {

namespace {

constexpr std::string_view socket_scheme = "unix:";

/// What a flag is, beside what the parser knows of it.
enum FlagTrait : unsigned {
    of_one_run = 1,     ///< holds for one run alone: never kept
    takes_path = 2,     ///< its value is a path, "none" or "auto"
    may_be_socket = 4,  ///< its value may be `unix:PATH`
    names_server = 8,   ///< says, with its like, where the server is
    resumable = 16,     ///< may be given with `--resume`
    not_setting = 32,   ///< compared elsewhere (compare_runs.cpp: server, model, work), or of no
                        ///< meaning for a comparison (files, the client's host, shards)
    watching = 64,      ///< how the client watches and uses its host: shards may differ in it
    of_sweep = 128,     ///< a sweep gives it to its cells, or none may have it
    of_again = 256,     ///< takes up the flags of a run or a file, or belongs to one that does
    of_its_end = 512,   ///< of files that it writes at its end: kept for `--resume` alone
};

struct FlagRow {
    std::string_view name;
    unsigned traits;
    const char* not_in_probe = nullptr;  ///< why it is no flag of a probe of `find`
};

/// A row for each flag of replay that is not as usual: one without a row is kept, compared, and not
/// given with `--resume`.
constexpr FlagRow flag_rows[] = {
    {"--against", may_be_socket | resumable | not_setting},
    {"--api", not_setting},
    {"--api-key", resumable | not_setting},
    {"--arrivals", not_setting},
    {"--ca", takes_path},
    {"--cache-salt", not_setting},
    {"--calibration", takes_path | not_setting},
    {"--cert", takes_path},
    {"--chunks", watching},
    {"--clock-error-max", not_setting},
    {"--config", of_one_run | of_again | not_setting | of_sweep, ": put its keys behind --"},
    {"--connect-to", may_be_socket | resumable},
    {"--cpu", resumable | not_setting},
    {"--dataset", takes_path | not_setting},
    {"--driver", resumable | not_setting},
    {"--dry-run", of_one_run | of_sweep, ": a probe must send requests"},
    {"--duration", not_setting},
    {"--end", not_setting},
    {"--endpoint", resumable},
    {"--engines", watching},
    {"--event", watching},
    {"--event-timeout", watching},
    {"--events", takes_path | watching},
    {"--fail-if", not_setting, "; use --slo"},
    {"--for", not_setting},
    {"--force", of_its_end | resumable | not_setting},
    {"--format", not_setting},
    {"--from", of_one_run | of_again | not_setting | of_sweep, ": each probe is a new run"},
    {"--goodput", not_setting},
    {"--grace", resumable},
    {"--grow", 0, ": it changes the load within a run"},
    {"--header", resumable},
    {"--help", of_sweep},
    {"--host", names_server | resumable},
    {"--junit", of_its_end | takes_path | resumable | not_setting | of_sweep, ": there are many"},
    {"--key", takes_path},
    {"--label", not_setting},
    {"--limit", not_setting},
    {"--listen", resumable | not_setting},
    {"--markdown", of_its_end | takes_path | resumable | not_setting | of_sweep,
     ": there are many"},
    {"--meet", of_one_run | not_setting},
    {"--meet-timeout", of_one_run | not_setting},
    {"--metrics", may_be_socket | resumable | watching},
    {"--metrics-period", resumable | watching},
    {"--metrics-table", takes_path | watching},
    {"--model", not_setting},
    {"--no-progress", of_one_run | resumable | watching},
    {"--out", of_one_run | not_setting | of_sweep, "; give it before --"},
    {"--output", not_setting},
    {"--output-path", of_one_run | not_setting | of_sweep, "; records are in the probes' folders"},
    {"--overhead", not_setting},
    {"--period", watching},
    {"--port", names_server | resumable},
    {"--prompt", not_setting},
    {"--quiet", of_one_run | resumable | watching | of_sweep},
    {"--ramp", not_setting},
    {"--rate", not_setting},
    {"--realtime", resumable | watching},
    {"--receive-buffers", watching},
    {"--report", of_one_run | resumable | not_setting},
    {"--require-certified", resumable | watching},
    {"--require-rules", resumable},
    {"--resend", of_one_run | of_again | resumable | of_sweep},
    {"--resume", of_one_run | of_again | resumable | of_sweep, ": each probe is a new run"},
    {"--rules", watching},
    {"--save-prompts", of_one_run | watching | of_sweep},
    {"--save-responses", watching},
    {"--scheduling", resumable | watching},
    {"--seed", not_setting, "; give it before --"},
    {"--sessions", not_setting},
    {"--shape", takes_path | not_setting},
    {"--shard", not_setting},
    {"--speed", not_setting},
    {"--spread", not_setting},
    {"--stamps", watching},
    {"--start", not_setting},
    {"--start-at", of_one_run | not_setting},
    {"--table", of_one_run | resumable | watching},
    {"--template", takes_path},
    {"--tokenizer", takes_path | not_setting},
    {"--url", names_server | resumable | not_setting},
    {"--users", not_setting},
    {"--verify-prompts", watching},
    {"--wait", resumable | not_setting},
    {"--wait-ready", resumable | watching},
    {"--warm-send", watching},
    {"--writer-cpu", resumable | not_setting},
};

/// What holds for the flag.
FlagRow row_of(std::string_view name) {
    const FlagRow* const found =
        std::find_if(std::begin(flag_rows), std::end(flag_rows),
                     [name](const FlagRow& row) { return row.name == name; });
    return found == std::end(flag_rows) ? FlagRow{name, 0} : *found;
}

bool has_trait(std::string_view name, FlagTrait trait) {
    return (row_of(name).traits & trait) != 0;
}

template <typename List>
bool holds(const List& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/// "" for TRACE.
std::string_view flag_of(std::string_view argument) {
    return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : "";
}
std::string_view value_of(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    return equals == argument.npos ? "" : argument.substr(equals + 1);
}
std::string_view header_name(std::string_view argument) {
    const std::string_view value = value_of(argument);
    return trim_blanks(value.substr(0, value.find_first_of(":=")));
}

bool is_server(std::string_view argument) {
    return has_trait(flag_of(argument), names_server) ||
           (flag_of(argument) == "--endpoint" && looks_like_url(value_of(argument)));
}

/// `unix:PATH` below `folder` where the path is relative; abstract sockets are in no folder.
std::string absolute_socket(const std::string& value, const std::string& folder) {
    const std::string path = value.substr(socket_scheme.size());
    return std::string(socket_scheme) +
           (path.starts_with('@') ? path : absolute_path(path, folder));
}

/// A list of sets; those that are files are found from anywhere.
std::string absolute_rules(const std::string& list, const std::string& folder) {
    std::string all;
    for (const std::string& part : parts_of(list)) {
        all += (all.empty() ? "" : ",") + (is_rule_file(part) ? absolute_path(part, folder) : part);
    }
    return all;
}

/// Whether a kept argument has a mask where it had a key: another text there would be masked.
bool is_masked(std::string_view argument) {
    std::string value(value_of(argument));
    for (std::size_t at = value.find(mask_text); at != value.npos; at = value.find(mask_text)) {
        value.replace(at, mask_text.size(), "x");
    }
    return value != value_of(argument) && mask_value(flag_of(argument), value) != value;
}

/// What must be given again in the place of a masked argument, as a clause.
std::string ask_again(std::string_view argument) {
    const std::string_view name = flag_of(argument);
    if (name == "--api-key") {
        return "--api-key, which is never recorded; give it again, or set OPENAI_API_KEY";
    }
    if (name != "--header") {
        return "a key in " + std::string(name) + ", which is never recorded; give all of " +
               std::string(name) + " again";
    }
    return "--header " + std::string(header_name(argument)) +
           ", whose value is never recorded; give it again";
}

bool replaces(std::string_view given, std::string_view kept) {
    if (flag_of(given) == "--header" && flag_of(kept) == "--header") {
        return equal_ignoring_case(header_name(given), header_name(kept));
    }
    const bool is_other_half = (flag_of(given) == "--port" && flag_of(kept) == "--host") ||
                               (flag_of(given) == "--host" && flag_of(kept) == "--port");
    const bool leads_elsewhere =
        !is_other_half && (is_server(kept) || flag_of(kept) == "--connect-to");
    return flag_of(given) == flag_of(kept) || (is_server(given) && leads_elsewhere);
}

}  // namespace

std::vector<std::string_view> named_flags() {
    std::vector<std::string_view> names;
    for (const FlagRow& row : flag_rows) {
        names.push_back(row.name);
    }
    return names;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
    const bool is_made = path.starts_with(made_scheme);
    return path.empty() || path.front() == '/' || is_made ? path : folder + "/" + path;
}

std::vector<std::string> arguments_to_keep(const std::vector<std::string>& arguments,
                                           const std::string& folder) {
    std::vector<std::string> kept;
    for (const std::string& argument : arguments) {
        const std::string name(flag_of(argument));
        const std::string value(value_of(argument));
        if (has_trait(name, of_one_run)) {
            continue;
        }
        if (name.empty()) {
            kept.push_back(argument == "-" ? argument : absolute_path(argument, folder));
        } else if (name == "--rules") {
            kept.push_back(name + "=" + absolute_rules(value, folder));
        } else if (has_trait(name, takes_path) && value != "none" && value != "auto") {
            kept.push_back(name + "=" + absolute_path(value, folder));
        } else if ((is_server(argument) || has_trait(name, may_be_socket)) &&
                   equal_ignoring_case(value.substr(0, socket_scheme.size()), socket_scheme)) {
            kept.push_back(name + "=" + absolute_socket(value, folder));
        } else {
            kept.push_back(value.empty() ? argument : name + "=" + mask_value(name, value));
        }
    }
    return kept;
}

std::vector<std::string> arguments_to_repeat(std::vector<std::string> kept) {
    std::erase_if(kept, [](const auto& one) { return has_trait(flag_of(one), of_its_end); });
    return kept;
}

Recalled recall(const std::vector<std::string>& kept, const std::vector<std::string>& given,
                bool key_in_environment) {
    Recalled recalled;
    for (const std::string& argument : kept) {
        const bool replaced = std::any_of(given.begin(), given.end(), [&](const std::string& one) {
            return replaces(one, argument);
        });
        const std::string_view name = flag_of(argument);
        const bool masked = is_masked(argument);
        if (replaced || (masked && name == "--api-key" && key_in_environment)) {
            continue;
        }
        if (masked) {
            recalled.refused = "the run used " + ask_again(argument);
            return recalled;
        }
        if (argument == "-") {
            recalled.refused =
                "the run read its trace from standard input; save the trace to a file and name "
                "that";
            return recalled;
        }
        recalled.arguments.push_back(argument);
    }
    for (const std::string& argument : given) {
        if (!takes_up_flags(flag_of(argument))) {
            recalled.arguments.push_back(argument);
        }
    }
    return recalled;
}

bool takes_up_flags(std::string_view name) {
    return has_trait(name, of_again);
}

std::string flag_not_to_resume_with(const std::vector<std::string>& given,
                                    const std::vector<std::string>& kept) {
    const auto changes = [&kept](const std::string& argument) {
        const std::string name(flag_of(argument));
        const std::string masked = name + "=" + mask_value(name, value_of(argument));
        const bool is_asked_for = is_masked(masked) && holds(kept, masked);
        return !name.empty() && !has_trait(name, resumable) && !is_asked_for;
    };
    const auto found = std::find_if(given.begin(), given.end(), changes);
    return found == given.end() ? "" : std::string(flag_of(*found));
}

bool is_flag_of_sweep(std::string_view name) {
    return has_trait("--" + std::string(name), of_sweep);
}

std::string why_not_in_probe(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
        const FlagRow row = row_of(flag_of(argument));
        if (row.not_in_probe != nullptr) {
            return std::string(row.name) + " after -- cannot be used in a probe" + row.not_in_probe;
        }
    }
    return "";
}

namespace {

bool is_setting(const std::string& argument) {
    return argument.starts_with("--") && !has_trait(flag_of(argument), not_setting);
}

bool is_sending(const std::string& argument) {
    return is_setting(argument) && !has_trait(flag_of(argument), watching);
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
