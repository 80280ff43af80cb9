// An operation that a driver holds may not go away: the kernel would write into freed memory.
// Dies with: check failed: !in_flight()
#include "engine/io/driver.hpp"

namespace {

/// Keeps every operation for ever. Only `submit` is ever called.
class Keeper final : public driftless::Driver {
  public:
    driftless::Instant now() override { return {}; }
    driftless::Result<driftless::Socket> open_socket(const driftless::Address&) override {
        return driftless::Error{};
    }
    driftless::Result<driftless::Socket> listen(const driftless::Address&, int) override {
        return driftless::Error{};
    }
    driftless::Result<driftless::Address> local_address(driftless::Socket) override {
        return driftless::Error{};
    }
    void shutdown(driftless::Socket) override {}
    void close(driftless::Socket) override {}
    void submit(driftless::Op& op) override { set_slot(op, 0); }
    bool flush() override { return true; }
    driftless::Instant unread_since(driftless::Instant now) override { return now; }
    std::optional<driftless::ResendCounts> resent(driftless::Socket) override { return {}; }
    driftless::TurnResult turn(const driftless::Turn&) override { return {}; }
    driftless::StampSupport switch_on_stamps(driftless::Socket) override { return {}; }
    bool stamps_waiting(driftless::Instant) override { return false; }
    std::uint32_t collect_stamps(std::uint32_t, const driftless::Op*) override { return 0; }
    driftless::ClockSample sample_clock() override { return {}; }
    std::int64_t suspended_ns() override { return 0; }
    void warm_send() override {}
    std::uint32_t in_flight() const override { return 1; }
    const driftless::DriverCounters& counters() const override { return counters_; }

  private:
    driftless::DriverCounters counters_;
};

}  // namespace

int main() {
    Keeper driver;
    driftless::Op op;
    driver.submit(op);
}
