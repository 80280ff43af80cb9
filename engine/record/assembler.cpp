#include "engine/record/assembler.hpp"

#include <algorithm>

#include "engine/record/fill_record.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/parsers.hpp"
#include "proto/http/sse.hpp"

namespace driftless {

static constexpr std::uint32_t row_unseen = 0xFFFFFFFFu;
static constexpr std::uint32_t row_ended = 0xFFFFFFFEu;

/// A model may repeat a key that it was sent.
static void mask(SavedText& saved, const std::vector<std::string>& secrets) {
    for (std::string* text : {&saved.content, &saved.reasoning, &saved.tool_text}) {
        if (!secrets.empty()) {
            *text = masked(*text, secrets, saved_text_bytes_max);
        }
    }
}

Assembler::Assembler(AssemblerConfig config, Periods* periods)
    : config_(std::move(config)), periods_(periods), saves_left_(config_.save_responses) {
    CHECK(config_.trace != nullptr && config_.plan != nullptr && config_.dialect != nullptr);
    if (config_.plan->dual) {
        for (const Side side : {Side::a, Side::b}) {
            turns_.emplace_back(*config_.trace, *config_.plan, config_.earlier_ends, side);
        }
    } else if (!config_.rows_repeat()) {
        turns_.emplace_back(*config_.trace, *config_.plan, config_.earlier_ends);
    }
    if (config_.forecast.in_run_order) {
        forecast_.emplace(*config_.trace, *config_.plan, config_.forecast, config_.earlier_ends);
    }
    const std::size_t rows = config_.plan->rows.size();
    const std::size_t requests = config_.has_users() ? config_.requests_end : rows;
    CHECK(requests < row_ended);
    framing_ = config_.stream ? config_.dialect->framing : Framing::whole;
    slot_of_.assign(requests, row_unseen);
    counts_.rows = config_.has_users() ? 0 : rows;
}

void Assembler::begin(Instant time_zero) {
    CHECK(time_zero_ns_ == no_stamp && time_zero.ns != no_stamp);
    time_zero_ns_ = time_zero.ns;
}

/// In the run. Users are told of as they come: in the order in which they leave, or end unsent.
std::uint32_t Assembler::number_of(const Due& due) {
    if (config_.has_users()) {
        return static_cast<std::uint32_t>(counts_.rows++);
    }
    return config_.number_in_all(config_.numbers.empty() ? due.request
                                                         : config_.numbers[due.request]);
}

RowState& Assembler::open(const Due& due) {
    CHECK(slot_of_[due.request] == row_unseen);
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(states_.size()));
        states_.push_back(std::make_unique<RowState>());
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    CHECK(slot < states_.size());
    slot_of_[due.request] = slot;
    const bool goes_on = config_.histories != nullptr && config_.histories->wants(due.row);
    states_[slot]->reset(due, number_of(due), saves_left_ > 0 || goes_on);
    states_[slot]->answer.is_whole = framing_ == Framing::whole;
    return *states_[slot];
}

const Due* Assembler::due_of(std::uint32_t request) const {
    const std::uint32_t slot = request < slot_of_.size() ? slot_of_[request] : row_unseen;
    return slot < states_.size() ? &states_[slot]->due : nullptr;
}

/// The state of the event's row; nullptr where that was not armed or has ended.
RowState* Assembler::state_of(const Event& event) {
    if (due_of(event.request) == nullptr) {
        ++counts_.stray_events;
        return nullptr;
    }
    return states_[slot_of_[event.request]].get();
}

void Assembler::on_armed(const Event& event) {
    const bool known =
        event.request < slot_of_.size() && event.due.row < config_.trace->rows.size();
    if (!known || slot_of_[event.request] != row_unseen) {
        ++counts_.stray_events;
        return;
    }
    RowState& state = open(event.armed_due());
    state.armed_ns = event.stamp_ns == Event::never_armed ? no_stamp : event.stamp_ns;
}

