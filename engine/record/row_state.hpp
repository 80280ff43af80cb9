/// RowState: what is known about one open row. Owned by the assembler's pool, reused for row after
/// row. Plain values; all stamps are absolute until the record is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/answer_state.hpp"
#include "engine/record/event.hpp"
#include "engine/record/run_forecast.hpp"
#include "proto/record/record.hpp"

namespace driftless {

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

    std::string head;                    ///< head bytes until `head`
    std::string pending;                 ///< bytes of an event that goes on, or of a message
    std::int64_t pending_ns = no_stamp;  ///< stamp of the latest of them

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
