#include "engine/meet/meet_host.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/io/address.hpp"
#include "engine/meet/meet_guests.hpp"
#include "engine/time/monotonic.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr int nap_ms = 100;
constexpr int waiting_max = 1024;  // connections that the kernel keeps until they are looked at
constexpr int accepts_a_look = 64;

/// IPv6 with IPv4 inside, or IPv4 where the host has no other.
MeetSocket open_socket(std::uint16_t port, int family) {
    MeetSocket made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made.is_open()) {
        return made;
    }
    const int one = 1;
    const int none = 0;
    (void)::setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_storage place{};
    socklen_t length = 0;
    if (family == AF_INET6) {
        (void)::setsockopt(made.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof none);
        auto& any = reinterpret_cast<sockaddr_in6&>(place);
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(port);
        length = sizeof any;
    } else {
        auto& any = reinterpret_cast<sockaddr_in&>(place);
        any.sin_family = AF_INET;
        any.sin_port = htons(port);
        length = sizeof any;
    }
    const bool bound = ::bind(made.fd(), reinterpret_cast<const sockaddr*>(&place), length) == 0 &&
                       ::listen(made.fd(), waiting_max) == 0;
    return bound ? std::move(made) : MeetSocket();
}

void accept_all(int listener, MeetGuests& guests) {
    for (int i = 0; i < accepts_a_look; ++i) {
        Address from;
        from.length = sizeof from.storage;
        MeetSocket taken(::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage),
                                   &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!taken.is_open()) {
            return;
        }
        guests.add(std::move(taken), from.to_text());
    }
}

/// "parts 1, 2 and 5".
std::string list_of(const std::vector<std::uint32_t>& parts) {
    constexpr std::size_t named_max = 20;
    std::string text = parts.size() == 1 ? "shard " : "shards ";
    for (std::size_t i = 0; i < std::min(parts.size(), named_max); ++i) {
        text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + std::to_string(parts[i]);
    }
    return parts.size() > named_max
               ? text + " and " + std::to_string(parts.size() - named_max) + " others"
               : text;
}

MeetOutcome failed(MeetGuests& guests, const std::string& why) {
    guests.refuse_all(why);
    MeetOutcome outcome;
    outcome.why = why;
    return outcome;
}

/// The time for all to come, and to compare their clocks, is over.
MeetOutcome too_late(MeetGuests& guests) {
    std::vector<std::uint32_t> absent = guests.absent();
    const std::vector<std::uint32_t> mute = guests.unmeasured();
    const bool one = mute.size() == 1;
    const std::string who =
        !absent.empty()
            ? list_of(absent) + " did not come"
            : list_of(mute) + " came, but did not compare " + (one ? "its clock" : "their clocks") +
                  " in time; look whether " + (one ? "it is" : "they are") + " stopped";
    MeetOutcome outcome = failed(guests, who);
    outcome.absent = std::move(absent);
    return outcome;
}

bool is_stopped(const MeetSetting& setting) {
    return setting.stop_requests->load(std::memory_order_relaxed) > 0;
}

MeetOutcome stopped(MeetGuests& guests) {
    guests.refuse_all("shard 0 was stopped by its user");
    MeetOutcome outcome;
    outcome.end = MeetOutcome::End::stopped;
    return outcome;
}

/// All are here, and their clocks are compared: an instant that all of them agree to.
MeetOutcome agree(const MeetSetting& setting, int listener, MeetGuests& guests) {
    const std::int64_t until_ns = monotonic_ns() + meet_lead_ns - meet_lead_ns_min;
    MeetOutcome outcome;
    outcome.start_ns = setting.clock.now() + meet_lead_ns;
    guests.start(outcome.start_ns);
    while (!guests.all_set()) {
        if (is_stopped(setting)) {
            return stopped(guests);
        }
        if (!guests.failure().empty()) {
            return failed(guests, guests.failure());
        }
        if (monotonic_ns() > until_ns) {
            return failed(guests, list_of(guests.not_set()) + " did not confirm time 0 in time");
        }
        guests.serve(listener, 1);
    }
    guests.go();
    outcome.end = MeetOutcome::End::met;
    return outcome;
}

}  // namespace

Result<MeetHost> MeetHost::listen(std::uint16_t port) {
    MeetSocket socket = open_socket(port, AF_INET6);
    if (!socket.is_open() && errno != EADDRINUSE && errno != EACCES) {  // no IPv6 here
        socket = open_socket(port, AF_INET);
    }
    if (!socket.is_open()) {
        return error_from_errno(errno, "listen there");
    }
    return MeetHost(std::move(socket));
}

std::uint16_t MeetHost::port() const {
    sockaddr_in6 place{};
    socklen_t length = sizeof place;
    (void)::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&place), &length);
    return ntohs(place.sin6_port);  // where IPv4 has it, too
}

MeetOutcome MeetHost::gather(const MeetSetting& setting) {
    MeetGuests guests(setting);
    const std::int64_t until_ns = monotonic_ns() + setting.timeout_ns;
    const bool before = setting.own.phase == MeetPhase::before;
    while (!guests.all_measured()) {
        if (is_stopped(setting)) {
            return stopped(guests);
        }
        if (!guests.failure().empty()) {
            return failed(guests, guests.failure());
        }
        const bool is_over = monotonic_ns() > until_ns;  // who came until then is heard
        accept_all(socket_.fd(), guests);
        guests.serve(socket_.fd(), is_over ? 0 : nap_ms);
        if (is_over && !guests.all_measured()) {
            return too_late(guests);
        }
    }
    if (before) {
        return agree(setting, socket_.fd(), guests);
    }
    MeetOutcome outcome;
    outcome.end = MeetOutcome::End::met;
    return outcome;
}

}  // namespace driftless
