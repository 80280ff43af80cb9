/// What the engine thread tells the writer thread, and the ring in which it does; before it how
/// much one answer may say, which both hold it against.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "engine/plan/plan.hpp"
#include "proto/api/dialect.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Event: what the engine thread tells the writer thread. 64 bytes, then `length` bytes of payload.
//
// The engine stamps and frames; it does not look inside. All stamps are absolute readings of the
// driver's clock (ns); the writer subtracts time 0. One row's events arrive in the order below:
//
//     armed  fired  [wire]  [sent]  [part ...]  head  ( part | chunk )*  end
//
// `sent` may come anywhere after `fired`: a server may answer before it has read everything.
// A counted stale retry repeats nothing: the row keeps its first `fired`. A row that never left
// has `armed` and `end`. `armed` says who the row is and when it was due; all others name it by
// its request alone.

enum class EventKind : std::uint8_t {
    armed,  ///< every byte was ready, or `never_armed` where it never was; `due` and `user` below.
            ///< It goes with the `fired` or the `end` behind it, and is as safe as that
    fired,  ///< stamp read right before the enter that carries the first byte; `fired` below
    wire,   ///< kernel transmit stamp in `wire_ns`
    sent,  ///< the kernel has accepted the last byte; `sent` below, and in `waited_ns` for how long
           ///< parts of the request waited for us, in sum
    part,  ///< payload: response head bytes before `head`, afterwards body bytes of an event that
           ///< is not complete yet, and in `waited_ns` as of `chunk`
    head,  ///< the response head is complete; `status` is valid
    chunk,  ///< one event of the body is complete, its last byte waited for us for `waited_ns` at
            ///< most; payload: its bytes since the last part
    end,    ///< the exchange is over; `end` below, and in `waited_ns` an upper bound of the longest
          ///< that a byte of the answer waited for us; of `not_sent`, for how long the row was held
          ///< back, `no_wait` where it was not. The last event of its row
    sample,  ///< once a second: payload is a ClientSample (client_sample.hpp); request is unused
    skip,    ///< filler up to the end of the ring's memory; never seen by a reader
};

/// Flags of an event.
inline constexpr std::uint8_t event_payload_dropped = 1;  ///< the ring was near full: no payload
inline constexpr std::uint8_t event_coalesced = 2;  ///< shared its receive with an earlier chunk
inline constexpr std::uint8_t event_entries_dropped = 4;  ///< on `end`: chunk entries were dropped
inline constexpr std::uint8_t event_keep_alive = 8;       ///< on `chunk`: says nothing; no payload
inline constexpr std::uint8_t event_unfinished = 16;  ///< on `sent`: not all of it, the row ended
inline constexpr std::uint8_t event_censored = 32;  ///< on `end`: cut off, the run's time was over
/// On `end`: by the kernel's stamps, bytes of the answer were there before the request had left; or
/// it was whole, and the request had not left whole.
inline constexpr std::uint8_t event_answered_early = 64;
/// On `end`: a client that is never late might have seen another end. The answer was read on behind
/// a limit that may have passed before it came; or it was cut off after its server had to wait.
inline constexpr std::uint8_t event_end_unsure = 2;
/// On `end`: the host slept meanwhile, and chunks may have waited for longer than they say.
inline constexpr std::uint8_t event_host_slept = 128;
/// On `armed`: the phase, one token alone, and which attempt it is.
inline constexpr std::uint8_t event_phase_mask = 3;
inline constexpr std::uint8_t event_one_token = 4;
inline constexpr unsigned event_attempt_shift = 3;
static_assert(phase_count <= event_phase_mask + 1U);
static_assert(Due::attempts_max == UINT8_MAX >> event_attempt_shift);

/// A Due, but for its request, its user, and what the flags say.
struct DueInfo {
    std::int64_t due_ns;
    std::int64_t parent_end_ns;
    std::uint32_t row;
    std::uint32_t rank;
    std::uint32_t failed_row;
    std::uint32_t pass;
};

struct FiredInfo {
    std::int64_t connect_ns;  ///< when the lane was connected
    std::int64_t held_ns;     ///< held back by a cap, a limit of the host or a full ring
    std::uint32_t inflight;   ///< exchanges open, this one not counted
    std::uint32_t target;     ///< index of the URL
    LateCause late_cause;
    bool reused;
    ConnectionState connection;
    std::uint8_t reserved[1];
    /// The kernel did not take the request with the call: it left at an unknown time.
    static constexpr std::uint32_t not_taken = UINT32_MAX;
    std::uint32_t submit_ns;  ///< length of the call that carried it; below 4.2 s, or `not_taken`
};

struct SentInfo {
    std::uint64_t bytes;     ///< of the whole request
    std::int64_t accept_ns;  ///< from the fire until we saw that the kernel had taken some of it
    std::uint64_t reserved[2];
};

