/// OpSlots: the operations that a driver has in flight, by slot and generation.
///
/// The kernel knows an operation by its user_data, which is the slot and how often that slot has
/// been given away: a completion of an operation that has ended is a CHECK, and never somebody
/// else's. Owned by a driver, of its thread; allocates in `open` only. It owns no operation and
/// calls no handler.
#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/check.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class OpSlots {
  public:
    OpSlots() = default;
    /// CHECK: nothing is in flight.
    ~OpSlots() { CHECK(in_flight_ == 0); }
    OpSlots(const OpSlots&) = delete;
    OpSlots& operator=(const OpSlots&) = delete;

    /// `ops_max` operations in flight at most; called once.
    void open(std::uint32_t ops_max);

    /// Takes a slot for an operation: it is in flight from here on. CHECKs that it was idle and
    /// that a slot is free.
    void take(Op& op) {
        CHECK(first_free_ != Op::no_slot);  // bounded by ops_max: it counts all that may be taken
        const std::uint32_t number = first_free_;
        Slot& slot = slots_[number];
        slot.go(State::in_flight);
        first_free_ = slot.next_free;
        slot.op = &op;
        slot.behind = Duration{0};
        slot.quiet_since = never;
        slot.cancelled = false;
        op.set_slot(number);
        ++in_flight_;
    }
    /// The operation has ended. Its slot goes to the next one that asks, under a new generation.
    void free(Op& op) {
        const std::uint32_t number = number_of(op);
        Slot& slot = slots_[number];
        slot.go(State::free);
        slot.op = nullptr;
        slot.generation = generation_after(slot.generation);
        slot.next_free = first_free_;
        first_free_ = number;
        op.set_slot(Op::no_slot);
        --in_flight_;
    }

    /// What the kernel is to call this operation; `nobody` where it is not in flight. Never 0.
    std::uint64_t user_data_of(const Op& op) const {
        if (!op.in_flight()) {
            return nobody;
        }
        const std::uint32_t number = number_of(op);
        return (std::uint64_t{slots_[number].generation} << 32) | number;
    }
    /// The operation that the kernel calls so; nullptr where it is not in flight any more.
    Op* find(std::uint64_t user_data) const {
        const std::uint32_t number = static_cast<std::uint32_t>(user_data);
        CHECK(number < slots_.size());
        const bool same = slots_[number].generation == static_cast<std::uint32_t>(user_data >> 32);
        return same ? slots_[number].op : nullptr;
    }
    /// ... CHECKs that it is.
    Op& op_of(std::uint64_t user_data) const {
        Op* const op = find(user_data);
        CHECK(op != nullptr);
        return *op;
    }

    /// Its owner has asked for its end: it is not armed again.
    void note_cancel(const Op& op) { slots_[number_of(op)].cancelled = true; }
    bool is_cancelled(const Op& op) const { return slots_[number_of(op)].cancelled; }
    /// What a receive brings from here on may have been there since.
    void note_quiet(const Op& op, Instant since) {
        Slot& slot = slots_[number_of(op)];
        slot.quiet_since = std::min(slot.quiet_since, since);
    }
    Instant quiet_since(const Op& op) const { return slots_[number_of(op)].quiet_since; }

    /// A completion of a send has come: whether the kernel must be asked again before the owner
    /// hears of it, for room (`waits_for_room`) or to send. `unread`: how long the completion may
    /// have waited for us. Sends wait for room here, unseen by their owners (op_slots.cpp).
    bool send_goes_on(const Op& op, std::int32_t result, Duration unread);
    /// A send found its socket full: the kernel is to say when it is not.
    bool waits_for_room(const Op& op) const {
        return slots_[number_of(op)].state == State::waiting_for_room;
    }
    /// As in `Completion`: how long the send's socket may have had room before we saw it.
    Duration behind(const Op& op) const { return slots_[number_of(op)].behind; }

    std::uint32_t in_flight() const { return in_flight_; }

    /// The user_data of no operation.
    static constexpr std::uint64_t nobody = UINT64_MAX;
    /// Generations begin at 1 again, so that no user_data is 0.
    static constexpr std::uint32_t generation_after(std::uint32_t generation) {
        return generation == UINT32_MAX ? 1 : generation + 1;
    }

  private:
    /// Where a slot stands; steps from one to the next are checked (`Slot::go`).
    enum class State : std::uint8_t {
        free,              ///< has no operation
        in_flight,         ///< the kernel has been asked, or will be with the next flush
        waiting_for_room,  ///< a send whose socket is full
    };
    struct Slot {
        Op* op = nullptr;
        std::uint32_t generation = 1;
        std::uint32_t next_free = Op::no_slot;
        State state = State::free;
        bool cancelled = false;
        Duration behind{0};
        Instant quiet_since = never;

        /// CHECKs that the one may follow the other: what is in flight ends or waits for room; what
        /// is free or waits for room goes into flight.
        void go(State to) {
            CHECK((state == State::in_flight) != (to == State::in_flight));
            state = to;
        }
    };

    /// CHECKs that the operation is in flight here, not at another driver.
    std::uint32_t number_of(const Op& op) const {
        CHECK(op.slot_ < slots_.size() && slots_[op.slot_].op == &op);
        return op.slot_;
    }

    std::vector<Slot> slots_;
    std::uint32_t first_free_ = Op::no_slot;
    std::uint32_t in_flight_ = 0;
};

