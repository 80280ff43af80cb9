#include "tests/e2e/receiver/clock.hpp"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include <cstring>

namespace receiver {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * ns_per_s + time.tv_nsec;
}

}  // namespace

std::int64_t realtime_offset() {
    std::int64_t offset = 0;
    std::int64_t narrowest = INT64_MAX;
    for (int i = 0; i < 3; ++i) {
        const std::int64_t before = read_clock(CLOCK_MONOTONIC);
        const std::int64_t real = read_clock(CLOCK_REALTIME);
        const std::int64_t after = read_clock(CLOCK_MONOTONIC);
        if (after - before < narrowest) {
            narrowest = after - before;
            offset = real - (before + (after - before) / 2);
        }
    }
    return offset;
}

std::int64_t monotonic_ns() {
    return read_clock(CLOCK_MONOTONIC);
}

void sleep_until(std::int64_t ns) {
    const timespec until{ns / ns_per_s, ns % ns_per_s};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

void stamp_arrivals(int socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

void stamp_departures(int socket) {
    const int wanted = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
                       SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
    setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &wanted, sizeof wanted);
}

void read_departures(int socket, std::vector<Departure>& out) {
    while (true) {  // bounded by the kernel's queue
        alignas(cmsghdr) char control[256];
        msghdr message{};
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        if (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return;
        }
        Departure departure;
        for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
             header = CMSG_NXTHDR(&message, header)) {
            if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPING) {
                timespec stamp{};
                std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
                departure.left_ns = stamp.tv_sec * ns_per_s + stamp.tv_nsec - realtime_offset();
            } else if (header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR) {
                sock_extended_err error{};
                std::memcpy(&error, CMSG_DATA(header), sizeof error);
                departure.last_byte = error.ee_data;
            }
        }
        out.push_back(departure);
    }
}

Received receive(int socket, char* out, std::size_t bytes_max, int flags) {
    iovec part{out, bytes_max};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;

    Received received;
    received.bytes = recvmsg(socket, &message, flags);
    received.arrival_ns = monotonic_ns();
    if (received.bytes <= 0) {
        return received;
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS) {
            timespec stamp{};
            std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
            received.arrival_ns = stamp.tv_sec * ns_per_s + stamp.tv_nsec - realtime_offset();
            received.from_kernel = true;
        }
    }
    return received;
}

}  // namespace receiver
