/// AnswerState: what one answer, streamed or whole, has said so far. Fed with one event at a time;
/// it stamps nothing itself, owns its texts, and decides no outcome (fill_record.hpp does, at the
/// end of the row).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/api/answer_words.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

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

struct AnswerState {
    // Stamps, absolute, of the events that completed them.
    std::int64_t first_token_ns = no_stamp;
    std::int64_t first_content_ns = no_stamp;
    std::int64_t last_token_ns = no_stamp;
    std::int64_t first_event_ns = no_stamp;   ///< of the API: a role, a token, not usage alone
    std::int64_t finish_event_ns = no_stamp;  ///< the one that named the finish reason
    std::int64_t usage_event_ns = no_stamp;   ///< the last one of usage alone
    std::int64_t error_event_ns = no_stamp;   ///< the first error object
    std::int64_t end_marker_ns = no_stamp;

    /// [chunks] absolute stamps of the token-bearing chunks.
    std::vector<std::int64_t> chunk_stamps;
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
    std::string unread_member;  ///< the latest that has text and that nobody here knows

    bool keeps_text = false;
    SavedText text;

    /// Ready for the next row; keeps ordinary memory and gives back the extraordinary.
    void reset(bool keep_text);
    /// One event that was read. `coalesced`: it shared its receive with an earlier one.
    void take(const EventReading& reading, std::string_view data, std::int64_t stamp_ns,
              bool coalesced);
    /// A chunk whose bytes were dropped: its stamp counts, what it said is unknown.
    void take_unread(std::int64_t stamp_ns, bool coalesced);
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
    void count_by(Counting next);
    void give_counting_up();
    void take_tokens(const EventReading& reading, std::int64_t stamp_ns, bool coalesced);
    EventReading without_repetition(const EventReading& reading);
    void stamp_chunk(std::int64_t stamp_ns, bool coalesced, char kind);
    void stamp_event(const EventReading& reading, std::int64_t stamp_ns);
    void count_tokens(const EventReading& reading);
    void note_error(std::string_view message, std::int64_t stamp_ns);
    void take_usage(const EventReading& reading);
    void keep_text_of(const EventReading& reading);
};

}  // namespace driftless
