/// Invocation: one call of `driftless replay`: its flags, its keys, and where it writes.
#pragma once

#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/replay_options.hpp"

namespace driftless {

// Credentials: how keys come to a replay, and how they are kept from those who look at it.
//
// A key is in the memory of this process and on its way to the server, and nowhere else: not in
// files, not on the screen, and, once the run has begun, neither in the process list nor in a core
// dump.

/// The keys of a run.
struct Credentials {
    std::vector<Header> headers;  ///< of every request, as they are sent
    /// All that is a credential, by name: headers, the text around the placeholders of rows'
    /// headers, parameters of a target's query, and members of `--extra-body`, decoded and as
    /// written. `secrets_of` makes of it what is masked.
    std::vector<Header> all;
};

/// Replaces `env:NAME` in headers by the variable's value, which is a secret whatever the header is
/// called, and removes the variables from the environment of this process. Prints why it fails.
OrExit<Credentials> take_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets);

/// The same, but leaves the environment unchanged: for commands that only start replays.
OrExit<Credentials> read_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets);

/// Keys in variables ("NAME=VALUE") of the environment, which a command may print: by their names,
/// and parts of any value that are secrets (`secrets_in_text`).
std::vector<Header> secrets_of_environment(const std::vector<std::string>& environment);

/// Whether a command line whose secrets are masked (`mask_command`) still holds one: a key that was
/// typed a second time, in a flag that takes no keys, or one of the environment. Prints which flag
/// has it, never the key.
bool repeats_secret(const std::vector<std::string>& masked_command, const Credentials& credentials);

/// `http://host/path` that requests to a target ask for.
std::string whole_url(const ReplayTarget& target);

/// The same as it may be recorded and shown.
std::string shown_url(const ReplayTarget& target);

/// If the run has a secret (a TLS key that is read from a file is one, too): overwrites it in
/// `argv`, which the process list shows, and forbids dumps of this process (PR_SET_DUMPABLE). That
/// covers core files, cores piped to a handler, which RLIMIT_CORE does not limit, and debuggers of
/// the same user; MADV_DONTDUMP would have to follow every copy into every buffer. Without a secret
/// nothing changes.
void hide_secrets(const Credentials& credentials, const TlsClientOptions& tls, int argc,
                  char** argv);

/// Invocation: one call of `driftless replay`: the flags as parsed, and beside them what no parser
/// can know: keys that are in the environment, what is drawn for each run anew, and the command
/// line as run.json keeps it. Made once, before anything is read, and never changed.
struct Invocation {
    ReplayOptions options;
    Credentials credentials;
    /// Eight hex digits that differ from run to run: servers must never see two live requests with
    /// one name. Apart from a random salt, the only part of a run that its seed does not decide.
    std::string run_id;
    std::string cache_salt;              ///< `--cache-salt`, or what was drawn; empty: none
    std::vector<std::string> command;    ///< as typed, keys masked
    std::vector<std::string> arguments;  ///< in our spelling: TRACE.., then `--flag=value`
    std::string records_path;            ///< `--output-path`, absolute; empty: in the folder
};

/// Draws what is random, and prints a salt that was drawn. `command`: the masked command line.
Invocation make_invocation(ReplayCommandLine line, Credentials credentials,
                           std::vector<std::string> command);

// Where a new run writes, before there is one.

/// Of now, as names of folders have it: "20261121T034512Z".
std::string folder_date();
/// "runs/20261121T034512Z-<trace name>".
std::string default_folder(const std::string& trace_name);

/// Of a new run: `--out`, else the default, which names the part of a plan that is sent.
std::string folder_of(const ReplayOptions& options, const std::string& trace_name);

}  // namespace driftless
