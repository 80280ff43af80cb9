/// One connection with everything that the kernel or a parser may hold of it, and what the bytes
/// that come on it mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/task.hpp"
#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/tls.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "engine/record/ring.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/lists.hpp"
#include "proto/http/parsers.hpp"
#include "proto/http/sse.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// HostSleep: sleeps of the host, which no stamp of ours counts. Plain value.

/// What came before the last sleep was noticed, and was not read then, has waited for up to so much
/// longer.
struct HostSleep {
    Instant noticed{INT64_MIN};
    /// Of the last sleep and of those before it in the same backlog: since the first of these
    /// something has always been waiting to be read.
    Duration length{0};
};

// A kernel stamp held against what must be true of it. Pure functions.
//
// The kernel stamps by CLOCK_REALTIME; on our clock a stamp is as right as the sampled offset
// between the two. The clock may be set between two samples: then a stamp lies outside what is
// possible, and unknown is better than wrong.

/// A stamp may be off by the error of two clock samples; 60 ns each where the thread keeps its CPU.
inline constexpr Duration stamp_tolerance = microseconds(2);

/// The stamp, moved inside the bounds where it is out by no more than the tolerance; 0 where it is
/// out by more, or is none.
inline std::int64_t believable_stamp_ns(std::int64_t kernel_ns, Instant not_before,
                                        Instant not_after) {
    if (kernel_ns == 0 || kernel_ns < (not_before - stamp_tolerance).ns ||
        kernel_ns > (not_after + stamp_tolerance).ns) {
        return 0;
    }
    return std::clamp(kernel_ns, not_before.ns, std::max(not_before, not_after).ns);
}

/// Whether a packet that ends in byte `key` of a connection ends inside the request of `bytes`
/// bytes that began with byte `first`; all numbers modulo 2^32.
inline bool ends_in_request(std::uint32_t key, std::uint32_t first, std::size_t bytes) {
    return static_cast<std::uint32_t>(key - first) < bytes;
}

/// ResendMeter: what TCP sent again for one exchange, from the counts of its whole connection.
///
/// An acknowledgement that came late makes the kernel send in vain; then the server says that it
/// has the bytes twice (DSACK). That report can reach us when the exchange is over, in the middle
/// of the next one, and must not excuse a loss of that one: reports that earlier exchanges still
/// wait for are counted first. Where the bytes were lost, no report comes: a later exchange of that
/// connection may then count as lost though it was not, never the reverse. Pure.
class ResendMeter {
  public:
    /// From here on all that is sent again is of an exchange.
    explicit ResendMeter(ResendCounts base) : base_(base) {}

    struct Spent {
        std::uint32_t segments = 0;
        bool lost = false;  ///< for some of them the server has not said that it had them
        /// The server has said more such words than the kernel sent segments again: the network
        /// makes copies itself, and no such word excuses anything.
        bool copied = false;
    };
    /// The exchange is over: all that was sent again since its base is its own.
    Spent take(ResendCounts counted) {
        const std::uint32_t segments = counted.segments - base_.segments;
        const std::uint32_t words = counted.duplicates - base_.duplicates;
        const std::uint32_t unanswered = owed_ + segments - std::min(words, owed_ + segments);
        CHECK(unanswered <= owed_ + segments);
        owed_ = unanswered;
        base_ = counted;
        return {segments, segments > 0 && unanswered > 0, counted.duplicates > counted.segments};
    }

  private:
    ResendCounts base_;
    std::uint32_t owed_ = 0;  ///< sent again by exchanges that are over, and not said to be there
};

/// LaneTls: what a lane has on top of its connection where that speaks TLS. Plain state; the parts
/// of the lanes change it (exchanges.hpp, lanes.hpp).
///
/// A request's records belong to one connection, so that a TLS lane is bound to its row as soon as
/// the row is armed, and every byte of it is encrypted before it is due.
struct LaneTls {
    TlsStream stream;
    std::string sending;          ///< bytes of TLS itself, untouched while the kernel has them
    std::uint32_t own_bytes = 0;  ///< that the handshake has sent
    char* plain = nullptr;        ///< room for one record's plain bytes; shared, the pool's
    Instant step_wanted;          ///< since when the handshake waits for its next step
    bool in_steps = false;        ///< on the list of handshakes

