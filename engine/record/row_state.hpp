/// What is known of a row while it is open: what its answer has said so far, what a cache would
/// hold of it, and whether the turns before it had ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/forecast.hpp"
#include "engine/plan/plan.hpp"
#include "engine/record/ring.hpp"
#include "proto/api/dialect.hpp"
#include "proto/api/request_body.hpp"
#include "proto/core/hash.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Makes a value new, but for the memory of these members, whose content goes.
template <typename T, typename... Lists>
void renew(T& value, Lists T::*... lists) {
    T fresh{};
    (std::swap(fresh.*lists, value.*lists), ...);
    (((fresh.*lists).clear()), ...);
    value = std::move(fresh);
}

// AnswerState: what one answer, streamed or whole, has said so far. Fed with one event at a time;
// it stamps nothing itself, owns its texts, and decides no outcome (fill_record.hpp does, at the
// end of the row).

/// A stamp that has not been taken. Virtual time may begin at 0, so 0 will not do.
inline constexpr std::int64_t no_stamp = INT64_MIN;

/// Chunks of one row that are kept. The engine's own limit (4 x asked + 64) is far below it.
inline constexpr std::size_t chunks_per_row_max = std::size_t{1} << 22;
/// Bytes of `response_id` and `finish_reason` in a record: ids are below 100 in the wild.
inline constexpr std::size_t id_bytes_max = 256;
/// Bytes of what a gateway says of its worker.
inline constexpr std::size_t worker_bytes_max = 512;
/// Bytes of a server's message, id or finish that are kept until it is masked and cut.
inline constexpr std::size_t message_bytes_max = 4096;
/// `--save-responses`: bytes of each text of one answer that are kept; more is cut and said so.
inline constexpr std::size_t saved_text_bytes_max = std::size_t{4} << 20;

/// Texts of one answer, for `--save-responses` and later turns.
struct SavedText {
    std::string content;
    std::string reasoning;
    std::string tool_text;  ///< functions of tool call deltas, as written, back to back
    SaidCalls calls;        ///< the same, put together
    bool cut = false;
};

/// When an event was read that is complete.
struct ReadAt {
    std::int64_t ns = 0;         ///< absolute stamp of the read that completed it
    std::int64_t waited_ns = 0;  ///< at most so long its last byte waited for us
    bool coalesced = false;      ///< it shared that read with an earlier event
};

struct AnswerState {
    // Stamps, absolute, of the events that completed them.
    std::int64_t first_token_ns = no_stamp;
    std::int64_t first_content_ns = no_stamp;
    std::int64_t last_token_ns = no_stamp;
    std::int64_t last_token_wait_ns = 0;      ///< at most so long it waited for us
    std::int64_t first_event_ns = no_stamp;   ///< of the API: a role, a token, not usage alone
    std::int64_t finish_event_ns = no_stamp;  ///< the one that named the finish reason
    std::int64_t usage_event_ns = no_stamp;   ///< the last one of usage alone
    std::int64_t error_event_ns = no_stamp;   ///< the first error object
    std::int64_t end_marker_ns = no_stamp;

    /// [chunks] absolute stamps of the token-bearing chunks.
    std::vector<std::int64_t> chunk_stamps;
    /// [chunks] at most so long each waited for us, ns.
    std::vector<std::int64_t> chunk_waits;
    /// [chunks] tokens of each, while `counting` is not `none`; else empty.
    std::vector<std::int32_t> chunk_tokens;
    /// What the chunks held, as runs (record.hpp); the latest run is still open.
    std::string chunk_kinds;
    char open_kind = 'u';
    std::uint32_t open_kind_chunks = 0;
    /// How the tokens of a chunk are known: decided by the first one, given up by the first that
    /// does not say.
    enum class Counting : std::uint8_t { undecided, continuous, ids, none };
    Counting counting = Counting::undecided;
    std::int64_t continuous_last = 0;  ///< running usage at the latest token-bearing chunk
    std::size_t repeated_bytes = 0;    ///< of content that events repeat
    std::size_t repeated_reasoning_bytes = 0;
    std::int64_t repeated_tokens = 0;  ///< what they had counted
    bool ids_on_all = true;
    bool ids_seen = false;
    std::int64_t ids_sum = 0;

    std::int64_t prompt_tokens = -1;  ///< -1: not said
    std::int64_t cached_tokens = -1;
    std::int64_t completion_tokens = -1;  ///< the last one read
    bool usage_is_final = false;  ///< it stood on an event without choices, or at the finish
    bool usage_seen = false;      ///< some event had one, with counts in it or without

