/// UringDriver: the Driver over io_uring. One ring, made, used and destroyed on one thread.
///
/// Its parts: the ring of the kernel (IoRing), who is in flight on it (OpSlots), how an operation
/// is written for it (OpEntries), where its receives go to (BufferRing), and transmit stamps, which
/// come another way (TransmitStamps). What is left here is a turn: which completions became visible
/// together, when, and what follows from each. Receives are multishot and are re-armed here when
/// the kernel ends one for want of buffers or room. Submitting never runs completions: a fire costs
/// one enter and no receive work (timing-and-io.md, C.1).
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

struct UringOptions {
    std::uint32_t ops_max = 4096;         ///< operations in flight at most
    std::uint32_t submit_entries = 1024;  ///< power of two
    std::uint32_t buffers = 4096;         ///< receive buffers, a power of two
    std::uint32_t buffer_bytes = 4096;
    StampSupport stamps;      ///< which kernel stamps sockets are to have, where they can
    bool warm_sends = false;  ///< `warm_send` does something
    bool stamp_ring = true;   ///< false: transmit stamps by the error queues on every kernel

    /// Of a thread beside the run: a few requests at a time, small answers.
    static UringOptions small();
};

class UringDriver final : public Driver {
  public:
    /// Errors: denied (io_uring forbidden by a container or sysctl), unsupported (kernel before
    /// 6.1), exhausted (memory or descriptor limits), io_failed. CHECK at its end: no operation is
    /// in flight.
    static Result<std::unique_ptr<UringDriver>> make(const UringOptions& options);

    Instant now() override { return HostClocks::now(); }
    Result<Socket> open_socket(const Address& address) override;
    Result<Socket> listen(const Address& address, int backlog) override;
    Result<Address> local_address(Socket socket) override;
    void shutdown(Socket socket) override;
    void close(Socket socket) override;
    void submit(Op& op) override;
    bool flush() override { return ring_.flush(); }
    TurnResult turn(const Turn& turn) override;
    void find_ends(std::span<const QuietReceive> quiet) override;
    Instant unread_since(Instant now) override;
    StampSupport switch_on_stamps(Socket socket) override;
    bool stamps_waiting(Instant now) override;
    std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first) override;
    ClockSample sample_clock() override;
    std::int64_t suspended_ns() override { return clocks_.suspended_ns(); }
    std::optional<ResendCounts> resent(Socket socket) override;
    void warm_send() override;
    std::uint32_t in_flight() const override { return slots_.in_flight(); }
    DriverCounters counters() const override;

    /// How transmit stamps come: "io_uring", "error queue" or "no".
    const char* transmit_stamps() const { return name_of(transmit_stamps_.way()); }
    bool receive_stamps() const { return stamp_keeper_.is_open(); }

    /// What was asked for, probed and used, for `run.json`: name, value.
    std::vector<std::pair<std::string, std::string>> features() const;

  private:
    UringDriver() = default;
    Result<void> open(const UringOptions& options);

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
    OpSlots slots_;
    HostClocks clocks_;

    StampSupport stamps_wanted_;
    StampKeeper stamp_keeper_;
    TransmitStamps transmit_stamps_;
    WarmPair warm_pair_;
    std::deque<Cancelled> cancelled_;  ///< the longest waiting first
    std::uint64_t given_up_ = 0;       ///< operations that the kernel may still have

    bool entered_in_vain_ = false;
    bool passed_over_ = false;     ///< the last look left the kernel's work for what was visible
    std::uint32_t batch_end_ = 0;  ///< completion queue tail when the stamp below was taken
    std::uint32_t batch_ = 0;
    Instant stamp_;
    Instant clock_set_{INT64_MIN};  ///< when we last saw that the kernel's clock had been set
    std::uint64_t clock_steps_ = 0;
    UnreadWatch unread_;
    DriverCounters counters_;  ///< `enters` without those of the ring, which counts its own
};

}  // namespace driftless
