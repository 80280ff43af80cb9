#include "engine/io/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "proto/core/check.hpp"

namespace driftless {

std::string Address::to_text() const {
    char text[INET6_ADDRSTRLEN] = {};
    if (family() == AF_INET) {
        const auto* in = reinterpret_cast<const sockaddr_in*>(&storage);
        (void)::inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
        return std::string(text) + ":" + std::to_string(ntohs(in->sin_port));
    }
    if (family() == AF_INET6) {
        const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&storage);
        (void)::inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
        return "[" + std::string(text) + "]:" + std::to_string(ntohs(in6->sin6_port));
    }
    if (family() == AF_UNIX && length > offsetof(sockaddr_un, sun_path)) {
        const auto* un = reinterpret_cast<const sockaddr_un*>(&storage);
        const std::size_t size = length - offsetof(sockaddr_un, sun_path);
        std::string path(un->sun_path, size);
        if (path[0] == '\0') {
            path[0] = '@';
        }
        return "unix:" + path.substr(0, path.find('\0'));
    }
    return "nowhere";
}

namespace {

/// The bytes of an IP address, without its port.
std::string_view ip_of(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        const auto& in = reinterpret_cast<const sockaddr_in&>(address);
        return {reinterpret_cast<const char*>(&in.sin_addr), sizeof in.sin_addr};
    }
    if (address.sa_family == AF_INET6) {
        const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
        const bool mapped = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) != 0;
        const std::string_view bytes(reinterpret_cast<const char*>(&in6.sin6_addr),
                                     sizeof in6.sin6_addr);
        return mapped ? bytes.substr(bytes.size() - sizeof(in_addr)) : bytes;
    }
    return {};
}

}  // namespace

bool is_of_this_host(const Address& address) {
    const std::string_view ip = ip_of(*address.raw());
    if (ip.empty()) {
        return address.family() == AF_UNIX;
    }
    if (ip.size() == sizeof(in_addr) && ip.front() == 127) {
        return true;  // all of 127/8 is, though interfaces list one of them
    }
    ifaddrs* interfaces = nullptr;
    if (::getifaddrs(&interfaces) != 0) {
        return false;
    }
    bool found = false;
    for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
        found = found || (at->ifa_addr != nullptr && ip_of(*at->ifa_addr) == ip);
    }
    ::freeifaddrs(interfaces);
    return found;
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0 || found == nullptr) {
        return Error{ErrorCode::not_found, 0, "resolve the host name"};
    }
    std::vector<Address> addresses;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        CHECK(at->ai_addrlen <= sizeof(sockaddr_storage));
        Address address;
        std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
        address.length = at->ai_addrlen;
        addresses.push_back(address);
    }
    ::freeaddrinfo(found);
    CHECK(!addresses.empty());
    return addresses;
}

Result<Address> unix_address(const std::string& path) {
    Address address;
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(un.sun_path)) {
        return Error{ErrorCode::too_large, 0, "read a Unix socket path (1 to 107 bytes)"};
    }
    std::memcpy(un.sun_path, path.data(), path.size());
    const bool abstract = path[0] == '@';
    if (abstract) {
        un.sun_path[0] = '\0';
    }
    std::memcpy(&address.storage, &un, sizeof(un));
    const std::size_t end = abstract ? path.size() : path.size() + 1;
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + end);
    CHECK(address.length <= sizeof(un));
    return address;
}

}  // namespace driftless
