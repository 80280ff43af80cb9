/// UringDriver: the Driver over io_uring. One ring, made, used and destroyed on one thread.
///
/// Its parts: the ring of the kernel (IoRing), who is in flight on it (OpSlots), how an operation
/// is written for it (OpEntries), where its receives go to (BufferRing), and what all drivers of
/// this host have (HostDriver). What is left here is a turn: which completions became visible
/// together, and what follows from each. Receives are multishot and are re-armed here when
/// the kernel ends one for want of buffers or room. Submitting never runs completions: a fire costs
/// one enter and no receive work (timing-and-io.md, C.1).
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "engine/io/driver.hpp"
#include "engine/io/host_driver.hpp"
#include "engine/io/io_ring.hpp"

namespace driftless {

class UringDriver final : public HostDriver {
  public:
    /// Errors: denied (io_uring forbidden by a container or sysctl), unsupported (kernel before
    /// 6.1), exhausted (memory or descriptor limits), io_failed. CHECK at its end: no operation is
    /// in flight.
    static Result<std::unique_ptr<UringDriver>> make(const DriverOptions& options);

    void submit(Op& op) override;
    bool flush() override { return ring_.flush(); }
    TurnResult turn(const Turn& turn) override;
    void find_ends(std::span<const QuietReceive> quiet) override;
    Instant unread_since(Instant now) override;
    DriverCounters counters() const override;
    DriverFacts facts() const override;

  private:
    UringDriver() = default;
    Result<void> open(const DriverOptions& options);

    /// An operation that was asked to end.
    struct Cancelled {
        std::uint64_t user_data;
        Instant overdue;  ///< then it is asked again
        int tries;
    };
    /// An ordinary cancel has an answer as soon as the kernel is entered.
    static constexpr int cancel_tries_max = 10;
    static constexpr Duration cancel_patience{cancel_max.ns / cancel_tries_max};

    void prepare(Op& op);
    void prepare_cancel(std::uint64_t user_data);
    void watch_cancelled(const Turn& turn);
    void look(const Turn& turn, TurnResult& result);
    void note_entry(int status);
    void complete(const io_uring_cqe& entry);

    BufferRing buffers_;  ///< registered with the ring: ends after it
    IoRing ring_;
    OpEntries entries_;
    std::deque<Cancelled> cancelled_;  ///< the longest waiting first
    std::uint64_t given_up_ = 0;       ///< operations that the kernel may still have

    bool entered_in_vain_ = false;
    bool passed_over_ = false;     ///< the last look left the kernel's work for what was visible
    std::uint32_t batch_end_ = 0;  ///< completion queue tail when the batch was stamped
};

}  // namespace driftless
