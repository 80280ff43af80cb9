/// Settings: the flags of a replay as run.json keeps them: how they are taken up again by
/// `--resume` and `--from`, in which of them two runs differ, and what of them is secret. Pure
/// functions on text, which walk the flags as they were declared (options_replay.cpp).
///
/// An argument is TRACE, `--flag` or `--flag=value`, in our spelling. No secret is among those that
/// are kept: a key that came by name (`env:NAME`, or OPENAI_API_KEY without any flag) is found
/// again in the environment, one that was typed must be given again.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/secrets.hpp"
#include "cmd/flags/help_flags.hpp"

namespace driftless {

struct CommandParser;
struct ReplayOptions;
struct TypedServer;

/// The parser of `replay`: each flag is declared there, once.
CommandParser replay_parser(TypedServer& server, ReplayOptions& options);
/// What it declares: read once, from a parser that is there, or from one that is made for it.
const FlagTable& replay_flags(const CommandParser* declared = nullptr);

/// How the values of a flag are shown: of ours, and of other tools' that mean the same, in whose
/// spelling a command line is recorded.
Mask mask_of(std::string_view name, const FlagTable& flags = replay_flags());

/// A command line as it may be recorded: `arguments` with the secrets in the values of flags
/// masked, whether written as `--flag value` or `--flag=value`, and those that a shell would
/// assign.
std::vector<std::string> mask_command(const std::vector<std::string>& arguments,
                                      const FlagTable& flags = replay_flags());

/// What run.json keeps of `arguments`: secrets masked, paths made absolute from `folder`, and
/// nothing that names where this one run was written.
std::vector<std::string> arguments_to_keep(const std::vector<std::string>& arguments,
                                           const std::string& folder,
                                           const FlagTable& flags = replay_flags());

/// Those of the kept arguments that another run takes up, too: it writes files of its own.
std::vector<std::string> arguments_to_repeat(std::vector<std::string> kept,
                                             const FlagTable& flags = replay_flags());

/// `path` as it is found from anywhere: below `folder` where it is relative.
std::string absolute_path(const std::string& path, const std::string& folder);

struct Recalled {
    std::vector<std::string> arguments;
    std::string refused;  ///< one clause; empty: all is well
};

/// The kept arguments of a run with those that are `given` anew, which replace the kept ones of the
/// same name (a header: of the same header's name; a server: every kept server, and the place that
/// stood in for it). A key that was masked must be given, or be in the environment.
Recalled recall(const std::vector<std::string>& kept, const std::vector<std::string>& given,
                bool key_in_environment, const FlagTable& flags = replay_flags());

/// Whether the flag takes up those of a run or of a file (--resume, --from, --config), or belongs
/// to one that does.
bool takes_up_flags(std::string_view name, const FlagTable& flags = replay_flags());

/// The first flag of `given` that would change the run of the `kept` ones; empty: none. Allowed
/// with `--resume` are: where the server is and how it is asked, which CPUs are used, when to stop,
/// and what holds credentials, if nothing else in it differs.
std::string flag_not_to_resume_with(const std::vector<std::string>& given,
                                    const std::vector<std::string>& kept,
                                    const FlagTable& flags = replay_flags());

/// Whether a flag, without its dashes, is the sweep's to give: what decides where a run is written,
/// and whether there is one.
bool is_flag_of_sweep(std::string_view name, const FlagTable& flags = replay_flags());

/// Why `find` cannot pass one of the arguments on to its probes: it gives them that flag itself, or
/// they would be no probes. Empty: it can.
std::string why_not_in_probe(const std::vector<std::string>& arguments,
                             const FlagTable& flags = replay_flags());

/// A dry run of the same arguments: without those that only a server can answer.
std::vector<std::string> arguments_of_dry_run(const std::vector<std::string>& arguments,
                                              const FlagTable& flags = replay_flags());

/// What two runs are not held against each other by: flags that name the server, the work or where
/// files go.
inline constexpr FlagTraits beside_settings = not_setting | of_one_run | of_its_end;
/// The same, and what only changes what the client observes and records: metrics, events, answers,
/// periods.
inline constexpr FlagTraits beside_sending = beside_settings | watching;

/// The arguments that only one of two runs has, each side as one text: in which flags they differ
/// beside their work, for the reader (the connection, limits, headers). Values are compared by what
/// they mean to their flags (`4s`, `4000ms`), and a default that was typed is as if it was not.
std::pair<std::string, std::string> differing_settings(const std::vector<std::string>& a,
                                                       const std::vector<std::string>& b,
                                                       FlagTraits beside = beside_settings,
                                                       const FlagTable& flags = replay_flags());

/// What several runs were given of one flag.
struct FlagInRuns {
    const Flag* flag = nullptr;
    /// [runs], equal where it means the same; "true" of a switch, empty where it is as if not
    /// given.
    std::vector<std::string> texts;

    /// Without its dashes.
    std::string name() const { return flag->names.back().substr(2); }
};
/// The settings that any of the runs was given. `same_played(run, other)`: digests show that both
/// played the same, whatever the flags said that decide it.
std::vector<FlagInRuns> settings_in_runs(
    const std::vector<const std::vector<std::string>*>& runs,
    const std::function<bool(std::size_t run, std::size_t other)>& same_played,
    const FlagTable& flags = replay_flags());

/// Those of the arguments that decide what is sent (without `beside_sending`), sorted.
std::vector<std::string> sending_settings(const std::vector<std::string>& arguments,
                                          const FlagTable& flags = replay_flags());

}  // namespace driftless
