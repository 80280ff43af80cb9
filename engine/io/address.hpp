/// Address: where a socket goes to. A value; resolving a name happens before time 0 only.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    int family() const { return storage.ss_family; }
    const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
    /// "127.0.0.1:8000", "[::1]:8000", "unix:/path". For messages.
    std::string to_text() const;
};

/// Whether what listens there shares this machine's CPUs: a Unix socket, or an address of one of
/// its interfaces. Of a container or a virtual machine on this host nobody can tell.
bool is_of_this_host(const Address& address);

/// All addresses of a host name or literal, IPv4 and IPv6, in the resolver's order. Blocks.
/// Errors: not_found, unreachable.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

/// A Unix socket path; a leading '@' names an abstract one. Errors: too_large.
Result<Address> unix_address(const std::string& path);

}  // namespace driftless
