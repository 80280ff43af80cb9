/// Credentials: how keys come to a replay, and how they are kept from those who look at it.
///
/// A key is in the memory of this process and on its way to the server, and nowhere else: not in
/// files, not on the screen, and once it runs not in the process list and in no core dump.
#pragma once

#include <string>
#include <vector>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

/// Puts the variables of the environment in the place of `env:NAME`, in the key and in headers,
/// whose values are secrets from here on whatever the header is called, and clears them from the
/// environment of this process. Returns why that cannot be, or the empty text.
std::string take_from_environment(ReplayOptions& options);

/// All that is a credential, by name: headers, the text around the placeholders of rows' headers,
/// parameters of a target's query, and members of `--extra-body`, decoded and as written.
/// `secrets_of` makes of it what is masked.
std::vector<Header> credentials_of(const ReplayOptions& options);

/// `http://host/path` that requests to a target ask for.
std::string whole_url(const ReplayTarget& target);

/// The same as it may be recorded and shown.
std::string shown_url(const ReplayTarget& target);

/// Where the run has a secret: overwrites it in `argv`, which is what the process list shows, and
/// forbids dumps of this process (PR_SET_DUMPABLE). That holds for core files, for cores piped to a
/// handler, which RLIMIT_CORE does not bind, and for debuggers of the same user; MADV_DONTDUMP
/// would have to follow every copy into every buffer. A TLS key that is read from a file is such a
/// secret, too. Without one all stays as it was.
void hide_secrets(const ReplayOptions& options, int argc, char** argv);

}  // namespace driftless