    std::uint32_t coalesced_chunks = 0;
    bool is_whole = false;    ///< not streamed: no chunk, no first token, only an end
    bool has_tokens = false;  ///< of a stream or of a whole answer
    bool done_seen = false;   ///< the dialect's end marker
    bool error_seen = false;  ///< an error object in the stream, or a finish that is a failure
    bool bad_seen = false;    ///< an event that is not of this API
    bool over_limit = false;
    Digest digest;
    std::string finish_reason;
    std::string response_id;
    std::string worker_id;      ///< JSON text; empty: not said, or too long
    std::string worker_timing;  ///< the same
    std::string error;          ///< the first message, or the first bad event's bytes
    std::string unread_member;  ///< the latest that has text and that is unknown here

    bool keeps_text = false;
    SavedText text;

    /// Ready for the next row; keeps ordinary memory and gives back the extraordinary.
    void reset(bool keep_text);
    /// One event that was read.
    void take(const EventReading& reading, std::string_view data, const ReadAt& read);
    /// A chunk whose bytes were dropped: its stamp counts, what it said is unknown.
    void take_unread(const ReadAt& read);
    /// Whether usage tells the answer's tokens: 0 beside text was not counted.
    bool is_counted() const {
        return completion_tokens > 0 || (completion_tokens == 0 && !has_tokens);
    }
    /// Whether it has said that it is over: by a finish reason, its usage or the end marker.
    bool is_ended() const { return done_seen || !finish_reason.empty() || usage_is_final; }
    std::size_t chunks() const { return chunk_stamps.size(); }
    /// Writes the open run of `chunk_kinds` down; after the last event.
    void close_kinds();
    /// What a gateway says of the worker, as a JSON object; empty where it says nothing.
    std::string worker() const;

  private:
    void give_counting_up();
    void take_tokens(const EventReading& reading, const ReadAt& read);
    EventReading without_repetition(const EventReading& reading);
    void stamp_chunk(const ReadAt& read, char kind);
    void stamp_event(const EventReading& reading, std::int64_t stamp_ns);
    void count_tokens(const EventReading& reading);
    void note_error(std::string_view message, std::int64_t stamp_ns);
    void take_usage(const EventReading& reading);
    void keep_text_of(const EventReading& reading);
};

// RunForecast: what an infinite prefix cache would hold for each request, in the order in which
// requests leave in the run.
//
// A request can find what one that left before it has brought along: its prompt is in the cache
// from then on, whatever becomes of it. So of two requests that are open at once the one that left
// first is held to have been read first. What never left brings nothing. Passes through the corpus
// share nothing, or the blocks that they are said to share.
//
// Used where that order is decided in the run (closed sessions, users). Where all instants are
// recorded, the forecast of the plan goes by the file (plan.hpp).
//
// Owned by the assembler, which tells it of every fire in the order of the ring. Memory: a
// PromptPaths of the plan's rows, made once, and a bit for each of its nodes and each pass that a
// user may still send a request of.

struct ForecastRules {
    bool in_run_order = false;       ///< else a RunForecast is not needed
    std::uint32_t users = 0;         ///< that begin with the run; 0: there are none
    AroundPrompt around;             ///< by the server's template
    std::uint32_t server_block = 0;  ///< tokens of its cache blocks; 0: not known
    /// [row index] first blocks that all passes share; empty: none. Needed while it is made.
    std::span<const std::uint32_t> shared_blocks;
};

/// Tokens that the cache holds.
struct ExpectedHits {
    std::uint32_t tokens = 0;             ///< as Planned::expected_cached_tokens
    std::optional<std::uint32_t> server;  ///< as Plan::server_cached
};

class RunForecast {
  public:
    /// `earlier`: of a run that is resumed, the rows that have a record; else null. The trace
    /// outlives this.
    RunForecast(const Trace& trace, const Plan& plan, const ForecastRules& rules,
                const RowEnds* earlier);

    /// What it finds; the cache holds its prompt then.
    ExpectedHits fired(const Due& due);

  private:
    std::uint32_t enter(std::uint32_t row, std::uint32_t pass);
    void forget_passes(const Due& due);

    const Trace& trace_;
    ForecastRules rules_;
    ServedLengths lengths_;
    PromptPaths paths_;
    std::vector<bool> seen_by_all_;       ///< [node] of those that all passes share
    std::deque<std::vector<bool>> seen_;  ///< [pass - first_pass_][node]
    std::uint32_t first_pass_ = 0;
    std::vector<std::uint32_t> passes_;  ///< [user] of the tree that it plays, or played last
};