struct EndInfo {
    std::uint64_t bytes_sent;
    std::uint64_t bytes_received;
    /// 0 where the kernel had no part in it; of `tls_failed` its TlsFailure, bit for bit; of
    /// `limit_exceeded` the AnswerLimit; of `not_sent` the LateCause that held it back.
    std::int32_t sys_errno;
    std::uint32_t entries_dropped;  ///< chunk entries that found the ring full
    std::uint8_t stale_retries;
    /// What the engine knows. `ok` means: framing is complete; content decides the rest.
    Outcome outcome;
    bool close_delimited;  ///< complete only because the connection ended
    bool request_lost;     ///< some of it, on the way: `retransmits` were not all in vain
    std::uint16_t status;  ///< HTTP status, 0 without a head: `head` may have found the ring full
    /// Segments that the kernel sent again, over all tries; at most `retransmits_max`.
    std::uint16_t retransmits;
};
inline constexpr std::uint16_t retransmits_max = 0xFFFE;
inline constexpr std::uint16_t retransmits_unknown = 0xFFFF;  ///< no TCP, or nothing left

struct Event {
    EventKind kind = EventKind::skip;
    std::uint8_t flags = 0;
    union {
        std::uint16_t status = 0;  ///< head: HTTP status
        Side side;                 ///< armed
    };
    std::uint32_t request = 0;  ///< number of the sending (plan.hpp)
    std::uint32_t lane = 0;
    std::uint32_t length = 0;  ///< payload bytes that follow
    std::int64_t stamp_ns = 0;
    static constexpr std::int64_t no_wait = -1;  ///< on `end`: nothing came
    static constexpr std::int64_t never_armed = INT64_MIN;
    union {
        std::int64_t wire_ns = 0;
        std::int64_t waited_ns;
        std::uint32_t user;
    };
    union {
        DueInfo due;
        FiredInfo fired;
        SentInfo sent;
        EndInfo end;
    };
    Event() : fired{} {}

    /// `armed`.
    static Event of_armed(const Due& due, std::int64_t armed_ns) {
        Event event;
        event.kind = EventKind::armed;
        event.request = due.request;
        event.stamp_ns = armed_ns;
        event.user = due.user;
        event.side = due.side;
        event.flags = static_cast<std::uint8_t>(static_cast<unsigned>(due.phase) |
                                                (due.one_token ? event_one_token : 0U) |
                                                unsigned{due.attempt} << event_attempt_shift);
        event.due = {due.due_ns, due.parent_end_ns, due.row, due.rank, due.failed_row, due.pass};
        return event;
    }
    /// Whose it is.
    Due armed_due() const {
        Due armed;
        armed.due_ns = due.due_ns;
        armed.request = request;
        armed.row = due.row;
        armed.rank = due.rank;
        armed.failed_row = due.failed_row;
        armed.parent_end_ns = due.parent_end_ns;
        armed.pass = due.pass;
        armed.user = user;
        armed.side = static_cast<unsigned>(side) < side_count ? side : Side::none;
        const unsigned phase = flags & event_phase_mask;
        armed.phase = phase < phase_count ? static_cast<Phase>(phase) : Phase::profile;
        armed.attempt = static_cast<std::uint8_t>(flags >> event_attempt_shift);
        armed.one_token = (flags & event_one_token) != 0;
        return armed;
    }
};
static_assert(sizeof(DueInfo) == 32);
static_assert(sizeof(FiredInfo) == 32 && sizeof(SentInfo) == 32 && sizeof(EndInfo) == 32);
static_assert(sizeof(Event) == 64);
static_assert(std::is_trivially_copyable_v<Event>);

/// EventRing: the lock-free, single-producer single-consumer way from the engine to the writer.
///
/// Cells of 64 bytes; an event takes one cell and its payload the cells behind it, contiguous (a
/// `skip` entry fills the end of the memory where a payload would wrap). Producer and consumer own
/// one cache line each and cache the other's position. Nothing blocks and nothing allocates.
///
/// Full is a handled outcome, in steps. R is `rows_open_max`; what must stay free behind an event:
///
///     payload of part, chunk              6 R cells and an eighth of the ring (payload_reserve)
///     part, chunk without payload         6 R cells: one for each other entry of an open row
///     wire, sent, head, sample            3 R cells: `armed`, `fired` and `end` of each open row
///     armed                                 R cells, and one for the event that it goes with
///     fired; end of a row that never left   R cells: one `end` for each open row
///     end of an open row                  none
///
/// So an open row never loses its `end`. `fired` can only be refused when the consumer has stalled
/// for as long as R rows take: ask `has_room_for_row` before a fire, and hold the row back if not.
class EventRing {
  public:
    /// `bytes` is rounded up to a power of two, and up to what the reserves and one payload need.
    /// Memory is taken and touched here; where there was none, nothing else may be called.
    EventRing(std::size_t bytes, std::size_t rows_open_max);
    ~EventRing();
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;
    bool has_memory() const { return cells_ != nullptr; }

    enum class Push : std::uint8_t { whole, payload_dropped, entry_dropped };

    // Producer side.
    /// Copies the event and its payload (at most `payload_bytes_max`). Sets length, and the flag
    /// of a dropped payload. A sample is dropped whole or not at all.
    Push push(const Event& event, std::string_view payload = {});
    /// Room for `armed`, `fired` and `end` of one further row beside the ends of all open rows.
    bool has_room_for_row();
    /// High-water mark in bytes since the start; the producer's view, which is up to 128 KiB
    /// behind the consumer.
    std::size_t high_bytes() const;
    std::size_t capacity_bytes() const { return (mask_ + 1) * sizeof(Cell); }

