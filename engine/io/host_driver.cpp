#include "engine/io/host_driver.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "engine/io/epoll.hpp"
#include "engine/io/uring.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

DriverOptions DriverOptions::small() {
    DriverOptions options;
    options.ops_max = 256;
    options.submit_entries = 64;
    options.buffers = 64;
    return options;
}

Result<std::unique_ptr<Driver>> make_driver(const DriverOptions& options) {
    std::optional<Error> why_not_ring;
    if (options.kind != DriverKind::epoll) {
        Result<std::unique_ptr<UringDriver>> ring = UringDriver::make(options);
        if (ring) {
            return std::unique_ptr<Driver>(std::move(ring).value());
        }
        if (options.kind == DriverKind::io_uring) {
            return ring.error();
        }
        why_not_ring = ring.error();
    }
    Result<std::unique_ptr<EpollDriver>> made = EpollDriver::make(options, why_not_ring);
    if (!made) {
        return made.error();
    }
    return std::unique_ptr<Driver>(std::move(made).value());
}

void HostDriver::open_parts(const DriverOptions& options) {
    CHECK(options.ops_max > 0);
    slots_.open(options.ops_max);
    stamp_ = now();
    unread_ = UnreadWatch(stamp_);
    (void)sample_clock();
    stamps_wanted_ = options.stamps;
    if (stamps_wanted_.transmit) {
        transmit_stamps_.open(options.ops_max, options.stamp_ring);
    }
    if (stamps_wanted_.receive) {
        stamp_keeper_ = keep_receive_stamps();
    }
    if (options.warm_sends) {
        (void)warm_pair_.open();
    }
}

void HostDriver::add_facts(DriverFacts& facts) const {
    facts.transmit_stamps = name_of(transmit_stamps_.way());
    facts.receive_stamps = stamp_keeper_.is_open();
    facts.features.emplace_back("transmit_stamps", facts.transmit_stamps);
    facts.features.emplace_back("receive_stamps", yes_no(facts.receive_stamps));
    facts.features.emplace_back("warm_sends", yes_no(warm_pair_.is_open()));
}

bool HostDriver::take(Op& op) {
    CHECK(!op.in_flight());
    CHECK(op.handler != nullptr);
    slots_.take(op);
    const OpSpec& spec = op.spec;
    if (spec.kind == OpKind::stamps) {
        transmit_stamps_.arm(slots_.user_data_of(op), spec.socket);
        return false;
    }
    if (spec.kind == OpKind::cancel && spec.target != nullptr &&
        spec.target->spec.kind == OpKind::stamps) {
        transmit_stamps_.cancel(slots_.user_data_of(*spec.target), slots_.user_data_of(op));
        return false;
    }
    if (spec.kind == OpKind::send && spec.stamps != nullptr && spec.stamps->in_flight()) {
        transmit_stamps_.expect(slots_.user_data_of(*spec.stamps), stamp_);
    }
    return true;
}

void HostDriver::stamp_batch() {
    stamp_ = now();
    if (stamps_wanted_.receive && !clocks_.agrees(stamp_)) {
        clock_set_ = stamp_;
    }
    ++batch_;
}

Completion HostDriver::completion_of(const Op& op, std::int32_t result, bool is_cut) const {
    Completion done;
    done.result = result;
    done.stamp = stamp_;
    done.unread_since = std::min(unread_.since(), slots_.quiet_since(op));
    done.stamps_last_byte = !is_cut && clock_set_ < done.unread_since;
    done.batch = batch_;
    done.behind = slots_.behind(op);
    return done;
}

ClockSample HostDriver::sample_clock() {
    const ClockSample sample = clocks_.sample();
    if (sample.steps != clock_steps_) {
        clock_steps_ = sample.steps;
        clock_set_ = now();
    }
    return sample;
}

void HostDriver::shutdown(Socket socket) {
    CHECK(socket.open());
    (void)::shutdown(socket.number, SHUT_RDWR);
}

void HostDriver::close(Socket socket) {
    CHECK(socket.open());
    (void)::close(socket.number);
}

void HostDriver::warm_send() {
    if (warm_pair_.is_open()) {
        warm_pair_.send();
    }
}

StampSupport HostDriver::switch_on_stamps(Socket socket) {
    return driftless::switch_on_stamps(socket, stamps_wanted_);
}

bool HostDriver::stamps_waiting(Instant now) {
    return stamps_wanted_.transmit && transmit_stamps_.waiting(now);
}

std::uint32_t HostDriver::collect_stamps(std::uint32_t stamps_max, const Op* first) {
    const bool armed = first != nullptr && first->in_flight();
    const std::uint64_t calls_before = transmit_stamps_.system_calls();
    transmit_stamps_.look(now(), stamps_max, armed ? slots_.user_data_of(*first) : 0);
    counters_.enters += transmit_stamps_.system_calls() - calls_before;
    const Instant read = now();
    std::uint32_t count = 0;
    TransmitStamps::Entry entry;
    for (; count < stamps_max && transmit_stamps_.next(entry); ++count) {
        Op& op = slots_.op_of(entry.user_data);
        CHECK(op.spec.kind == OpKind::stamps || op.spec.kind == OpKind::cancel);
        Completion done;
        done.result = entry.result;
        done.more = entry.more;
        done.key = entry.key;
        done.stamp = read;
        done.kernel_ns = clocks_.to_monotonic_ns(entry.realtime_ns);
        if (!done.more) {
            slots_.free(op);
        }
        CHECK(op.in_flight() == done.more);
        op.handler(op, done);
    }
    CHECK(count <= stamps_max);
    return count;
}

}  // namespace driftless