const Record* Assembler::consume(const Event& event, std::string_view payload) {
    saved_ = nullptr;
    if (event.kind == EventKind::sample || event.kind == EventKind::skip) {
        return nullptr;
    }
    if (event.kind == EventKind::armed) {
        on_armed(event);
        return nullptr;
    }
    RowState* state = state_of(event);
    if (state == nullptr) {
        return nullptr;
    }
    switch (event.kind) {
        case EventKind::fired:
            on_fired(*state, event);
            break;
        case EventKind::wire:
            // As with `fired`, a stale retry does not move it.
            state->wire_ns = state->wire_ns == no_stamp ? event.wire_ns : state->wire_ns;
            break;
        case EventKind::sent:
            state->sent_ns =
                (event.flags & event_unfinished) != 0 ? state->sent_ns : event.stamp_ns;
            state->request_waited_ns = event.waited_ns;
            state->accept_ns = event.sent.accept_ns;
            break;
        case EventKind::part:
            on_part(*state, event, payload);
            break;
        case EventKind::head:
            on_head(*state, event);
            break;
        case EventKind::chunk:
            on_chunk(*state, event, payload);
            break;
        case EventKind::end:
            return on_end(*state, event);
        case EventKind::armed:
        case EventKind::sample:
        case EventKind::skip:
            break;
    }
    return nullptr;
}

/// A stale retry does not move the stamp: the first `fired` holds.
void Assembler::on_fired(RowState& state, const Event& event) {
    if (state.fired_ns != no_stamp) {
        ++counts_.stray_events;
        return;
    }
    state.fired_ns = event.stamp_ns;
    state.fired = event.fired;
    state.lane = event.lane;
    if (forecast_) {
        state.expected = forecast_->fired(state.due);
    }
    ++counts_.fired;
    ++counts_.inflight;
    CHECK(counts_.fired <= counts_.rows && counts_.inflight <= rows_open());
    if (periods_ != nullptr) {
        periods_->fired(state.due, event.stamp_ns);
    }
    if (time_zero_ns_ != no_stamp && !is_wish(event.fired.late_cause)) {
        counts_.drift_max_ns =
            std::max(counts_.drift_max_ns, event.stamp_ns - time_zero_ns_ - state.due.due_ns);
    }
}

/// Where rows repeat, those that wait for answers were not sent before these had ended.
void Assembler::note_turn(const Due& due) {
    const TraceRow& row = config_.trace->rows[due.row];
    const bool was_sent = record_.fired_ns && record_.ended_ns;
    if (turns_.empty()) {
        const auto waits = config_.trace->dependencies_of(row);
        const bool follows = std::any_of(waits.begin(), waits.end(), [](const Dependency& one) {
            return one.trigger == Trigger::completion;
        });
        record_.overtaken =
            was_sent && follows && record_.parent_end_ns ? std::optional(false) : std::nullopt;
        return;
    }
    TurnEnds& turns = due.side == Side::b ? turns_.back() : turns_.front();
    if (was_sent) {
        record_.overtaken = turns.overtaken(row, *record_.fired_ns);
    }
    turns.end(row, record_.ended_ns);
}

const Record* Assembler::on_end(RowState& state, const Event& event) {
    CHECK(time_zero_ns_ != no_stamp);
    CHECK(slot_of_[event.request] < states_.size());
    state.status = event.end.status != 0 ? event.end.status : state.status;
    finish_pending(state, event);
    fill_record(record_, state, event, config_, time_zero_ns_, document_);
    note_turn(state.due);
    if (config_.histories != nullptr) {
        const SavedText& text = state.answer.text;
        const bool whole = is_whole(record_.outcome) && !text.cut && !state.lost_payload &&
                           event.end.entries_dropped == 0;
        config_.histories->ended(state.due, {text.content, text.reasoning, text.calls.all(), whole},
                                 record_);
    }
    count_record(state);
    if (periods_ != nullptr) {
        const auto output = static_cast<std::int64_t>(state.tokens_counted);
        periods_->ended(state.due, event.stamp_ns, record_, {state.input_counted, output});
    }
    if (saves_left_ > 0 && state.body == BodyKind::stream) {
        --saves_left_;
        std::swap(saved_text_, state.answer.text);
        mask(saved_text_, config_.secrets);
        saved_ = &saved_text_;
    }
    free_.push_back(slot_of_[event.request]);
    slot_of_[event.request] = config_.has_users() ? row_unseen : row_ended;
    CHECK(free_.size() <= states_.size());
    return &record_;
}

/// What the row's chunks had been counted as is replaced by what is known now.
void Assembler::count_record(const RowState& state) {
    ++counts_.ended;
    CHECK(counts_.ended <= counts_.rows);
    CHECK(state.fired_ns == no_stamp || counts_.inflight > 0);
    CHECK(counts_.tokens >= state.tokens_counted);
    counts_.inflight -= state.fired_ns == no_stamp ? 0 : 1;
    counts_.failed += is_failure(record_.outcome) ? 1 : 0;
    if (record_.output_tokens.has_value()) {
        counts_.tokens += static_cast<std::uint64_t>(*record_.output_tokens) - state.tokens_counted;
    }
}