    RowUnderway* row = nullptr;  ///< of a bound lane; it keeps its storage
    std::size_t plain_done = 0;  ///< bytes of its request that are in records
    std::size_t sealed = 0;      ///< bytes of records so far
    bool ready = false;          ///< all are in records
    bool spoiled = false;        ///< records were made that have not been sent
    bool late = false;           ///< the row is due: it is fired as soon as it is ready
};

// Lane: one connection with everything that the kernel or a parser may hold of it. It carries one
// exchange at a time. Immovable; made by the LanePool and kept until the run ends.
//
//     closed --open--> connecting --> idle --fire--> busy --over--> idle
//        ^                 |            |              |
//        +-----------------+------ closing <-----------+
//
// (TLS: idle --bind--> bound --fire--> busy.)
//
// Handlers of bytes and timers only note what happened and wake the lane's coroutine (lanes.cpp);
// that coroutine alone decides what happens next.

enum class LaneState : std::uint8_t { closed, connecting, idle, bound, busy, closing };

/// Whether a lane can go from one state to the other, as drawn above.
constexpr bool may_follow(LaneState from, LaneState to) {
    switch (to) {
        case LaneState::closed:
            return from == LaneState::closing;
        case LaneState::connecting:
            return from == LaneState::closed;
        case LaneState::idle:
            return from == LaneState::connecting || from == LaneState::busy;
        case LaneState::bound:
            return from == LaneState::idle;
        case LaneState::busy:
            return from == LaneState::idle || from == LaneState::bound;
        case LaneState::closing:
            return from != LaneState::closed && from != LaneState::closing;
    }
    return false;
}

/// One request and its streamed answer, as far as the engine thread knows it.
struct ExchangeState {
    RowUnderway* row = nullptr;   ///< until it is settled
    std::uint32_t request = 0;    ///< the row's number
    std::string_view bytes;       ///< all that is to be sent
    char* storage = nullptr;      ///< of those bytes; null once the kernel has accepted the last
    std::size_t accepted = 0;     ///< bytes that the kernel has taken
    std::uint32_t first_key = 0;  ///< number of the first byte on its connection, modulo 2^32
    bool wire_known = false;      ///< its transmit stamp has come
    bool is_retry = false;        ///< the row was sent before: `fired` is the first time
    AnswerLimits limits;
    /// So long after its fire the client gives it up; nothing: it waits.
    std::optional<Duration> patience;

    Instant fired;
    Instant first_byte;         ///< stamp of the first response byte, once there is `any_byte`
    Instant last_byte;          ///< stamp of the latest response byte
    std::int64_t heard_ns = 0;  ///< the kernel's stamp of the read that brought the first; 0: none
    std::int64_t left_ns = 0;   ///< the kernel's stamp of the head of the request; 0: none
    bool heard = false;         ///< something came: bytes, an end or an error
    bool host_slept = false;    ///< meanwhile: some of what came may have waited for as long
    bool past_limit = false;    ///< read on behind a limit that may have passed before it came
    /// Since then so much has waited for us that the server may have had to wait, too, and may be
    /// late by as much. `never`: it has not.
    Instant stalled_since = never;
    std::size_t backlog = 0;   ///< bytes that waited together
    Instant over_since;        ///< when what came last was there, or a deadline passed
    Instant free_since;        ///< the same, but where that is not sure: when it was not there yet
    Duration waited{0};        ///< at most so long a byte of the answer waited for us, up to now
    Duration accept_delay{0};  ///< from the fire until we saw that the kernel had taken some of it
    /// Since when the rest of the request waits for us to send more of it; then: when that was.
    Instant rest_from;
    Duration rest_waited{0};  ///< such waits in sum, but for sleeps (exchanges.cpp)
    bool any_byte = false;
    bool head_done = false;
    bool over = false;         ///< the outcome below is final
    bool send_failed = false;  ///< no further byte can be sent; an answer may still come
    bool reusable = false;     ///< the message ended cleanly and the server keeps the connection
    bool close_delimited = false;
    Outcome outcome = Outcome::ok;
    std::int32_t sys_errno = 0;

    std::uint64_t bytes_received = 0;
    std::uint64_t events = 0;
    std::uint64_t whole_bytes = 0;  ///< of a body that is no stream, passed on up to a limit
    std::uint32_t entries_dropped = 0;
    Framing framing = Framing::sse;
};

