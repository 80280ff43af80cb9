/// Credentials: how keys come to a replay, and how they are kept from those who look at it.
///
/// A key is in the memory of this process and on its way to the server, and nowhere else: not in
/// files, not on the screen, and once it runs not in the process list and in no core dump.
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

/// Puts the variables of the environment in the place of `env:NAME` in headers, whose values are
/// secrets from here on whatever the header is called, and clears them from the environment of this
/// process. Prints why that cannot be.
OrExit<Credentials> take_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets);

/// The same, and the environment stays as it is: for those who only start replays.
OrExit<Credentials> read_credentials(const RequestFlags& request,
                                     const std::vector<ReplayTarget>& targets);

/// Whether a command line whose secrets are masked (`mask_command`) still holds one: a key that was
/// typed a second time, where nobody looks for keys. Prints which flag has it; never the key.
bool repeats_secret(const std::vector<std::string>& masked_command, const Credentials& credentials);

/// `http://host/path` that requests to a target ask for.
std::string whole_url(const ReplayTarget& target);

/// The same as it may be recorded and shown.
std::string shown_url(const ReplayTarget& target);

/// Where the run has a secret: overwrites it in `argv`, which is what the process list shows, and
/// forbids dumps of this process (PR_SET_DUMPABLE). That holds for core files, for cores piped to a
/// handler, which RLIMIT_CORE does not bind, and for debuggers of the same user; MADV_DONTDUMP
/// would have to follow every copy into every buffer. A TLS key that is read from a file is such a
/// secret, too. Without one all stays as it was.
void hide_secrets(const Credentials& credentials, const TlsClientOptions& tls, int argc,
                  char** argv);

}  // namespace driftless
