#include "engine/machines/calibration_floor.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "engine/io/sockets.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

Sink::~Sink() {
    stop();
}

Result<Address> Sink::start(const cpu_set_t* cpus) {
    const Result<std::vector<Address>> any = resolve("127.0.0.1", 0);
    if (!any) {
        return any.error();
    }
    const Result<Socket> listening = make_listening_socket(any.value().front(), 1);
    if (!listening) {
        return listening.error();
    }
    listening_ = listening.value();
    if (const Result<void> started = thread_.start<&Sink::work>("sink", cpus, *this); !started) {
        return started.error();
    }
    return local_address_of(listening_);
}

void Sink::stop() {
    if (thread_.runs()) {
        (void)::shutdown(listening_.number, SHUT_RDWR);  // ends an accept that nobody answered
        thread_.join();
    }
    if (listening_.open()) {
        (void)::close(listening_.number);
        listening_ = Socket{};
    }
}

void Sink::work() {
    const Fd peer(::accept4(listening_.number, nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 64 * 1024> bytes;
    while (peer.is_open() && ::recv(peer.number(), bytes.data(), bytes.size(), 0) > 0) {
    }
}

static constexpr std::int64_t gap_ns = 20'000;  // above a timer tick's work (timing-and-io.md, B.2)
static constexpr Duration margin = microseconds(300);
static constexpr std::size_t small_bytes = 300;
static constexpr std::size_t large_bytes = 16 * 1024;

namespace {

/// Lengths that are spread evenly over [from, to), the same for one seed.
class Lengths {
  public:
    Lengths(std::uint64_t seed, Duration from, Duration to)
        : state_(seed), from_(from.ns), span_(static_cast<std::uint64_t>(to.ns - from.ns)) {}

    Duration next() {
        state_ += golden_gamma;
        return {from_ + static_cast<std::int64_t>(mix64(state_) % span_)};
    }

  private:
    std::uint64_t state_;
    std::int64_t from_;
    std::uint64_t span_;
};

}  // namespace

static void sleep_until(Driver& driver, Instant until) {
    if (until > driver.now()) {
        (void)driver.turn({until, 0, Wait::sleep, true});
    }
}

// Returns the first reading of the clock that is not before `until`.
static Instant spin_until(Driver& driver, Instant until) {
    Instant now = driver.now();
    while (now < until) {
        now = driver.now();
    }
    return now;
}

static Instant wait_hybrid(Driver& driver, Instant until) {
    sleep_until(driver, until - margin);
    return spin_until(driver, until);
}

/// Time that one send of `bytes` takes to be handed over, at an instant that was waited for.
static std::int64_t time_fire(Driver& driver, Op& send, std::string_view bytes, Instant due) {
    sleep_until(driver, due - margin);
    send.spec.bytes = bytes;
    driver.submit(send);
    (void)spin_until(driver, due);
    const Instant at = driver.now();
    (void)driver.flush();
    const Instant after = driver.now();
    while (send.in_flight()) {
        (void)driver.turn({never, 16, Wait::spin, true});
    }
    return (after - at).ns;
}

Spread spread_of(std::vector<std::int64_t>& values) {
    Spread spread;
    if (values.empty()) {
        return spread;
    }
    std::sort(values.begin(), values.end());
    const auto at = [&values](std::size_t per_mille) {
        return values[(values.size() * per_mille + 999) / 1000 - 1];
    };
    spread.count = values.size();
    spread.p50_ns = at(500);
    spread.p99_ns = at(990);
    spread.p999_ns = at(999);
    spread.max_ns = values.back();
    return spread;
}

SpinGaps measure_spin_gaps(Driver& driver, Duration length) {
    const Instant begin = driver.now();
    const Instant end = begin + length;
    std::int64_t lost = 0;
    std::uint64_t gaps = 0;
    SpinGaps found;
    Instant last = begin;
    while (last < end) {
        const Instant now = driver.now();
        const std::int64_t gap = (now - last).ns;
        if (gap > gap_ns) {
            ++gaps;
            lost += gap;
            found.max_ns = std::max(found.max_ns, gap);
        }
        last = now;
    }
    const auto spun = static_cast<double>((last - begin).ns);  // the last gap goes beyond the end
    found.per_s = static_cast<double>(gaps) * 1e9 / spun;
    found.lost_share = static_cast<double>(lost) / spun;
    return found;
}

WaitFloors measure_waits(Driver& driver, std::uint32_t rounds, Duration most, std::uint64_t seed) {
    std::vector<std::int64_t> errors[3];
    for (std::vector<std::int64_t>& list : errors) {
        list.reserve(rounds);
    }
    Lengths lengths(seed, microseconds(500), microseconds(1500));
    const Instant end = driver.now() + most;
    for (std::uint32_t round = 0; round < rounds && (round == 0 || driver.now() < end); ++round) {
        const Instant spin_due = driver.now() + lengths.next();
        errors[0].push_back((spin_until(driver, spin_due) - spin_due).ns);
        const Instant hybrid_due = driver.now() + lengths.next();
        errors[1].push_back((wait_hybrid(driver, hybrid_due) - hybrid_due).ns);
        const Instant sleep_due = driver.now() + lengths.next();
        sleep_until(driver, sleep_due);
        errors[2].push_back((spin_until(driver, sleep_due) - sleep_due).ns);
    }
    return {spread_of(errors[0]), spread_of(errors[1]), spread_of(errors[2])};
}

Result<FireFloors> measure_fires(Driver& driver, std::uint32_t rounds, Duration most,
                                 const cpu_set_t* sink_cpus, std::uint64_t seed) {
    Sink sink;
    const Result<Address> listening = sink.start(sink_cpus);
    if (!listening) {
        return listening.error();
    }
    const Result<Socket> socket = driver.open_socket(listening.value());
    if (!socket) {
        return socket.error();
    }
    std::int32_t connected = 0;
    Op connect;
    connect.spec.kind = OpKind::connect;
    connect.spec.socket = socket.value();
    connect.spec.address = &listening.value();
    connect.owner = &connected;
    connect.handler = [](Op& op, const Completion& done) {
        *static_cast<std::int32_t*>(op.owner) = done.result;
    };
    driver.submit(connect);
    while (connect.in_flight()) {
        (void)driver.turn({driver.now() + milliseconds(10), 16, Wait::sleep, true});
    }
    FireFloors floors;
    if (connected == 0) {
        const std::vector<char> bytes(large_bytes, 'x');
        Op send;
        send.spec.kind = OpKind::send;
        send.spec.socket = socket.value();
        send.handler = [](Op&, const Completion&) {};
        Lengths lengths(seed, microseconds(300), microseconds(700));
        std::vector<std::int64_t> small;
        std::vector<std::int64_t> large;
        small.reserve(rounds);
        large.reserve(rounds);
        const Instant end = driver.now() + most;
        while (small.size() < rounds && (small.empty() || driver.now() < end)) {
            small.push_back(time_fire(driver, send, {bytes.data(), small_bytes},
                                      driver.now() + lengths.next()));
            large.push_back(time_fire(driver, send, {bytes.data(), large_bytes},
                                      driver.now() + lengths.next()));
        }
        floors = {spread_of(small), spread_of(large)};
    }
    driver.close(socket.value());
    sink.stop();
    if (connected != 0) {
        return Error{ErrorCode::refused, -connected, "connect to a local socket"};
    }
    return floors;
}

}  // namespace driftless