class LanePool;
struct Lane;
using LaneList = LinkedList<Lane>;

struct Lane {
    LanePool* pool = nullptr;
    std::uint32_t number = 0;
    std::uint32_t target = 0;
    LaneState state = LaneState::closed;
    bool used = false;         ///< an exchange has been on this connection
    bool broken = false;       ///< the connection ended or must end
    bool rest_queued = false;  ///< waits for its turn to send the rest of its request
    bool timed_out = false;    ///< `--timeout-connect` passed
    std::int32_t connect_result = 0;
    Socket socket;
    std::uint32_t session = no_session;  ///< `--connection sticky`: whose connection it is
    ConnectionState taken_as = ConnectionState::fresh;
    Instant connected;
    Instant idle_since;  ///< it was connected, or its last answer was complete
    Instant looked;      ///< for its end (`LanePool::find_ends`)
    /// Until the server has named a number.
    static constexpr std::uint32_t answers_unknown = UINT32_MAX;
    std::uint32_t answers_left = answers_unknown;
    StampSupport has_stamps;
    std::uint32_t bytes_accepted = 0;   ///< on this connection, modulo 2^32
    std::optional<ResendMeter> resent;  ///< none: not TCP

    Op connect;
    Op send;
    Op receive;
    Op cancel;
    Op stamps;
    Op stamps_cancel;
    Timer timer;
    Signal progress;
    ResponseParser parser;
    EventScanner scanner;
    ExchangeState exchange;
    std::unique_ptr<LaneTls> tls;  ///< null: plain

    Lane* next = nullptr;  ///< on one list of the pool: idle lanes, those with a rest to send, ...
    Lane* before = nullptr;
    LaneList* shelf = nullptr;  ///< the list of idle lanes that it is on

    /// The only way into another state.
    void enter(LaneState next_state) {
        CHECK(may_follow(state, next_state));
        state = next_state;
    }

    std::size_t unsent() const { return exchange.bytes.size() - exchange.accepted; }
    /// Of its exchange, at that instant.
    Event event(EventKind kind, Instant stamp) const {
        Event event;
        event.kind = kind;
        event.request = exchange.request;
        event.lane = number;
        event.stamp_ns = stamp.ns;
        return event;
    }

    /// The exchange is over with this outcome; later calls change nothing.
    void end(Outcome outcome, std::int32_t sys_errno = 0) {
        if (exchange.over) {
            return;
        }
        exchange.over = true;
        exchange.outcome = outcome;
        exchange.sys_errno = sys_errno;
        progress.notify();
    }
    void end(AnswerLimit limit) { end(Outcome::limit_exceeded, static_cast<std::int32_t>(limit)); }

    /// It carries nothing that may go on: its coroutine closes it.
    void break_off() {
        CHECK(state != LaneState::closed);
        broken = true;
        progress.notify();
    }
};

// What the bytes of an answer mean for timing and framing, and nothing more: heads, events and the
// end of the message become entries of the event ring. No JSON, no allocation, no system call.

/// Per-second counts of the receiving side; owned by the health counters.
struct ReceiveCounts {
    std::int64_t receives = 0;
    std::int64_t bytes = 0;
    std::int64_t chunks = 0;
    std::int64_t coalesced_chunks = 0;
    std::int64_t dropped_payloads = 0;
    std::int64_t dropped_entries = 0;
    std::int64_t stamps_refused = 0;  ///< kernel stamps against what is possible
    std::int64_t delays = 0;          ///< receives with a kernel stamp
    std::int64_t delay_sum_ns = 0;    ///< over receives: at most so long their bytes waited for us
    std::int64_t delay_max_ns = 0;
};

/// Handles one completion of a busy lane's receive: bytes, the end of the stream, or an error. May
/// end the exchange (`lane.end`). Every event of this receive carries `done.stamp`.
/// `sleep`: the last one.
void read_answer(Lane& lane, const Completion& done, EventRing& ring, ReceiveCounts& counts,
                 const HostSleep& sleep);

inline constexpr int status_ok = 200;
/// A body that is no event stream (an error, a JSON answer) is passed on up to this size.
inline constexpr std::uint64_t whole_body_bytes_max = 64 * 1024;

}  // namespace driftless
