#include "engine/io/driver.hpp"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>

namespace driftless {

static_assert(receive_control_bytes == CMSG_SPACE(sizeof(scm_timestamping)));

// Keys count from the bytes already written, not from those already acknowledged (Linux 6.2). Right
// after a connect the two are the same.
static constexpr std::uint32_t option_id_tcp = 1u << 16;

static bool ask(int number, std::uint32_t flags) {
    return ::setsockopt(number, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0;
}

static std::int64_t software_stamp_ns(const cmsghdr& control) {
    const auto& stamps = *reinterpret_cast<const scm_timestamping*>(CMSG_DATA(&control));
    return stamps.ts[0].tv_sec * 1'000'000'000 + stamps.ts[0].tv_nsec;
}

static bool is_error(const cmsghdr& control) {
    return (control.cmsg_level == SOL_IP && control.cmsg_type == IP_RECVERR) ||
           (control.cmsg_level == SOL_IPV6 && control.cmsg_type == IPV6_RECVERR);
}

StampSupport switch_on_stamps(Socket socket, StampSupport wanted) {
    CHECK(socket.open());
    int family = 0;
    socklen_t size = sizeof(family);
    if (::getsockopt(socket.number, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
        (family != AF_INET && family != AF_INET6)) {
        return {};
    }
    std::uint32_t flags = SOF_TIMESTAMPING_SOFTWARE;
    if (wanted.transmit) {
        flags |= SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                 SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_CMSG;
    }
    if (wanted.receive) {
        flags |= SOF_TIMESTAMPING_RX_SOFTWARE;
    }
    const bool any = wanted.transmit || wanted.receive;
    const bool keyed = any && ((wanted.transmit && ask(socket.number, flags | option_id_tcp)) ||
                               ask(socket.number, flags));
    return keyed ? wanted : StampSupport{};
}

bool read_error_queue(Socket socket, TransmitStamp& stamp) {
    CHECK(socket.open());
    alignas(cmsghdr) char control[256];
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (::recvmsg(socket.number, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return false;
    }
    stamp = TransmitStamp{};
    bool is_stamp = false;
    std::int64_t realtime_ns = 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPING) {
            realtime_ns = software_stamp_ns(*part);
        } else if (is_error(*part)) {
            const auto& error = *reinterpret_cast<const sock_extended_err*>(CMSG_DATA(part));
            is_stamp = error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING;
            stamp.key = error.ee_data;
        }
    }
    stamp.realtime_ns = is_stamp ? realtime_ns : 0;
    return true;
}

std::int64_t receive_stamp_ns(msghdr& message) {
    CHECK(message.msg_control != nullptr);
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPING) {
            return software_stamp_ns(*part);
        }
    }
    return 0;
}

Fd keep_receive_stamps() {
    Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const bool keeps = socket.is_open() && ask(socket.number(), SOF_TIMESTAMPING_SOFTWARE |
                                                                    SOF_TIMESTAMPING_RX_SOFTWARE);
    return keeps ? std::move(socket) : Fd();
}

// A turn of a plain loop does a bounded amount of each kind of work before it looks at the clock.
static constexpr std::size_t resumes_max = 256;
static constexpr std::size_t timers_max = 256;

bool Loop::turn(Instant until, Wait wait) {
    jobs_.reap();
    const std::size_t resumed = ready_.run(resumes_max);
    const std::size_t expired = timers_.expire(driver_.now(), timers_max);
    const bool busy = resumed + expired > 0 || !ready_.empty();
    Turn turn;
    turn.until = std::min(until, timers_.next());
    turn.wait = busy ? Wait::none : wait;
    const TurnResult result = driver_.turn(turn);
    CHECK(result.completions <= turn.completions_max);
    return busy || result.completions > 0;
}

}  // namespace driftless
