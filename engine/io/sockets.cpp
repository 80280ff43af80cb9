#include "engine/io/sockets.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

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

/// The bytes of an IP address, without its port.
static std::string_view ip_of(const sockaddr& address) {
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

Result<Socket> make_stream_socket(const Address& address) {
    const int number = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) {
        return error_from_errno(errno, "make a socket");
    }
    if (address.family() == AF_INET || address.family() == AF_INET6) {
        const int on = 1;
        (void)::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return Socket{number};
}

Result<Socket> make_listening_socket(const Address& address, int backlog) {
    CHECK(backlog >= 0);
    Result<Socket> made = make_stream_socket(address);
    if (!made) {
        return made;
    }
    const int number = made.value().number;
    const int on = 1;
    (void)::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(number, address.raw(), address.length) != 0 || ::listen(number, backlog) != 0) {
        const Error error = error_from_errno(errno, "listen");
        ::close(number);
        return error;
    }
    return made;
}

Result<Address> local_address_of(Socket socket) {
    CHECK(socket.open());
    Address address;
    address.length = sizeof(address.storage);
    if (::getsockname(socket.number, reinterpret_cast<sockaddr*>(&address.storage),
                      &address.length) != 0) {
        return error_from_errno(errno, "read a socket's address");
    }
    return address;
}

static Instant now() {
    return {monotonic_ns()};
}

namespace {

/// Connects that are under way, in the order of their addresses. Owns their sockets.
class Race {
  public:
    Race() = default;
    Race(const Race&) = delete;
    Race& operator=(const Race&) = delete;
    ~Race() {
        for (const pollfd& attempt : attempts_) {
            give_up(attempt.fd);
        }
    }

    /// True where it is connected at once.
    bool start(const Address& address) {
        CHECK(attempts_.size() < attempts_max);
        const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
        const int number = ::socket(address.family(), type, 0);
        const bool stands = number >= 0 && ::connect(number, address.raw(), address.length) == 0;
        const bool goes_on = number >= 0 && !stands && errno == EINPROGRESS;
        attempts_.push_back({goes_on ? number : -1, POLLOUT, 0});  // poll skips what is below 0
        if (!goes_on) {
            give_up(number);
        }
        return stands;
    }

    bool any() const {
        return std::any_of(attempts_.begin(), attempts_.end(),
                           [](const pollfd& attempt) { return attempt.fd >= 0; });
    }

    /// Waits until one has ended or the time is over: the one that is connected, if any.
    std::optional<std::size_t> wait(Duration longest) {
        CHECK(any());
        const auto milliseconds =
            static_cast<int>(std::max<std::int64_t>(longest.ns, 0) / 1'000'000);
        if (::poll(attempts_.data(), attempts_.size(), milliseconds + 1) <= 0) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            pollfd& attempt = attempts_[i];
            if (attempt.fd < 0 || attempt.revents == 0) {
                continue;
            }
            int failure = 0;
            socklen_t size = sizeof(failure);
            if (::getsockopt(attempt.fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 &&
                failure == 0) {
                return i;
            }
            give_up(attempt.fd);
            attempt.fd = -1;
        }
        return std::nullopt;
    }

  private:
    static void give_up(int number) {
        if (number >= 0) {
            ::close(number);
        }
    }
    std::vector<pollfd> attempts_;
};

}  // namespace

std::vector<Address> by_turns(const std::vector<Address>& addresses) {
    std::vector<Address> first;
    std::vector<Address> others;
    for (const Address& address : addresses) {
        (address.family() == addresses.front().family() ? first : others).push_back(address);
    }
    std::vector<Address> order;
    for (std::size_t i = 0; i < std::max(first.size(), others.size()); ++i) {
        for (const std::vector<Address>* family : {&first, &others}) {
            if (i < family->size()) {
                order.push_back((*family)[i]);
            }
        }
    }
    CHECK(order.size() == addresses.size());
    return order;
}

std::optional<Address> first_reachable(const std::vector<Address>& addresses, Duration patience) {
    CHECK(patience.ns >= 0);
    const std::size_t count = std::min(addresses.size(), attempts_max);
    Instant next_start = now();
    // The last to start has as much time as the first.
    const Duration head_start{attempt_delay.ns *
                              (static_cast<std::int64_t>(std::max<std::size_t>(count, 1)) - 1)};
    const Instant ends = next_start + head_start + patience;
    std::size_t started = 0;
    Race race;
    for (Instant at = now(); at < ends && (started < count || race.any()); at = now()) {
        if (started < count && (at >= next_start || !race.any())) {
            if (race.start(addresses[started])) {
                return addresses[started];
            }
            ++started;
            next_start = at + attempt_delay;
            continue;
        }
        const Instant until = started < count ? std::min(ends, next_start) : ends;
        if (const std::optional<std::size_t> stands = race.wait(until - at)) {
            CHECK(*stands < started);
            return addresses[*stands];
        }
    }
    return std::nullopt;
}

Result<void> WarmPair::open() {
    CHECK(!is_open());
    const Result<std::vector<Address>> loopback = resolve("127.0.0.1", 0);
    if (!loopback) {
        return loopback.error();
    }
    const Result<Socket> listening = make_listening_socket(loopback.value().front(), 1);
    if (!listening) {
        return listening.error();
    }
    const Fd listener(listening.value().number);
    const Result<Address> there = local_address_of(listening.value());
    if (!there) {
        return there.error();
    }
    const Result<Socket> made = make_stream_socket(there.value());
    if (!made) {
        return made.error();
    }
    Fd sender(made.value().number);
    if (::connect(sender.number(), there.value().raw(), there.value().length) == 0) {
        receiver_ = Fd(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    if (!receiver_.is_open()) {
        return error_from_errno(errno, "connect a pair of sockets over loopback");
    }
    sender_ = std::move(sender);
    return {};
}

std::uint64_t WarmPair::unread() const {
    CHECK(is_open());
    int bytes = 0;
    (void)::ioctl(receiver_.number(), FIONREAD, &bytes);
    return static_cast<std::uint64_t>(bytes);
}

void WarmPair::send() {
    CHECK(is_open());
    const char byte = 0;
    (void)::send(sender_.number(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (++sends_ % drain_every == 0) {
        // Thrown away unread, and what had been on its way the last time with it.
        constexpr std::size_t all = std::size_t{1} << 20;
        (void)::recv(receiver_.number(), nullptr, all, MSG_DONTWAIT | MSG_TRUNC);
    }
}

}  // namespace driftless
