#include "engine/prompt/live_answers.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

const TurnReply* Replies::take() {
    TurnReply reply;
    if (!ring_.pop(reply)) {
        return nullptr;
    }
    CHECK(reply.request < by_request_.size());
    by_request_[reply.request] = reply;
    return &by_request_[reply.request];
}

const TurnReply& Replies::behind(const Due& due) const {
    const std::uint32_t back = live_.of(due.row).back;
    CHECK(goes_on(due) && due.request >= back);
    const TurnReply& reply = by_request_[due.request - back];
    CHECK(reply.history != nullptr && reply.pass == due.pass);
    return reply;
}

std::size_t Replies::added_bytes(const Due& due) const {
    const TurnReply& reply = behind(due);
    return reply.bytes + 1 + live_.pad_word.size() * live_.words_for(due.row, reply.short_by);
}

Spliced Replies::body_of(const Due& due) const {
    const TurnReply& reply = behind(due);
    const LiveTurn& turn = live_.of(due.row);
    const std::string_view body = trace_.body_of(trace_.rows[due.row]);
    Spliced whole(body.substr(0, turn.before_at));
    whole.add({reply.history, reply.bytes});
    whole.add(",");
    whole.add(live_.own_messages(due.row, body, live_.words_for(due.row, reply.short_by)));
    whole.add(body.substr(turn.messages_end));
    return whole;
}

/// The messages of the row itself, as they were sent.
void Histories::append_own(const Due& due, const Spoken* before, std::string& out) const {
    const std::int32_t short_by = before == nullptr ? 0 : before->short_by;
    const Spliced own = live_.own_messages(due.row, trace_.body_of(trace_.rows[due.row]),
                                           live_.words_for(due.row, short_by));
    out += out.empty() ? "" : ",";
    const std::size_t begin = out.size();
    out.resize(begin + own.size());
    own.copy(0, own.size(), out.data() + begin);
}

/// By how much prompt and answer together are shorter than they were recorded: so much the next
/// prompt lacks.
void Histories::note_length(const TraceRow& row, const Record& record, Spoken& spoken) const {
    const bool recorded = row.input_length > 0 && row.output_length > 0;
    spoken.knows_length = recorded && record.prompt_tokens && counts_output(record);
    if (!spoken.knows_length) {
        return;
    }
    const std::int64_t short_by = std::int64_t{row.input_length} - *record.prompt_tokens +
                                  std::int64_t{row.output_length} - *record.output_tokens;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    spoken.short_by = static_cast<std::int32_t>(std::clamp(short_by, -most, most));
}

bool Histories::fits(const Spoken& spoken) const {
    const auto words = static_cast<std::size_t>(std::max(spoken.short_by, 0));
    return spoken.history.size() + words * live_.pad_word.size() <= bytes_max_;
}

/// What was said up to the answer that the row goes on from; null: there is none of this pass.
Histories::Spoken* Histories::before(const Due& due) {
    const LiveTurn& turn = live_.of(due.row);
    if (turn.behind == no_row) {
        return nullptr;
    }
    CHECK(due.request >= turn.back);
    Spoken& before = spoken_[due.request - turn.back];
    return before.has_ended && before.pass == due.pass ? &before : nullptr;
}

void Histories::complete(const LiveTurn& turn, const Spoken& before, Record& record) const {
    if (!record.fired_ns) {
        return;
    }
    record.live_turns = before.turns;
    record.expected_cached_tokens.reset();  // block ids are of the recorded answers
    record.expected_cached_server.reset();
    const bool fills = turn.pad_at > 0 || before.short_by <= 0;
    if (before.knows_length && fills) {
        record.padded_tokens = before.short_by;
    }
}

/// The history that the row went on from: itself where nobody else needs it, else a copy.
std::string Histories::said_before(const LiveTurn& turn, const SaidWords& said,
                                   Spoken* before) const {
    if (before == nullptr) {
        return {};
    }
    return is_last_user(turn, said) ? std::move(before->history) : before->history;
}

void Histories::ended(const Due& due, const SaidWords& said, Record& record) {
    const LiveTurn& turn = live_.of(due.row);
    Spoken* const before = this->before(due);
    if (before != nullptr) {
        complete(turn, *before, record);
    }
    if (turn.followers == 0) {
        if (before != nullptr && is_last_user(turn, said)) {
            std::string().swap(before->history);
        }
        return;
    }
    const bool goes_on = said.whole || rules_.goes_on_unanswered ||
                         record.outcome == Outcome::abandoned;  // without what it had said
    Spoken spoken;
    spoken.pass = due.pass;
    spoken.has_ended = true;
    spoken.turns = (before == nullptr ? 0 : before->turns) + (said.whole ? 1 : 0);
    if (goes_on && (turn.behind == no_row || before != nullptr)) {
        spoken.history = said_before(turn, said, before);
        append_own(due, before, spoken.history);
        if (said.whole) {
            spoken.history += ',';
            append_answer_message(spoken.history, said.content, said.reasoning, said.calls,
                                  rules_.kept);
            note_length(trace_.rows[due.row], record, spoken);
        }
    }
    tell(due, std::move(spoken));
}

/// Keeps what was said up to the end of the request, and tells the engine where it is.
void Histories::tell(const Due& due, Spoken spoken) {
    const bool fits_in = fits(spoken);
    const bool goes_on = !spoken.history.empty() && fits_in;
    whys_[due.row] = goes_on ? Why::none : fits_in ? Why::unread : Why::too_long;
    if (!fits_in) {
        std::string().swap(spoken.history);
    }
    Spoken& kept = spoken_[due.request];
    kept = std::move(spoken);
    unsent_.push_back({.history = kept.history.data(),
                       .bytes = kept.history.size(),
                       .request = due.request,
                       .pass = due.pass,
                       .short_by = kept.short_by,
                       .attempt = due.attempt,
                       .goes_on = goes_on});
    flush();
}

void Histories::flush() {
    while (!unsent_.empty() && ring_.push(unsent_.front())) {
        unsent_.pop_front();
    }
}

}  // namespace driftless
