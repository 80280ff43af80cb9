/// UringDriver: the Driver over io_uring. One ring, made, used and destroyed on one thread.
///
/// Operations become submission entries; `user_data` is slot and generation, so that a stale
/// completion is a CHECK and never somebody else's. Receives are multishot into a provided-buffer
/// ring and are re-armed here when the kernel ends one for want of buffers or room. Submitting
/// never runs completions: a fire costs one enter and no receive work (timing-and-io.md, C.1).
#pragma once

#include <liburing.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/buffers.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/transmit_stamps.hpp"
#include "engine/io/unread_watch.hpp"
#include "engine/io/warm_pair.hpp"

namespace driftless {

struct UringOptions {
    std::uint32_t ops_max = 4096;         ///< operations in flight at most
    std::uint32_t submit_entries = 1024;  ///< power of two
    std::uint32_t buffers = 4096;         ///< receive buffers, a power of two
    std::uint32_t buffer_bytes = 4096;
    StampSupport stamps;      ///< which kernel stamps sockets are to have, where they can
    bool warm_sends = false;  ///< `warm_send` does something
    bool stamp_ring = true;   ///< false: transmit stamps by the error queues on every kernel
};

class UringDriver final : public Driver {
  public:
    /// Errors: denied (io_uring forbidden by a container or sysctl), unsupported (kernel before
    /// 6.1), exhausted (memory or descriptor limits), io_failed.
    static Result<std::unique_ptr<UringDriver>> make(const UringOptions& options);
    ~UringDriver() override;
    UringDriver(const UringDriver&) = delete;
    UringDriver& operator=(const UringDriver&) = delete;

    Instant now() override;
    Result<Socket> open_socket(const Address& address) override;
    Result<Socket> listen(const Address& address, int backlog) override;
    Result<Address> local_address(Socket socket) override;
    void shutdown(Socket socket) override;
    void close(Socket socket) override;
    void submit(Op& op) override;
    bool flush() override;
    TurnResult turn(const Turn& turn) override;
    Instant unread_since(Instant now) override;
    StampSupport switch_on_stamps(Socket socket) override;
    bool stamps_waiting(Instant now) override;
    std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first) override;
    ClockSample sample_clock() override;
    std::int64_t suspended_ns() override;
    std::optional<ResendCounts> resent(Socket socket) override;
    void warm_send() override;
    std::uint32_t in_flight() const override { return in_flight_; }
    const DriverCounters& counters() const override { return counters_; }

    /// How transmit stamps come: "io_uring", "error queue" or "no".
    const char* transmit_stamps() const { return name_of(transmit_stamps_.way()); }
    bool receive_stamps() const { return stamp_keeper_ >= 0; }

    /// What was asked for, probed and used, for `run.json`: name, value.
    std::vector<std::pair<std::string, std::string>> features() const;

  private:
    enum class SlotState : std::uint8_t {
        free,
        in_flight,
        waiting_for_room,  ///< a send whose socket is full: the kernel is asked when it is not
    };
    struct Slot {
        Op* op = nullptr;
        std::uint32_t generation = 0;
        std::uint32_t next_free = no_slot;
        SlotState state = SlotState::free;
        Duration behind{0};  ///< as in its completion

        /// CHECKs that the one may follow the other: only what is in flight ends or waits.
        void go(SlotState to);
    };

    static constexpr std::uint16_t buffer_group = 1;

    UringDriver() = default;
    Result<void> open(const UringOptions& options);
    void open_stamps(const UringOptions& options);

    std::uint32_t take_slot(Op& op);
    void free_slot(Op& op);
    std::uint64_t user_data_of(std::uint32_t slot) const;
    io_uring_sqe& next_entry();
    void start(Op& op);
    void prepare(Op& op);
    void prepare_send(Op& op, io_uring_sqe& entry);
    bool send_goes_on(Op& op, std::int32_t result);
    void prepare_receive(Op& op, io_uring_sqe& entry);
    int enter(std::uint32_t submits, std::uint32_t completions_min, std::uint32_t flags,
              const Instant* until);
    Op& op_of(std::uint64_t user_data);
    void look(const Turn& turn, TurnResult& result);
    void note_entry(int status);
    void complete(const io_uring_cqe& entry);
    void take_bytes(const io_uring_cqe& entry, const Op& op, Completion& done);
    void complete_stamp(const TransmitStamps::Entry& entry);

    io_uring ring_{};
    bool ring_open_ = false;
    bool ring_registered_ = false;
    bool absolute_wait_ = false;
    bool no_iowait_ = false;
    std::uint32_t kernel_features_ = 0;
    BufferRing buffers_;

    StampSupport stamps_wanted_;
    int stamp_keeper_ = -1;
    msghdr stamped_receive_{};  ///< what a receive with stamps looks like; the kernel copies it
    TransmitStamps transmit_stamps_;
    WarmPair warm_pair_;
    Instant stamps_read_;
    ClockOffset clock_;
    std::int64_t suspended_ns_ = 0;

    std::vector<Slot> slots_;
    std::uint32_t free_slot_ = no_slot;
    std::uint32_t in_flight_ = 0;

    bool entered_in_vain_ = false;
    std::uint32_t batch_end_ = 0;  ///< completion queue tail when the stamp below was taken
    std::uint32_t batch_ = 0;
    Instant stamp_;
    UnreadWatch unread_;
    DriverCounters counters_;
};

}  // namespace driftless