    // Consumer side.
    /// The oldest event, or nullptr. Payload follows in memory. Valid until `pop`.
    const Event* front();
    static std::string_view payload_of(const Event& event);
    /// Releases the front. Space is given back to the producer lazily, at the latest every 64 KiB
    /// (or every eighth of a smaller ring) and when the ring runs empty.
    void pop();

    /// How often the ring could hold what waits in it: 1 where it is full, the largest number where
    /// it is empty.
    std::uint64_t spare_times() const;

    static constexpr std::size_t payload_bytes_max = 64 * 1024;
    /// Largest ring: 4 GiB, so that a count of cells fits the length of a `skip`.
    static constexpr std::size_t bytes_max = std::size_t{1} << 32;

  private:
    struct Cell {
        alignas(64) std::byte bytes[64];
    };
    static_assert(sizeof(Cell) == sizeof(Event));

    std::uint64_t must_stay_free(const Event& event) const;
    bool fits(std::uint64_t cells, std::uint64_t reserve);
    std::uint64_t with_skip(std::uint64_t cells) const;
    void place(const Event& event, std::string_view payload, std::uint64_t cells);
    void look_at_consumer();

    Cell* cells_ = nullptr;
    std::uint64_t mask_ = 0;             ///< cells - 1
    std::uint64_t release_cells_ = 0;    ///< given back at the latest after so many
    std::uint64_t rows_open_max_ = 0;    ///< R
    std::uint64_t payload_reserve_ = 0;  ///< cells

    struct alignas(64) Producer {
        std::uint64_t tail = 0;
        std::uint64_t head_seen = 0;
        std::uint64_t looked_at = 0;  ///< tail when `head_seen` was read
        std::uint64_t high = 0;       ///< cells
    } producer_;
    struct alignas(64) Consumer {
        std::uint64_t head = 0;
        std::uint64_t tail_seen = 0;
        std::uint64_t released = 0;
    } consumer_;
    alignas(64) std::atomic<std::uint64_t> shared_tail_{0};
    alignas(64) std::atomic<std::uint64_t> shared_head_{0};
};

// Answer limits: how much one answer may say before it is over its limit. Pure arithmetic; the
// engine holds events against it as they come, the writer what the server says it counted.

/// Events, and tokens, of an answer to a row that asked for so many; 0: unknown. A server may send
/// four times the asked tokens in events, and some more for role, usage and pings. Where nothing
/// is asked (`--output free`): a bound far above any model's context.
constexpr std::uint64_t answer_events_max(std::uint32_t asked, OutputRule rule) {
    constexpr std::uint64_t events_per_token = 4;
    constexpr std::uint64_t events_extra = 64;
    constexpr std::uint64_t events_free = 4'000'000;
    return rule == OutputRule::free || asked == 0 ? events_free
                                                  : events_per_token * asked + events_extra;
}

/// Which bound an answer went over.
enum class AnswerLimit : std::int32_t {
    events = 1,  ///< events_max
    bytes,       ///< bytes_max
    head,        ///< bytes or fields of a head, or of trailers (proto/http/parsers.hpp)
};

/// Bounds on what one answer may hold, from the row's asked length. Comments (`: ping`) are not
/// events; their bytes count.
struct AnswerLimits {
    std::uint64_t events_max = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t event_bytes_max = 0;  ///< of one event, or of an answer that is not streamed
};

/// Tokens of a row's prompt, for its limits; a recorded body is taken for one in 16 bytes at least.
inline std::uint64_t prompt_tokens_of(const Trace& trace, const TraceRow& row) {
    constexpr std::uint64_t bytes_per_token = 16;
    return std::max<std::uint64_t>(row.input_length, trace.body_of(row).size() / bytes_per_token);
}

/// An event of one token is below 1 KiB on every server measured; usage and heads add some. Where
/// every event repeats all text and ids so far, those come on top; so do the ids of the prompt,
/// which some servers send back (8 bytes a token), some with their logprobs.
constexpr AnswerLimits answer_limits(std::uint64_t prompt, std::uint32_t asked, OutputRule rule,
                                     bool repeats_text) {
    constexpr std::uint64_t bytes_per_event = 4096;
    constexpr std::uint64_t bytes_extra = 16 << 20;
    constexpr std::uint64_t repeated_bytes_per_token = 32;
    constexpr std::uint64_t event_bytes = 1 << 20;
    constexpr std::uint64_t event_bytes_per_token = 64;
    AnswerLimits limits;
    limits.events_max = answer_events_max(asked, rule);
    limits.event_bytes_max = event_bytes + event_bytes_per_token * (prompt + asked);
    limits.bytes_max = limits.events_max * bytes_per_event + bytes_extra + limits.event_bytes_max;
    if (repeats_text) {
        limits.bytes_max += repeated_bytes_per_token * asked * std::uint64_t{asked};
    }
    return limits;
}

}  // namespace driftless