const Record* Assembler::next_unended() {
    saved_ = nullptr;
    for (; next_unended_ < slot_of_.size(); ++next_unended_) {
        const bool never_told = slot_of_[next_unended_] == row_unseen;
        if (slot_of_[next_unended_] == row_ended || (never_told && config_.has_users())) {
            continue;
        }
        if (never_told) {  // nobody has told when it was due
            (void)open(due_at(*config_.plan, next_unended_));
        }
        Event end;
        end.kind = EventKind::end;
        end.request = next_unended_;
        end.end = {};
        end.end.retransmits = retransmits_unknown;
        end.waited_ns = Event::no_wait;
        end.stamp_ns = no_stamp;
        CHECK(due_of(next_unended_) != nullptr);
        RowState& state = *state_of(end);
        end.end.outcome = state.fired_ns == no_stamp ? Outcome::not_sent : Outcome::cancelled;
        ++counts_.unended;
        return on_end(state, end);
    }
    return nullptr;
}

// What comes of an answer: its head, its events, and pieces of both.

/// Where a 200 does not say that it is a stream of events, its first bytes do.
static BodyKind body_kind_of(const RowState& state, Framing framing) {
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
static void look_at_begin(RowState& state, const Event& event, std::string_view payload) {
    constexpr std::size_t looked_at_max = 64;
    const bool dropped = (event.flags & event_payload_dropped) != 0;
    const bool keeps_alive = (event.flags & event_keep_alive) != 0;
    const std::string begin = state.pending + std::string(payload.substr(0, looked_at_max));
    const auto streams = dropped || keeps_alive ? true : begins_event_stream(begin);
    if (streams) {
        state.body = *streams ? BodyKind::stream : BodyKind::foreign;
    }
}

static void append_bounded(std::string& out, std::string_view bytes, std::size_t bytes_max) {
    out.append(bytes.substr(0, bytes_max - std::min(bytes_max, out.size())));
    CHECK(out.size() <= bytes_max);
}

/// Stamps that every received piece moves.
static void note_receive(RowState& state, const Event& event) {
    if (state.body != BodyKind::unknown && state.first_byte_ns == no_stamp) {
        state.first_byte_ns = event.stamp_ns;
    }
    state.lost_payload = state.lost_payload || (event.flags & event_payload_dropped) != 0;
}

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
    state.pending_read = {event.stamp_ns, event.waited_ns};
}

/// Whether the event that goes on is too large with this piece (ring.hpp).
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
    const ReadAt read{event.stamp_ns, event.waited_ns, (event.flags & event_coalesced) != 0};
    const bool keeps_alive = (event.flags & event_keep_alive) != 0;
    const bool dropped = (event.flags & event_payload_dropped) != 0;
    if (keeps_alive) {
        // What came of it in earlier receives is forgotten below.
    } else if (state.event_damaged || dropped) {
        state.answer.take_unread(read);
        count_tokens(state, event.stamp_ns, 1);
    } else if (state.event_over || is_over(state, payload)) {
        state.answer.over_limit = true;
    } else if (state.pending.empty()) {
        read_event(state, payload, read);
    } else {
        state.pending.append(payload);
        read_event(state, state.pending, read);
    }
    state.pending.clear();
    state.pending_read = {no_stamp};
    state.event_damaged = false;
    state.event_over = false;
}

/// One complete event of a stream.
void Assembler::read_event(RowState& state, std::string_view block, const ReadAt& read) {
    CHECK(state.body == BodyKind::stream);
    AnswerState& answer = state.answer;
    const SseEvent event = read_cut_event(framing_, block, joined_);
    if (!event.has_data) {
        return;
    }
    const std::size_t chunks_before = answer.chunks();
    const EventReading reading = config_.dialect->read(document_, event.name, event.data);
    answer.take(reading, event.data, read);
    if (answer.chunks() != chunks_before) {
        count_tokens(state, read.ns,
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
        state.pending_read.ns == no_stamp) {
        return;
    }
    if (state.event_over) {
        state.answer.over_limit = true;
    } else if (!state.event_damaged) {
        read_event(state, state.pending, state.pending_read);
    }
}

}  // namespace driftless
