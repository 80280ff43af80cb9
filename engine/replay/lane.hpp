/// Lane: one connection with everything that the kernel or a parser may hold of it. It carries one
/// exchange at a time. Immovable; made by the LanePool and kept until the run ends.
///
///     closed --open--> connecting --> idle --fire--> busy --over--> idle
///        ^                 |            |              |
///        +-----------------+------ closing <-----------+
///
/// (TLS: idle --bind--> bound --fire--> busy.)
///
/// Whoever reads bytes (read_answer.hpp) and whoever watches time only note what happened and wake
/// the lane's coroutine (lanes.cpp); that coroutine alone decides what happens next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/io/driver.hpp"
#include "engine/io/kernel_stamps.hpp"
#include "engine/io/op.hpp"
#include "engine/plan/answer_limits.hpp"
#include "engine/record/event.hpp"
#include "engine/replay/lane_tls.hpp"
#include "engine/replay/resend_meter.hpp"
#include "engine/task/task.hpp"
#include "engine/time/timers.hpp"
#include "engine/underway/row_underway.hpp"
#include "proto/core/check.hpp"
#include "proto/core/linked_list.hpp"
#include "proto/http/response.hpp"
#include "proto/sse/scanner.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
    Instant over_since;         ///< when what came last was there, or a deadline passed
    Instant free_since;         ///< the same, but where that is not sure: when it was not there yet
    Duration waited{0};         ///< at most so long a byte of the answer waited for us, up to now
    Duration accept_delay{0};   ///< from the fire until we saw that the kernel had taken some of it
    /// Since when the rest of the request waits for us to send more of it; then: when that was.
    Instant rest_from;
    Duration rest_waited{0};  ///< such waits in sum, but for sleeps (exchange.cpp)
    bool any_byte = false;
    bool head_done = false;
    bool over = false;         ///< the outcome below stands
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
    Instant idle_since;  ///< it stood, or its last answer was complete
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

    /// The exchange is over with this outcome; the first one stands.
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

}  // namespace driftless
