#include "cmd/flags/settings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "cmd/flags/other_tools.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/synth_values.hpp"
#include "proto/core/text.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"

namespace driftless {

static constexpr std::string_view socket_scheme = "unix:";

/// "" for TRACE.
static std::string_view flag_of(std::string_view argument) {
    return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : "";
}
static std::string_view value_of(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    return equals == argument.npos ? "" : argument.substr(equals + 1);
}
static std::string_view header_name(std::string_view argument) {
    const std::string_view value = value_of(argument);
    return trim_blanks(value.substr(0, value.find_first_of(":=")));
}
static std::string_view header_value(std::string_view argument) {
    const std::string_view value = value_of(argument);
    return trim_blanks(value.substr(std::min(value.find_first_of(":="), value.size() - 1) + 1));
}

/// What was declared of the flag of an argument.
static const Flag& flag_in(std::string_view argument, const FlagTable& flags) {
    return flags.named(flag_of(argument));
}
static bool is_server(std::string_view argument, const FlagTable& flags) {
    return flag_in(argument, flags).traits.has(names_server) ||
           (flag_of(argument) == "--endpoint" && looks_like_url(value_of(argument)));
}

/// `unix:PATH` below `folder` where the path is relative; abstract sockets are in no folder.
static std::string absolute_socket(const std::string& value, const std::string& folder) {
    const std::string path = value.substr(socket_scheme.size());
    return std::string(socket_scheme) +
           (path.starts_with('@') ? path : absolute_path(path, folder));
}

/// A list of sets; those that are files are found from anywhere.
static std::string absolute_rules(const std::string& list, const std::string& folder) {
    return joined(parts_of(list), ",", [&folder](const std::string& part) {
        return is_rule_file(part) ? absolute_path(part, folder) : part;
    });
}

/// Whether a kept argument has a mask where it had a key: another text there would be masked.
static bool is_masked(std::string_view argument, const FlagTable& flags) {
    std::string value(value_of(argument));
    for (std::size_t at = value.find(mask_text); at != value.npos; at = value.find(mask_text)) {
        value.replace(at, mask_text.size(), "X0.X0");  // what any rule takes for a key
    }
    return value != value_of(argument) &&
           mask_value(flag_in(argument, flags).traits.mask, value) != value;
}

/// A kept header whose value is not recorded: a masked one, or one from the environment.
static bool lacks_key(std::string_view header, const FlagTable& flags) {
    return is_masked(header, flags) || !environment_name(header_value(header)).empty();
}

/// What must be given again in the place of a masked argument, as a clause.
static std::string ask_again(std::string_view argument) {
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

static bool replaces(std::string_view given, std::string_view kept, const FlagTable& flags) {
    if (flag_of(given) == "--header" && flag_of(kept) == "--header") {
        return equal_ignoring_case(header_name(given), header_name(kept));
    }
    const bool is_other_half = (flag_of(given) == "--port" && flag_of(kept) == "--host") ||
                               (flag_of(given) == "--host" && flag_of(kept) == "--port");
    const bool leads_elsewhere =
        !is_other_half && (is_server(kept, flags) || flag_of(kept) == "--connect-to");
    return flag_of(given) == flag_of(kept) || (is_server(given, flags) && leads_elsewhere);
}

Mask mask_of(std::string_view name, const FlagTable& flags) {
    std::string dashed(name);  // vLLM takes either
    std::ranges::replace(dashed, '_', '-');
    const Flag& flag = flags.named(dashed);
    const Flag& ours = flags.named(our_flag(dashed));
    const bool is_unknown = flag.unit.empty() && ours.unit.empty();
    return flag.traits.mask != nullptr         ? flag.traits.mask
           : name == "--backend" || is_unknown ? mask_any
                                               : ours.traits.mask;
}

std::vector<std::string> mask_command(const std::vector<std::string>& arguments,
                                      const FlagTable& flags) {
    std::vector<std::string> masked;
    std::string_view flag;  // the flag whose value the next argument is
    for (const std::string& argument : arguments) {
        const std::size_t equals = argument.find('=');
        if (argument.starts_with("--") && equals != argument.npos) {
            const Mask mask = mask_of(flag_of(argument), flags);
            masked.push_back(argument.substr(0, equals + 1) + mask_value(mask, value_of(argument)));
            flag = {};
        } else {
            masked.push_back(mask_value(mask_of(flag, flags), argument));
            flag = argument;
        }
    }
    return masked;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
    const bool is_made = path.starts_with(made_scheme);
    return path.empty() || path.front() == '/' || is_made ? path : folder + "/" + path;
}

std::vector<std::string> arguments_to_keep(const std::vector<std::string>& arguments,
                                           const std::string& folder, const FlagTable& flags) {
    std::vector<std::string> kept;
    for (const std::string& argument : arguments) {
        const std::string name(flag_of(argument));
        const std::string value(value_of(argument));
        const Flag& flag = flags.named(name);
        if (flag.traits.has(of_one_run)) {
            continue;
        }
        if (name.empty()) {
            kept.push_back(argument == "-" ? argument : absolute_path(argument, folder));
        } else if (name == "--rules") {
            kept.push_back(name + "=" + absolute_rules(value, folder));
        } else if (flag.takes_file() && value != "none" && value != "auto") {
            kept.push_back(name + "=" + absolute_path(value, folder));
        } else if (flag.traits.mask == mask_url &&
                   equal_ignoring_case(value.substr(0, socket_scheme.size()), socket_scheme)) {
            kept.push_back(name + "=" + absolute_socket(value, folder));
        } else {
            kept.push_back(value.empty() ? argument
                                         : name + "=" + mask_value(flag.traits.mask, value));
        }
    }
    return kept;
}

std::vector<std::string> arguments_to_repeat(std::vector<std::string> kept,
                                             const FlagTable& flags) {
    std::erase_if(kept,
                  [&](const auto& one) { return flag_in(one, flags).traits.has(of_its_end); });
    return kept;
}

/// A JSON value by what it means, however it was typed; depth is bounded by the parser.
static std::string meant_json(JsonValue value) {
    const bool is_object = value.is(JsonType::object);
    if (is_object || value.is(JsonType::array)) {
        std::vector<std::string> parts;
        for (JsonValue one = value.first(); one.present(); one = one.next()) {
            parts.push_back(std::to_string(one.key().size()) + std::string(one.key()) + ":" +
                            meant_json(one));
        }
        if (is_object) {
            std::ranges::sort(parts);
        }
        return (is_object ? "{" : "[") + joined(parts, ",") + "]";
    }
    if (const auto text = value.as_string()) {
        return std::to_string(text->size()) + "\"" + std::string(*text);
    }
    constexpr double exact_max = 9e15;
    const std::optional<double> number = value.as_double();
    return number && std::fabs(*number) < exact_max
               ? std::to_string(std::bit_cast<std::uint64_t>(*number + 0.0))
               : std::string(value.raw());
}
static std::string meant_json(std::string_view text) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    return root ? meant_json(root.value()) : std::string(text);
}

/// Whether two values mean the same to their flag, however they were typed.
static bool means_same(const Flag& flag, std::string_view a, std::string_view b) {
    return a == b || (flag.traits.mask == mask_json && meant_json(a) == meant_json(b)) ||
           (flag.same && flag.same(a, b));
}

static bool is_same_setting(const std::string& a, const std::string& b, const FlagTable& flags) {
    if (flag_of(a) == "--header" && replaces(a, b, flags)) {
        return header_value(a) == header_value(b);
    }
    if (flag_of(a) == "--record-header" && flag_of(b) == flag_of(a)) {
        return equal_ignoring_case(value_of(a), value_of(b));
    }
    return a == b ||
           (flag_of(a) == flag_of(b) && means_same(flag_in(a, flags), value_of(a), value_of(b)));
}

static std::string with_mask(const std::string& argument, const FlagTable& flags) {
    const Flag& flag = flag_in(argument, flags);
    return flag.unit.empty() ? argument
                             : std::string(flag_of(argument)) + "=" +
                                   mask_value(flag.traits.mask, value_of(argument));
}

/// Whether it is a kept argument once more, of a flag that lost a key: with its key, or one of
/// the others.
static bool gives_again(const std::string& given, const std::string& kept,
                        const std::vector<std::string>& all_kept, const FlagTable& flags) {
    return flag_of(given) == flag_of(kept) && !is_masked(given, flags) &&
           is_same_setting(with_mask(given, flags), kept, flags) &&
           std::ranges::any_of(all_kept, [&](const std::string& one) {
               return flag_of(one) == flag_of(kept) && is_masked(one, flags);
           });
}

Recalled recall(const std::vector<std::string>& kept, const std::vector<std::string>& given,
                bool key_in_environment, const FlagTable& flags) {
    Recalled recalled;
    if (const auto copied = std::ranges::find_if(
            given, [&](const std::string& one) { return is_masked(one, flags); });
        copied != given.end()) {
        recalled.refused = "the run used " + ask_again(*copied);
        return recalled;
    }
    std::vector<std::string> others = given;  // what is given again takes the place that it had
    for (const std::string& argument : kept) {
        const auto again = std::ranges::find_if(others, [&](const std::string& one) {
            return gives_again(one, argument, kept, flags);
        });
        if (again != others.end()) {
            recalled.arguments.push_back(*again);
            others.erase(again);
            continue;
        }
        const bool replaced = std::ranges::any_of(given, [&](const std::string& one) {
            return replaces(one, argument, flags) &&
                   std::ranges::none_of(kept, [&](const std::string& same) {
                       return gives_again(one, same, kept, flags);
                   });
        });
        const bool masked = is_masked(argument, flags);
        if (replaced || (masked && flag_of(argument) == "--api-key" && key_in_environment)) {
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
    for (const std::string& argument : others) {
        if (!takes_up_flags(flag_of(argument), flags)) {
            recalled.arguments.push_back(argument);
        }
    }
    return recalled;
}

bool takes_up_flags(std::string_view name, const FlagTable& flags) {
    return flags.named(name).traits.has(of_again);
}

std::string flag_not_to_resume_with(const std::vector<std::string>& given,
                                    const std::vector<std::string>& kept, const FlagTable& flags) {
    const auto changes = [&](const std::string& argument) {
        const std::string name(flag_of(argument));
        const FlagTraits& traits = flags.named(name).traits;
        const bool is_asked_for = std::ranges::any_of(kept, [&](const std::string& one) {
            return gives_again(argument, one, kept, flags) ||
                   (name == "--header" && replaces(argument, one, flags) && lacks_key(one, flags) &&
                    !is_masked(argument, flags));
        });
        return !name.empty() && !traits.has(resumable | of_its_end) && !is_asked_for;
    };
    const auto found = std::find_if(given.begin(), given.end(), changes);
    const bool is_header = found != given.end() && flag_of(*found) == "--header";
    return found == given.end() ? ""
           : is_header          ? "--header " + std::string(header_name(*found))
                                : std::string(flag_of(*found));
}

bool is_flag_of_sweep(std::string_view name, const FlagTable& flags) {
    return flags.named("--" + std::string(name)).traits.has(of_sweep);
}

std::string why_not_in_probe(const std::vector<std::string>& arguments, const FlagTable& flags) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool is_apart = argument == flag_of(argument) && i + 1 < arguments.size();
        const char* const why = flag_in(argument, flags).traits.not_in_probe;
        if (why != nullptr && (is_apart ? arguments[i + 1] : value_of(argument)) != "none") {
            return std::string(flag_of(argument)) + " after -- cannot be used in a probe" + why;
        }
    }
    return "";
}

std::vector<std::string> arguments_of_dry_run(const std::vector<std::string>& arguments,
                                              const FlagTable& flags) {
    std::vector<std::string> dry;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Flag& flag = flag_in(arguments[i], flags);
        if (!flag.traits.has(asks_server)) {
            dry.push_back(arguments[i]);
        } else if (!flag.unit.empty() && arguments[i] == flag_of(arguments[i])) {
            ++i;  // its value
        }
    }
    dry.emplace_back("--dry-run");
    return dry;
}

