// What comes of an answer: its head, its events, and pieces of both.

#include <algorithm>

#include "engine/record/assembler.hpp"
#include "engine/record/row_outcome.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/response.hpp"
#include "proto/record/masked.hpp"
#include "proto/sse/events.hpp"

namespace driftless {

namespace {

/// Where a 200 does not say that it is a stream of events, its first bytes do.
BodyKind body_kind_of(const RowState& state, Framing framing) {
    if (state.status != 200) {
        return BodyKind::message;
    }
    if (!state.encoding.empty()) {
        return BodyKind::encoded;
    }
    const bool told = framing != Framing::sse || is_event_stream(state.content_type);
    return told ? BodyKind::stream : BodyKind::untold;
}

/// One more piece of a body that has not told what it is. A piece whose bytes are lost is taken for
/// one of a stream, as what asked for a stream mostly gets.
void look_at_begin(RowState& state, const Event& event, std::string_view payload) {
    constexpr std::size_t looked_at_max = 64;
    const bool dropped = (event.flags & event_payload_dropped) != 0;
    const bool keeps_alive = (event.flags & event_keep_alive) != 0;
    const std::string begin = state.pending + std::string(payload.substr(0, looked_at_max));
    const auto streams = dropped || keeps_alive ? true : begins_event_stream(begin);
    if (streams) {
        state.body = *streams ? BodyKind::stream : BodyKind::foreign;
    }
}

void append_bounded(std::string& out, std::string_view bytes, std::size_t bytes_max) {
    out.append(bytes.substr(0, bytes_max - std::min(bytes_max, out.size())));
    CHECK(out.size() <= bytes_max);
}

/// Stamps that every received piece moves.
void note_receive(RowState& state, const Event& event) {
    if (state.body != BodyKind::unknown && state.first_byte_ns == no_stamp) {
        state.first_byte_ns = event.stamp_ns;
    }
    state.lost_payload = state.lost_payload || (event.flags & event_payload_dropped) != 0;
}

}  // namespace

void Assembler::on_head(RowState& state, const Event& event) {
    if (state.body != BodyKind::unknown) {
        ++counts_.stray_events;
        return;
    }
    state.headers_ns = event.stamp_ns;
    state.status = event.status;
    if (state.lost_payload) {  // what is left of the head may be cut inside any field
        state.head.clear();
    }
    // Whole: what is cut before it is masked may end in a part of a secret.
    const auto value = [&](std::string_view name) {
        return std::string(header_value(state.head, name));
    };
    state.content_type = value("Content-Type");
    state.encoding = body_encoding(state.head);
    state.request_id = value("X-Request-Id");
    for (const std::string& name : config_.record_headers) {
        RecordedHeader& header = state.headers.emplace_back();
        header.name = name;
        if (const std::string_view field = header_value(state.head, name);
            field.data() != nullptr) {
            header.value = masked(field, config_.secrets, recorded_header_bytes_max);
        }
    }
    if (config_.dialect->prompt_tokens_header[0] != '\0') {
        state.answer.prompt_tokens = count_in(value(config_.dialect->prompt_tokens_header));
    }
    state.head.clear();
    state.body = body_kind_of(state, framing_);
    CHECK(state.body != BodyKind::unknown);
}

void Assembler::on_part(RowState& state, const Event& event, std::string_view payload) {
    note_receive(state, event);
    if (state.body == BodyKind::untold) {
        look_at_begin(state, event, payload);
    }
    switch (state.body) {
        case BodyKind::unknown:
            append_bounded(state.head, payload, response_head_bytes_max);
            return;
        case BodyKind::message:
        case BodyKind::untold:
        case BodyKind::foreign:
            append_bounded(state.pending, payload, error_body_bytes_max);
            return;
        case BodyKind::encoded:
            return;
        case BodyKind::stream:
            break;
    }
    state.event_damaged = state.event_damaged || (event.flags & event_payload_dropped) != 0;
    if (is_over(state, payload)) {
        state.event_over = true;
        return;
    }
    state.pending.append(payload);
    state.pending_ns = event.stamp_ns;
}

/// Whether the event that goes on is too large with this piece (answer_limits.hpp).
bool Assembler::is_over(const RowState& state, std::string_view payload) const {
    return state.pending.size() + payload.size() > limits_of(state, config_).event_bytes_max;
}

void Assembler::on_chunk(RowState& state, const Event& event, std::string_view payload) {
    if (state.body == BodyKind::untold) {
        look_at_begin(state, event, payload);
    }
    if (state.body != BodyKind::stream) {
        on_part(state, event, payload);
        return;
    }
    note_receive(state, event);
    const bool coalesced = (event.flags & event_coalesced) != 0;
    const bool keeps_alive = (event.flags & event_keep_alive) != 0;
    const bool dropped = (event.flags & event_payload_dropped) != 0;
    if (keeps_alive) {
        // What came of it in earlier receives is forgotten below.
    } else if (state.event_damaged || dropped) {
        state.answer.take_unread(event.stamp_ns, coalesced);
        count_tokens(state, event.stamp_ns, 1);
    } else if (state.event_over || is_over(state, payload)) {
        state.answer.over_limit = true;
    } else if (state.pending.empty()) {
        read_event(state, payload, event.stamp_ns, coalesced);
    } else {
        state.pending.append(payload);
        read_event(state, state.pending, event.stamp_ns, coalesced);
    }
    state.pending.clear();
    state.pending_ns = no_stamp;
    state.event_damaged = false;
    state.event_over = false;
}

/// One complete event of a stream.
void Assembler::read_event(RowState& state, std::string_view block, std::int64_t stamp_ns,
                           bool coalesced) {
    CHECK(state.body == BodyKind::stream);
    AnswerState& answer = state.answer;
    const SseEvent event = read_cut_event(framing_, block, joined_);
    if (!event.has_data) {
        return;
    }
    const std::size_t chunks_before = answer.chunks();
    const EventReading reading = config_.dialect->read(document_, event.name, event.data);
    answer.take(reading, event.data, stamp_ns, coalesced);
    if (answer.chunks() != chunks_before) {
        count_tokens(state, stamp_ns,
                     answer.chunk_tokens.empty()
                         ? 1
                         : static_cast<std::uint64_t>(answer.chunk_tokens.back()));
    }
}

/// Of one more chunk.
void Assembler::count_tokens(RowState& state, std::int64_t stamp_ns, std::uint64_t tokens) {
    state.tokens_counted += tokens;
    counts_.tokens += tokens;
    if (periods_ == nullptr) {
        return;
    }
    if (state.answer.chunks() == 1) {
        const std::int64_t said = state.answer.prompt_tokens;
        const TraceRow& row = config_.trace->rows[state.due.row];
        state.input_counted = said >= 0 ? said : row.input_length;
        periods_->first_token(state.due, state.fired_ns, stamp_ns, state.input_counted);
    }
    periods_->tokens(stamp_ns, tokens);
}

/// A complete answer whose last event lacks its empty line: what it says counts, as browsers' kin
/// in the field read it, though WHATWG would drop it. Bytes of an unfinished answer stay unread.
void Assembler::finish_pending(RowState& state, const Event& end) {
    if (state.body != BodyKind::stream || end.end.outcome != Outcome::ok ||
        state.pending_ns == no_stamp) {
        return;
    }
    if (state.event_over) {
        state.answer.over_limit = true;
    } else if (!state.event_damaged) {
        read_event(state, state.pending, state.pending_ns, false);
    }
}

}  // namespace driftless
