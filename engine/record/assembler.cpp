#include "engine/record/assembler.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t row_unseen = 0xFFFFFFFFu;
constexpr std::uint32_t row_ended = 0xFFFFFFFEu;

/// A model may repeat a key that it was sent.
void mask(SavedText& saved, const std::vector<std::string>& secrets) {
    for (std::string* text : {&saved.content, &saved.reasoning, &saved.tool_text}) {
        if (!secrets.empty()) {
            *text = masked(*text, secrets, saved_text_bytes_max);
        }
    }
}

}  // namespace

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

}  // namespace driftless
