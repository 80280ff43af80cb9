/// Weather: how unkind the simulated world is: every fault of connects, sends, receives, the host
/// and the kernel's stamps, each with its own probability. Plain values; the default is fair
/// weather. What servers say wrong belongs to `mock::CoreOptions` and to `ScriptedServer`.
#pragma once

#include "engine/base/time.hpp"
#include "tests/std.hpp"

namespace driftless::sim {

/// Where the server's side of a connection ends: after so many of its bytes, whatever they mean.
struct Cut {
    enum class Kind : std::uint8_t {
        reset,
        close,       ///< in good order; what the client sends afterwards is answered by a reset
        half_close,  ///< says nothing more and reads on
    };
    std::uint64_t bytes = 0;
    Kind kind = Kind::reset;
};

/// Probabilities are per occasion.
struct Weather {
    // Connects.
    double no_socket = 0;  ///< every descriptor is taken (EMFILE)
    double no_port = 0;    ///< per connect: every port is taken (EADDRNOTAVAIL)
    double refuse_connect = 0;
    double slow_connect = 0;  ///< its SYN is lost once or twice: it takes 1 or 3 s
    double hang_connect = 0;  ///< never answers: only a cancel ends it
    double late_cancel = 0;   ///< per cancel: too late, the connect ends by itself right then

    // Sends.
    double inline_send = 0.5;   ///< completes before its submission returns, as most do
    double short_send = 0;      ///< the kernel accepts a part only
    double block_send = 0;      ///< the socket is full, for up to 2 s or until it is shut down
    double no_memory = 0;       ///< the kernel has no memory for it (ENOBUFS)
    double lose_sent = 0;       ///< per segment: lost, and sent again after `lost_for`
    double resend_in_vain = 0;  ///< per segment: sent again, though it had arrived
    static constexpr Duration lost_for = milliseconds(250);  ///< at least 200 ms by RFC 6298

    double busy_flush = 0;  ///< the kernel takes nothing (EBUSY): it goes with the next turn

    // What comes back.
    double split = 0.5;                        ///< a piece is cut in two, again and again
    bool bytewise = false;                     ///< every piece is one byte
    Duration latency_max = microseconds(200);  ///< one way, per piece
    double stall = 0;                          ///< per piece: retransmitted, up to 2 s late
    double cut = 0;                            ///< per connection: ends after up to 8 KB
    std::optional<Cut> cut_at;                 ///< every connection ends there
    Duration idle_close{0};                    ///< servers close so long after an answer; 0: never
    double merge = 0.5;  ///< per piece that another one of its connection stands behind: one read
    /// Per end of a connection, our own shutdown included: no completion says so until the receive
    /// is cancelled, or somebody looks for it.
    double lose_end = 0;
    double no_buffers = 0;  ///< per piece: ENOBUFS, read in the next turn

    // Our host.
    double late_wake = 0;  ///< a sleep ends up to 5 ms late
    double pause = 0;      ///< per turn: the process stands still for up to 2 s
    double suspend = 0;    ///< per turn: the host sleeps for up to 5 s, and our clock stands still
    double overflow = 0;   ///< per turn with completions: the queue shows a part of them
    /// Per entry of the kernel that brings something: its flag was raised behind that, and says
    /// that work waits until an entry brings something again, however often the kernel is entered.
    double stuck_flag = 0;

    // Kernel stamps.
    bool stamps = true;     ///< the kernel has them at all
    double lose_stamp = 0;  ///< per transmit stamp
    double late_stamp = 0;  ///< per transmit stamp: it comes up to 200 ms late
    double wrong_key = 0;   ///< per transmit stamp: it names another byte
    double step_clock = 0;  ///< per turn: CLOCK_REALTIME jumps by up to a second, either way
};

/// TLS of the servers, and how badly they speak it. Probabilities are per connection where nothing
/// else is said.
struct TlsWeather {
    bool on = false;
    bool only_first = false;    ///< the other URLs are plain http
    bool old = false;           ///< TLS 1.2 and no newer
    std::uint32_t tickets = 2;  ///< right behind a full handshake

    // Handshakes that come to nothing.
    double no_tls = 0;      ///< the hello is answered in plain HTTP
    double alert = 0;       ///< ... by an alert
    double hang_up = 0;     ///< ... by the end of the connection
    double deaf = 0;        ///< ... by nothing
    double wrong_name = 0;  ///< the certificate is somebody else's
    double forget = 0;      ///< tickets that were given before are not taken any more

    // Behind the handshake.
    double corrupt = 0;     ///< a bit flips somewhere in its first 8 KB, the handshake included
    double murmur = 0;      ///< again and again, up to 300 ms later: a ticket, or new keys
    double interrupt = 0;   ///< per piece of an answer: the same, in front of it
    double no_goodbye = 0;  ///< per end in good order: without a close_notify

    // Our host: arithmetic takes time.
    Duration step_max{0};    ///< per message of a handshake
    Duration record_max{0};  ///< per record that is made
};

}  // namespace driftless::sim