// OpEntries: how operations are written for an io_uring, and how the buffer of a receive is read.
// It owns what entries point to beside the operation itself; it knows no ring, and enters nothing.
//
// Owned by the UringDriver; lives until the kernel has taken the entries.

/// What a receive with kernel stamps has brought.
struct StampedBytes {
    std::string_view bytes;        ///< the payload; may be empty
    std::int64_t realtime_ns = 0;  ///< the kernel's stamp, CLOCK_REALTIME; 0: none
};

class OpEntries {
  public:
    OpEntries();

    /// Writes an operation; `target` is the user_data of what a cancel ends. CHECKs that the
    /// operation has what its kind needs, and that it is none on stamps: those go to
    /// TransmitStamps. The user_data of the entry is the caller's.
    void fill(io_uring_sqe& entry, const OpSpec& spec, std::uint64_t target);
    /// Asks when a socket has room, instead of sending.
    static void fill_wait_for_room(io_uring_sqe& entry, Socket socket);

    /// Where the kernel finds the buffers of receives (BufferRing).
    static constexpr std::uint16_t buffer_group = 1;

  private:
    msghdr stamped_receive_{};  ///< what a receive with stamps looks like; the kernel copies it
};

/// Reads a buffer that a receive with kernel stamps has filled: it begins with a header and the
/// control message. CHECKs that it is as long as those.
StampedBytes read_stamped(std::string_view filled);

/// BufferRing: the buffers that the kernel fills (a provided-buffer ring, Linux 5.19).
///
/// The ring owns the memory and registers it with one io_uring; the kernel picks a buffer per
/// receive, the driver reads it in place and gives it back at once. Nobody else holds one.
class BufferRing {
  public:
    BufferRing() = default;
    ~BufferRing();
    BufferRing(const BufferRing&) = delete;
    BufferRing& operator=(const BufferRing&) = delete;

    /// `count` is a power of two, at most 32,768. Takes and touches the memory.
    Result<void> open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                      std::uint32_t buffer_bytes);

    std::string_view filled(std::uint16_t id, std::size_t size) const {
        CHECK(id < count_ && size <= buffer_bytes_);
        return {memory_ + std::size_t{id} * buffer_bytes_, size};
    }
    void give_back(std::uint16_t id);

    std::size_t bytes() const { return std::size_t{count_} * buffer_bytes_; }

  private:
    io_uring_buf_ring* entries_ = nullptr;
    char* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t buffer_bytes_ = 0;
};

}  // namespace driftless