/// TurnEnds: when the turns of a run ended, for the rows that come after them: was a row sent
/// before a turn before it had ended? Owned by the assembler, which tells it of every end in the
/// order of the ring. Reads no clock; instants are run time, in ns from time 0.
///
/// The turns before a row are those whose answers it came after when it was recorded. Where the
/// trace says what the row waited for, they are the rows whose answers it waited for
/// (Trigger::completion); a row that was sent while an answer still came has none. Elsewhere it is
/// the row before it in its session, in the order of the trace.
///
/// All memory is taken when it is made: 12 bytes a row where the trace has sessions, 8 where it
/// only has dependencies, else none. At its end a row costs two look-ups by its index, and where
/// the trace has dependencies a binary search in them and a look-up for each of its own.
class TurnEnds {
  public:
    /// `plan`: the rows that are sent; of dual fire, those to this side are meant. `earlier`: of a
    /// run that is resumed, the rows that have a record, whose turns are over; else null. The trace
    /// outlives this.
    TurnEnds(const Trace& trace, const Plan& plan, const RowEnds* earlier, Side side = Side::none);

    /// Whether a row that was sent then and is over now was sent before one of the turns before it
    /// had ended; that turn may still be open. Nothing where it has none, or where the end of one
    /// is not known: that one was not selected, not sent, or lost with its segment.
    std::optional<bool> overtaken(const TraceRow& row, std::int64_t fired_ns) const;

    /// The row is over, whatever its outcome; nothing: it was not sent, or it is not known when.
    void end(const TraceRow& row, OptionalNs ended_ns);

  private:
    void link_sessions(const Trace& trace);
    std::int64_t end_of(std::uint32_t index) const;

    const Trace& trace_;
    std::vector<std::int64_t> ended_ns_;  ///< [row index] or one of those below
    std::vector<std::uint32_t> before_;   ///< [row index] the row before it in its session

    static constexpr std::int64_t unknown = INT64_MIN;
    /// In an earlier segment: the clock of this one began anew, behind all of its instants.
    static constexpr std::int64_t long_ago = INT64_MIN + 1;
    static constexpr std::int64_t pending = INT64_MAX;  ///< later than the fire of any row
};

// RowState: what is known about one open row. Owned by the assembler's pool, reused for row after
// row. Plain values; all stamps are absolute until the record is made.

/// Bytes of an error answer, or of one that is no stream, that are kept for its message.
inline constexpr std::size_t error_body_bytes_max = 64 * 1024;

/// What the body of an answer is to us, decided when its head is complete.
enum class BodyKind : std::uint8_t {
    unknown,  ///< no head yet
    stream,   ///< events of the API
    untold,   ///< a 200 that does not say that it is a stream; the first bytes of the body will
    message,  ///< an error status: its text is collected
    encoded,  ///< a 200 under a coding, of content or transfer, that was not asked for
    foreign,  ///< a 200 that is something else: its text is collected
};

struct RowState {
    Due due;                   ///< who it is, and when it was to leave
    std::uint32_t number = 0;  ///< of the sending, in the run
    std::uint32_t lane = 0;
    FiredInfo fired{};                     ///< valid where `fired_ns` is set
    std::optional<ExpectedHits> expected;  ///< once it has left, where that is forecast by the run

    std::int64_t armed_ns = no_stamp;
    std::int64_t fired_ns = no_stamp;
    std::int64_t wire_ns = no_stamp;
    std::int64_t sent_ns = no_stamp;
    std::int64_t headers_ns = no_stamp;
    std::int64_t first_byte_ns = no_stamp;
    std::int64_t accept_ns = no_stamp;   ///< from the fire until the kernel had taken some of it
    std::int64_t request_waited_ns = 0;  ///< so long parts of the request waited for us, in sum

    int status = 0;  ///< 0: no head
    BodyKind body = BodyKind::unknown;
    std::string content_type;             ///< for the message of a foreign answer
    std::string encoding;                 ///< for the message of an encoded one
    std::string request_id;               ///< the answer's X-Request-Id
    std::vector<RecordedHeader> headers;  ///< `--record-header`; empty before the head

    std::string head;               ///< head bytes until `head`
    std::string pending;            ///< bytes of an event that goes on, or of a message
    ReadAt pending_read{no_stamp};  ///< of the latest of them

    bool lost_payload = false;   ///< bytes of this answer found the ring full
    bool event_damaged = false;  ///< of the event that goes on
    bool event_over = false;     ///< the event that goes on is over its limit

    // Of this row, in what is counted while answers come.
    std::uint64_t tokens_counted = 0;
    std::int64_t input_counted = 0;
    AnswerState answer;

    void reset(const Due& whose, std::uint32_t number_in_run, bool keep_text);
};

}  // namespace driftless
