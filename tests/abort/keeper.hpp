/// Keeper: a driver that keeps every operation for ever. Only `submit` is ever called.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/io/driver.hpp"

namespace driftless {

class Keeper final : public Driver {
  public:
    Instant now() override { return {}; }
    Result<Socket> open_socket(const Address&) override { return Error{}; }
    Result<Socket> listen(const Address&, int) override { return Error{}; }
    Result<Address> local_address(Socket) override { return Error{}; }
    void shutdown(Socket) override {}
    void close(Socket) override {}
    void submit(Op& op) override { set_slot(op, 0); }
    bool flush() override { return true; }
    void find_ends(std::span<const QuietReceive>) override {}
    Instant unread_since(Instant now) override { return now; }
    std::optional<ResendCounts> resent(Socket) override { return {}; }
    TurnResult turn(const Turn&) override { return {}; }
    StampSupport switch_on_stamps(Socket) override { return {}; }
    bool stamps_waiting(Instant) override { return false; }
    std::uint32_t collect_stamps(std::uint32_t, const Op*) override { return 0; }
    ClockSample sample_clock() override { return {}; }
    std::int64_t suspended_ns() override { return 0; }
    void warm_send() override {}
    std::uint32_t in_flight() const override { return 1; }
    DriverCounters counters() const override { return {}; }
};

}  // namespace driftless
