#include "cmd/replay/server/resolved_targets.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "engine/io/reachable.hpp"

namespace driftless {

namespace {

constexpr std::int64_t address_pause_ns = 500'000'000;

/// The address of a name that is the first to take connections: "localhost" is often ::1 first,
/// where many servers do not listen. Where none does, the first: the preflight will say so.
Address reachable_address(const ServerFlags& flags, Duration connect_timeout,
                          const std::vector<Address>& candidates) {
    const std::chrono::nanoseconds patience(flags.wait_ready_ns.value_or(0));
    const auto began = std::chrono::steady_clock::now();
    while (candidates.size() > 1) {
        const std::optional<Address> found = first_reachable(by_turns(candidates), connect_timeout);
        if (found) {
            return *found;
        }
        if (std::chrono::steady_clock::now() - began >= patience || stop_requests().load() > 0) {
            break;
        }
        const timespec pause{0, address_pause_ns};
        (void)::nanosleep(&pause, nullptr);
    }
    return candidates.front();
}

/// Where connections of a target go to. Prints why there is no such place.
OrExit<Address> find_address(const ServerFlags& flags, Duration connect_timeout,
                             const ReplayTarget& target) {
    const Url& place = flags.connect_to ? *flags.connect_to : target.url;
    const bool is_second = flags.dual && &target != &flags.targets.front();
    const std::string flag = flags.connect_to ? "--connect-to" : is_second ? "--against" : "--url";
    if (place.unix_socket) {
        const Result<Address> path = unix_address(place.host);
        if (!path) {
            complain("driftless: %s %s: the path is longer than 107 bytes; use a shorter one",
                     flag.c_str(), to_text(place).c_str());
            return exit_usage;
        }
        return path.value();
    }
    const auto found = resolve(place.host, place.port);
    if (!found) {
        complain("driftless: %s %s: the host name cannot be resolved; check it", flag.c_str(),
                 flags.connect_to ? place_text(place).c_str() : to_text(place).c_str());
        return exit_preflight;
    }
    return reachable_address(flags, connect_timeout, found.value());
}

/// What all https targets share. Prints what is wrong with a file of --ca, --cert or --key.
OrExit<std::unique_ptr<TlsContext>> client_context(const TlsClientOptions& options) {
    std::string why;
    Result<TlsContext> made = TlsContext::client(options, why);
    if (!made) {
        complain("driftless: %s", why.c_str());
        return exit_usage;
    }
    return std::make_unique<TlsContext>(std::move(made).value());
}

}  // namespace

OrExit<ResolvedTargets> resolve_targets(const ServerFlags& flags, Duration connect_timeout) {
    ResolvedTargets resolved;
    for (const ReplayTarget& target : flags.targets) {
        if (target.url.tls && !resolved.tls) {
            OrExit<std::unique_ptr<TlsContext>> made = client_context(flags.tls);
            if (!made) {
                return made.exit_code();
            }
            resolved.tls = std::move(made).value();
        }
        TlsPeer* peer = nullptr;
        if (target.url.tls) {
            resolved.peers.push_back(std::make_unique<TlsPeer>(*resolved.tls, target.url.host));
            peer = resolved.peers.back().get();
        }
        const OrExit<Address> address = find_address(flags, connect_timeout, target);
        if (!address) {
            return address.exit_code();
        }
        resolved.endpoints.push_back({address.value(), peer});
    }
    return resolved;
}

ResolvedTargets for_another_thread(const ResolvedTargets& targets) {
    ResolvedTargets own;
    own.endpoints = targets.endpoints;
    for (Endpoint& endpoint : own.endpoints) {
        if (endpoint.tls != nullptr) {
            own.peers.push_back(std::make_unique<TlsPeer>(*targets.tls, endpoint.tls->name()));
            endpoint.tls = own.peers.back().get();
        }
    }
    return own;
}

}  // namespace driftless
