/// Credentials: how keys come to a replay, and how they are kept from those who look at it.
///
/// A key is in the memory of this process and on its way to the server, and nowhere else: not in
/// files, not on the screen, and, once the run has begun, neither in the process list nor in a core
/// dump.
#pragma once

#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"

namespace driftless {

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

/// Whether a command line whose secrets are masked (`mask_command`) still holds one: a key that was
/// typed a second time, in a flag that takes no keys. Prints which flag has it, never the key.
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

}  // namespace driftless
