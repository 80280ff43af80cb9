/// Sockets: an address, an operation on a socket as data, and what is done to sockets without a
/// driver.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/base/time.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// Address: where a socket goes to. A value; resolving a name happens before time 0 only.
struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    int family() const { return storage.ss_family; }
    const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
    /// "127.0.0.1:8000", "[::1]:8000", "unix:/path". For messages.
    std::string to_text() const;
};

/// Whether what listens there shares this machine's CPUs: a Unix socket, or an address of one of
/// its interfaces. A container or a virtual machine on this host is not recognized.
bool is_of_this_host(const Address& address);

/// All addresses of a host name or literal, IPv4 and IPv6, in the resolver's order. Blocks.
/// Errors: not_found, unreachable.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

/// A Unix socket path; a leading '@' names an abstract one. Errors: too_large.
Result<Address> unix_address(const std::string& path);

// Op: one operation on a socket, as data. The driver reads the data; the simulator reads it too.
//
// An Op is immovable and lives where the kernel may rely on it (a lane, a connection, a coroutine
// frame that cannot end before its completion). While it is in flight, neither it nor the bytes it
// refers to may be touched or freed; destroying it then is a CHECK.

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
    cancel,   ///< ends `target`, within `cancel_max` at the latest; result 0, or -ENOENT where it
              ///< had ended already
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
    /// receive: `kernel_ns` is when the last of `bytes` came: nothing was left behind them in the
    /// socket, whose stamp the kernel would tell, and its clock was not set since `unread_since`
    bool stamps_last_byte = false;
    std::uint32_t key = 0;    ///< stamps: number of the packet's last byte, from 0, among all
                              ///< bytes sent since stamps were switched on, modulo 2^32
    std::uint32_t batch = 0;  ///< number of the turn in which it became visible
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

// Socket system calls that need no driver: making, naming and listening. Plain functions.

/// Stream socket of the address's family: close-on-exec, TCP_NODELAY where it is TCP. Blocking, on
/// purpose: io_uring polls by itself and would return -EAGAIN on a non-blocking one. (EpollDriver
/// makes those non-blocking that it connects or accepts on.)
Result<Socket> make_stream_socket(const Address& address);

/// Bound and listening, SO_REUSEADDR on.
Result<Socket> make_listening_socket(const Address& address, int backlog);

Result<Address> local_address_of(Socket socket);

// Which of a name's addresses takes connections: IPv4 and IPv6 race for it (RFC 8305). System
// calls of its own, before time 0 only; a run then keeps to the one that was found.

/// In the resolver's order, but families take turns, so that a family that leads nowhere costs one
/// attempt (RFC 8305, 4).
std::vector<Address> by_turns(const std::vector<Address>& addresses);

/// The first to take a connection, which is closed again. They are tried in this order: the next
/// one when those before have failed, or after `attempt_delay`, while they go on. Empty where none
/// does within `patience` of the last one's start. Blocks.
std::optional<Address> first_reachable(const std::vector<Address>& addresses, Duration patience);

/// RFC 8305, 5 recommends it.
inline constexpr Duration attempt_delay = milliseconds(250);
/// Of one name. Others are not tried.
inline constexpr std::size_t attempts_max = 16;

/// WarmPair: a private pair of TCP sockets over loopback. A byte sent through it brings the
/// kernel's sending path into the caches shortly before a fire that would find it cold.
class WarmPair {
  public:
    /// Errors: exhausted (descriptors or ports), denied, io_failed.
    Result<void> open();
    bool is_open() const { return sender_.is_open(); }
    /// One byte there: 5 to 15 us, never blocks. Now and then what has arrived is thrown away.
    /// CHECK: the pair is open.
    void send();
    std::uint64_t sends() const { return sends_; }
    /// Bytes that wait at the other end.
    std::uint64_t unread() const;

    static constexpr std::uint64_t drain_every = 256;

  private:
    Fd sender_;
    Fd receiver_;
    std::uint64_t sends_ = 0;
};

}  // namespace driftless
