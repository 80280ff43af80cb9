// Kernel stamps in virtual time: they come with every send and every piece received, and may be
// lost, late, of another byte, or by a clock that somebody has just set.

#include <algorithm>
#include <cerrno>

#include "proto/core/errors.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr std::uint64_t stamp_delay_ns = 20'000;  // from the call to the wire
constexpr std::uint64_t late_stamp_ns = 200'000'000;
}  // namespace

StampSupport SimDriver::switch_on_stamps(Socket socket) {
    Connection& connection = connection_of(socket.number);
    CHECK(connection.connected && !connection.stamped && connection.bytes_sent == 0);
    connection.stamped = weather_.stamps;
    return {weather_.stamps, weather_.stamps};
}

std::int64_t SimDriver::to_monotonic_ns(std::int64_t realtime_ns) const {
    return realtime_ns == 0 ? 0 : realtime_ns - clock_.offset_ns;
}

ClockSample SimDriver::sample_clock() {
    clock_.steps += clock_.offset_ns != realtime_ahead_ns_ ? 1 : 0;
    clock_.offset_ns = realtime_ahead_ns_;
    clock_.error_ns = 50;
    return clock_;
}

void SimDriver::warm_send() {
    ++warm_sends_;
}

// Every send of a stamped connection has one, of its last byte.
void SimDriver::stamp_sent(Connection& connection, const Op& op, std::size_t size) {
    if (!connection.stamped) {
        return;
    }
    connection.bytes_sent += static_cast<std::uint32_t>(size);
    const auto armed = std::find_if(ops_.begin(), ops_.end(), [&](const auto& entry) {
        const OpSpec& spec = entry.second.op->spec;
        return spec.kind == OpKind::stamps && spec.socket.number == op.spec.socket.number;
    });
    if (armed == ops_.end() || chance(weather_.lose_stamp)) {
        return;
    }
    const auto delay = static_cast<std::int64_t>(random_.below(stamp_delay_ns));
    // Nothing reaches the server before it is on the wire.
    connection.to_server = std::max(connection.to_server, now_ + Duration{delay});
    Stamp stamp{.op = armed->first, .more = true, .key = connection.bytes_sent - 1};
    if (chance(weather_.wrong_key)) {
        stamp.key += static_cast<std::uint32_t>(random_.below(1 << 20)) - (1u << 19);
    }
    stamp.realtime_ns = realtime_ns() + delay;
    stamp.ready = now_ + Duration{delay};
    if (chance(weather_.late_stamp)) {
        stamp.ready =
            stamp.ready + Duration{static_cast<std::int64_t>(random_.below(late_stamp_ns))};
    }
    stamps_.push_back(stamp);
}

void SimDriver::cancel_stamps(Op& op, std::uint32_t number) {
    const bool there = op.spec.target->in_flight();
    if (there) {
        const std::uint32_t target = slot_of(*op.spec.target);
        std::erase_if(stamps_, [&](const Stamp& stamp) { return stamp.op == target; });
        stamps_.push_back({target, -ECANCELED, false, 0, 0, now_});
    }
    stamps_.push_back({number, there ? 0 : -ENOENT, false, 0, 0, now_});
}

bool SimDriver::stamps_waiting(Instant now) {
    return std::any_of(stamps_.begin(), stamps_.end(),
                       [&](const Stamp& stamp) { return stamp.ready <= now; });
}

std::uint32_t SimDriver::collect_stamps(std::uint32_t stamps_max, const Op*) {
    std::vector<Stamp> ready;
    const Instant at = now();
    std::erase_if(stamps_, [&](const Stamp& stamp) {
        const bool taken = stamp.ready <= at && ready.size() < stamps_max;
        if (taken) {
            ready.push_back(stamp);
        }
        return taken;
    });
    for (const Stamp& stamp : ready) {
        hand_over(stamp);
    }
    return static_cast<std::uint32_t>(ready.size());
}

void SimDriver::hand_over(const Stamp& stamp) {
    const auto found = ops_.find(stamp.op);
    CHECK(found != ops_.end());
    Op& op = *found->second.op;
    Completion done;
    done.result = stamp.result;
    done.more = stamp.more;
    done.key = stamp.key;
    done.kernel_ns = to_monotonic_ns(stamp.realtime_ns);
    done.stamp = now_;
    if (!done.more) {
        ops_.erase(found);
        set_slot(op, no_slot);
    }
    op.handler(op, done);
}

}  // namespace driftless::sim