static bool counts(const std::string& argument, FlagTraits beside, const FlagTable& flags) {
    // A key in a header is one that --api-key could have given.
    const bool is_key = flag_of(argument) == "--header" &&
                        equal_ignoring_case(header_name(argument), "authorization");
    return argument.starts_with("--") && !is_key && !flag_in(argument, flags).traits.has(beside);
}

/// It is given alone, and means as much as none.
static bool is_as_unset(const std::string& one, const std::vector<std::string>& all,
                        const FlagTable& flags) {
    const Flag& flag = flag_in(one, flags);
    const std::string unset = flag.traits.mask == mask_json ? "{}" : flag.unset;
    return !unset.empty() && means_same(flag, value_of(one), unset) &&
           std::count_if(all.begin(), all.end(),
                         [&](const auto& other) { return flag_of(other) == flag_of(one); }) == 1;
}

static std::string only_in(const std::vector<std::string>& here,
                           const std::vector<std::string>& there, FlagTraits beside,
                           const FlagTable& flags) {
    std::string text;
    for (const std::string& one : here) {
        const bool is_there = std::any_of(there.begin(), there.end(), [&](const auto& other) {
            return is_same_setting(one, other, flags);
        });
        if (counts(one, beside, flags) && !is_there && !is_as_unset(one, here, flags)) {
            text += (text.empty() ? "" : " ") + one;
        }
    }
    return text;
}

