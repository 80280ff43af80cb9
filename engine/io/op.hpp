/// Op: one operation on a socket, as data. The driver reads the data; the simulator reads it too.
///
/// An Op is immovable and lives where the kernel may rely on it (a lane, a connection, a coroutine
/// frame that cannot end before its completion). While it is in flight, neither it nor the bytes it
/// refers to may be touched or freed; destroying it then is a CHECK.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/io/address.hpp"
#include "engine/time/instant.hpp"
#include "proto/core/check.hpp"

namespace driftless {

/// A socket of the driver that made it: a file descriptor, or a number of the simulator. The owner
/// closes it through the driver, after its operations have ended.
struct Socket {
    int number = -1;
    bool open() const { return number >= 0; }
};

enum class OpKind : std::uint8_t {
    connect,  ///< to `address`; result 0 or -errno
    send,     ///< `bytes`; result: bytes accepted (may be fewer) or -errno
    receive,  ///< multishot: completions with bytes until one without `more`
    accept,   ///< multishot: result is a new socket's number
    cancel,   ///< ends `target`, within `cancel_max` whatever the kernel does; result 0, or -ENOENT
              ///< where it had ended already
    stamps,   ///< multishot: the kernel's transmit stamps, until cancelled; completes in
              ///< `collect_stamps` only, and so does its cancel
};

class Op;

/// What a handler is told. Bytes are valid during the call only.
struct Completion {
    std::int32_t result = 0;     ///< as the kernel gives it: a count, a socket, or -errno
    bool more = false;           ///< multishot: further completions follow
    std::string_view bytes;      ///< receive: what came in; empty at end of stream
    Instant stamp;               ///< clock read when the batch became visible
    Instant unread_since;        ///< what completed did so after this: nothing was waiting then
    Duration behind{0};          ///< send: so long its socket may have had room before we saw it
    std::int64_t kernel_ns = 0;  ///< kernel's receive or transmit stamp, same clock; 0: none
    std::uint32_t key = 0;       ///< stamps: number of the packet's last byte, from 0, among all
                                 ///< bytes sent since stamps were switched on, modulo 2^32
    std::uint32_t batch = 0;     ///< number of the turn in which it became visible
};

struct OpSpec {
    OpKind kind = OpKind::send;
    Socket socket;
    std::string_view bytes;            ///< send
    bool more_follows = false;         ///< send: MSG_MORE, further bytes of the message come
    const Address* address = nullptr;  ///< connect
    Op* target = nullptr;              ///< cancel
    const Op* stamps = nullptr;        ///< send: the operation that shall tell when it left
    bool kernel_stamps = false;        ///< receive: with the kernel's receive stamps
};

class Op {
  public:
    /// Called by the driver for each completion, outside any kernel structure: it may submit, close
    /// and cancel. It must not destroy the Op unless `in_flight()` is false.
    using Handler = void (*)(Op& op, const Completion& completion);

    Op() = default;
    ~Op() { CHECK(!in_flight()); }
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    bool in_flight() const { return slot_ != no_slot; }

    OpSpec spec;
    Handler handler = nullptr;
    void* owner = nullptr;  ///< for the handler

  private:
    friend class Driver;
    friend class OpSlots;
    static constexpr std::uint32_t no_slot = 0xFFFFFFFFu;

    /// An operation that is idle goes into flight, and one in flight ends: nothing else.
    void set_slot(std::uint32_t slot) {
        CHECK(in_flight() == (slot == no_slot));
        slot_ = slot;
    }

    std::uint32_t slot_ = no_slot;
};

}  // namespace driftless
