// What the kernel's stamps cost the engine thread: receives and fires on connections with and
// without them, message by message in turn, so that whatever disturbs the host disturbs both alike.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "engine/io/driver.hpp"
#include "engine/io/sockets.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "perf/macro/benches.hpp"
#include "perf/macro/stage.hpp"

namespace driftless::perf {

namespace {

constexpr int rounds = 20'000;
constexpr std::size_t chunk_bytes = 250;
constexpr std::size_t request_bytes = 4096;
constexpr std::uint32_t stamps_at_once = 8;

/// A connection of the driver's to a plain socket of ours.
struct Pair {
    Socket near;
    int far = -1;
    Op receive;
    Op send;
    Op stamps;
    Op cancel;
    std::uint64_t bytes = 0;
    std::uint64_t stamped = 0;
    bool done = false;
};

void on_bytes(Op& op, const Completion& done) {
    static_cast<Pair*>(op.owner)->bytes += done.bytes.size();
}
void on_stamp(Op& op, const Completion& done) {
    static_cast<Pair*>(op.owner)->stamped += done.more ? 1 : 0;
}
void on_done(Op& op, const Completion&) {
    static_cast<Pair*>(op.owner)->done = true;
}

void turn(Driver& driver, Wait wait) {
    (void)driver.turn({driver.now() + milliseconds(1), 16, wait, true});
}

void open_pair(Driver& driver, Pair& pair, bool stamps) {
    const Result<std::vector<Address>> any = resolve("127.0.0.1", 0);
    const Result<Socket> listening = make_listening_socket(any.value().front(), 1);
    CHECK(static_cast<bool>(listening));
    const Result<Address> address = local_address_of(listening.value());
    pair.near = driver.open_socket(address.value()).value();
    CHECK(::connect(pair.near.number, address.value().raw(), address.value().length) == 0);
    pair.far = ::accept4(listening.value().number, nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(pair.far >= 0);
    ::close(listening.value().number);
    for (Op* op : {&pair.receive, &pair.send, &pair.stamps, &pair.cancel}) {
        op->owner = &pair;
        op->spec.socket = pair.near;
    }
    pair.receive.handler = on_bytes;
    pair.send.handler = on_done;
    pair.stamps.handler = on_stamp;
    pair.cancel.handler = on_done;
    pair.receive.spec.kind = OpKind::receive;
    if (stamps) {
        const StampSupport support = driver.switch_on_stamps(pair.near);
        CHECK(support.transmit && support.receive);
        pair.receive.spec.kernel_stamps = true;
        pair.stamps.spec.kind = OpKind::stamps;
        driver.submit(pair.stamps);
        pair.send.spec.stamps = &pair.stamps;
    }
    driver.submit(pair.receive);
    driver.flush();
}

void close_pair(Driver& driver, Pair& pair) {
    driver.shutdown(pair.near);
    if (pair.stamps.in_flight()) {
        pair.cancel.spec.kind = OpKind::cancel;
        pair.cancel.spec.target = &pair.stamps;
        driver.submit(pair.cancel);
    }
    while (pair.receive.in_flight() || pair.stamps.in_flight() || pair.cancel.in_flight()) {
        (void)driver.collect_stamps(16, nullptr);
        turn(driver, Wait::none);
    }
    driver.close(pair.near);
    ::close(pair.far);
}

/// From a chunk in the socket to its bytes in our hands.
std::int64_t receive_ns(Driver& driver, Pair& pair) {
    static const std::string chunk(chunk_bytes, 'x');
    const std::uint64_t wanted = pair.bytes + chunk.size();
    CHECK(::send(pair.far, chunk.data(), chunk.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(chunk.size()));
    const Instant before = driver.now();
    while (pair.bytes < wanted) {
        turn(driver, Wait::none);
    }
    return (driver.now() - before).ns;
}

/// The call that lets a request go. Its bytes are taken out at the far end outside the clock.
std::int64_t fire_ns(Driver& driver, Pair& pair) {
    static const std::string request(request_bytes, 'x');
    static std::string sink(request_bytes, ' ');
    pair.done = false;
    pair.send.spec.kind = OpKind::send;
    pair.send.spec.bytes = request;
    driver.submit(pair.send);
    const Instant before = driver.now();
    driver.flush();
    const std::int64_t taken = (driver.now() - before).ns;
    while (!pair.done) {
        turn(driver, Wait::none);
    }
    CHECK(::recv(pair.far, sink.data(), sink.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(sink.size()));
    return taken;
}

/// Spreads of both kinds of connection, in turn.
struct Compared {
    Spread plain;
    Spread stamped;
};

using Measure = std::int64_t (*)(Driver&, Pair&);

Compared compare(Driver& driver, Pair& plain, Pair& stamped, Measure measure) {
    std::vector<std::int64_t> of_plain;
    std::vector<std::int64_t> of_stamped;
    for (int i = 0; i < rounds; ++i) {
        of_plain.push_back(measure(driver, plain));
        of_stamped.push_back(measure(driver, stamped));
        (void)driver.collect_stamps(16, nullptr);
    }
    return {spread_of(of_plain), spread_of(of_stamped)};
}

/// Collecting the stamps of eight requests, for each of them.
Spread collect(Driver& driver, std::vector<Pair>& pairs) {
    std::vector<std::int64_t> each;
    for (int i = 0; i < rounds / 8; ++i) {
        for (Pair& pair : pairs) {
            (void)fire_ns(driver, pair);
        }
        const Instant before = driver.now();
        const std::uint32_t count = driver.collect_stamps(16, nullptr);
        each.push_back((driver.now() - before).ns / std::max(count, 1u));
        CHECK(count == pairs.size());
    }
    return spread_of(each);
}

std::string us(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f us", static_cast<double>(ns) / 1e3);
    return text;
}

void print(const char* what, const char* way, const Compared& compared, const char* bar) {
    char ratio[32];
    (void)std::snprintf(
        ratio, sizeof ratio, "%.3f",
        static_cast<double>(compared.stamped.p50_ns) / static_cast<double>(compared.plain.p50_ns));
    print_row(std::string(what) + ", stamps by " + way + ", p50 (floor: without)",
              us(compared.stamped.p50_ns), us(compared.plain.p50_ns), ratio, bar);
}

}  // namespace

void bench_kernel_stamps() {
    (void)take_cores();
    for (const bool ring : {true, false}) {
        DriverOptions options;
        options.stamps = {true, true};
        options.stamp_ring = ring;
        Result<std::unique_ptr<Driver>> made = make_driver(options);
        CHECK(static_cast<bool>(made));
        Driver& driver = *made.value();
        const char* way = driver.facts().transmit_stamps;
        Pair plain;
        std::vector<Pair> stamped(stamps_at_once);
        open_pair(driver, plain, false);
        for (Pair& pair : stamped) {
            open_pair(driver, pair, true);
        }
        print("a receive of 250 bytes", way, compare(driver, plain, stamped[0], receive_ns),
              "ratio <= 1.05");
        print("the call of a fire of 4 KiB", way, compare(driver, plain, stamped[0], fire_ns), "");
        const Spread each = collect(driver, stamped);
        print_row(std::string("collecting a stamp by ") + way + ", 8 at once, p50", us(each.p50_ns),
                  "", "", "");
        close_pair(driver, plain);
        for (Pair& pair : stamped) {
            close_pair(driver, pair);
        }
    }
}

}  // namespace driftless::perf
