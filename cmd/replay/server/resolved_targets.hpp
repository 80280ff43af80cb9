/// ResolvedTargets: where the connections of each `--url` go to, with the certificates that TLS
/// needs. Made once, before the first connection. Owns what the endpoints point to; may be moved.
#pragma once

#include <memory>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "engine/replay/settings.hpp"
#include "engine/tls/context.hpp"

namespace driftless {

struct ResolvedTargets {
    std::unique_ptr<TlsContext> tls;  ///< where a target is https; else null
    std::vector<std::unique_ptr<TlsPeer>> peers;
    std::vector<Endpoint> endpoints;  ///< [targets]
};

/// The same places with peers of their own, for another thread. `targets` outlives them.
ResolvedTargets for_another_thread(const ResolvedTargets& targets);

/// Resolves the names of all targets, trying a connection for so long where a name has several
/// addresses, and reads certificates. Prints what fails.
OrExit<ResolvedTargets> resolve_targets(const ServerFlags& flags, Duration connect_timeout);

}  // namespace driftless
