#include "engine/io/reachable.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

Instant now() {
    timespec time{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &time);
    return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

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

    /// True where it stands at once.
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

    /// Waits until one has ended or the time is over: the one that stands, if any.
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

}  // namespace driftless