std::pair<std::string, std::string> differing_settings(const std::vector<std::string>& a,
                                                       const std::vector<std::string>& b,
                                                       FlagTraits beside, const FlagTable& flags) {
    return {only_in(a, b, beside, flags), only_in(b, a, beside, flags)};
}

std::vector<FlagInRuns> settings_in_runs(
    const std::vector<const std::vector<std::string>*>& runs,
    const std::function<bool(std::size_t run, std::size_t other)>& same_played,
    const FlagTable& flags) {
    std::vector<FlagInRuns> all;
    const std::vector<std::string> none;
    for (const Flag& flag : flags.flags) {
        std::vector<std::vector<std::string>> given(runs.size());
        FlagInRuns found{&flag, {}};
        for (std::size_t run = 0; run < runs.size(); ++run) {
            std::ranges::copy_if(
                *runs[run], std::back_inserter(given[run]), [&](const std::string& one) {
                    return flag_of(one) == flag.names.back() && counts(one, beside_settings, flags);
                });
            const auto same = [&](const std::vector<std::string>& other) {
                return given[run] == other || (only_in(given[run], other, {}, flags).empty() &&
                                               only_in(other, given[run], {}, flags).empty());
            };
            std::string text;
            std::size_t before = 0;
            while (before < run && !same(given[before]) &&
                   !(flag.traits.has(of_corpus | of_load) && same_played(run, before))) {
                ++before;
            }
            if (before < run) {
                text = found.texts[before];
            } else if (!same(none)) {
                text = joined(given[run], " ", [](const std::string& one) {
                    return one == flag_of(one) ? "true" : std::string(value_of(one));
                });
            }
            found.texts.push_back(text);
        }
        if (std::ranges::any_of(found.texts, [](const auto& text) { return !text.empty(); })) {
            all.push_back(std::move(found));
        }
    }
    return all;
}

std::vector<std::string> sending_settings(const std::vector<std::string>& arguments,
                                          const FlagTable& flags) {
    std::vector<std::string> settings = arguments;
    std::erase_if(settings, [&](const auto& one) { return !counts(one, beside_sending, flags); });
    std::ranges::sort(settings);
    return settings;
}

}  // namespace driftless
