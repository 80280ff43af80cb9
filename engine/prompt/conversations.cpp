#include "engine/prompt/conversations.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

std::uint64_t number_of(std::string_view text) {
    Digest digest;
    digest.add(text);
    return digest.value();
}

std::uint32_t offset_of(std::size_t bytes) {
    CHECK(bytes <= std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace

Conversations::Conversations(const Trace& trace, const Plan& plan)
    : trace_(trace),
      place_of_(trace.rows.size(), no_row),
      first_of_(trace.sessions.size(), no_row) {
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            first_of_[row.session] = std::min(first_of_[row.session], row.index);
        }
    }
    live_.turns.resize(trace.rows.size());
    for (std::uint32_t place = 0; place < plan.rows.size(); ++place) {
        place_of_[plan.rows[place].row] = place;
    }
}

bool Conversations::waits_for(const TraceRow& row, std::uint32_t on) const {
    for (const Dependency& one : trace_.dependencies_of(row)) {
        if (one.on == on && one.trigger == Trigger::completion) {
            return true;
        }
    }
    return false;
}

/// The first message that is the row's own; 0: it does not go on behind an answer to the other.
std::size_t Conversations::kept_from(const Turn& before, const std::vector<MessageSpan>& messages,
                                     const std::vector<std::uint64_t>& said) const {
    const std::size_t answer = before.said.size();
    if (messages.size() < answer + 2 || !messages[answer].is_answer || messages.back().is_answer) {
        return 0;
    }
    for (std::size_t i = 0; i < answer; ++i) {
        if (said[i] != before.said[i]) {
            return 0;
        }
    }
    return answer + 1;
}

Conversations::Found Conversations::take(std::uint32_t row,
                                         const std::vector<MessageSpan>& messages,
                                         std::size_t begin, std::string& bodies) {
    const TraceRow& whose = trace_.rows[row];
    if (messages.empty() || whose.session == no_session) {
        return Found::fits;
    }
    std::vector<std::uint64_t> said;
    for (const MessageSpan& message : messages) {
        const std::size_t length = message.end - message.begin;
        said.push_back(number_of(std::string_view(bodies).substr(begin + message.begin, length)));
    }
    Turn& before = latest_[whose.session];
    const bool follows = before.row != no_row && place_of_[before.row] < place_of_[row] &&
                         waits_for(whose, trace_.rows[before.row].index);
    if (trace_.deltas && !follows && whose.index != first_of_[whose.session]) {
        return Found::no_request;
    }
    const std::size_t first =
        follows && !trace_.deltas ? kept_from(before, messages, said) : std::size_t{0};
    LiveTurn& turn = live_.turns[row];
    const std::size_t cut = messages[first].begin - messages.front().begin;
    bodies.erase(begin + messages.front().begin, cut);
    turn.before_at = offset_of(messages.front().begin);
    turn.messages_end = offset_of(messages.back().end - cut);
    turn.pad_at = messages.back().text_end > 0 ? offset_of(messages.back().text_end - cut) : 0;
    if (follows && (trace_.deltas || first > 0)) {
        LiveTurn& parent = live_.turns[before.row];
        turn.behind = before.row;
        turn.back = place_of_[row] - place_of_[before.row];
        live_.figures.conversations += parent.followers == 0 && parent.behind == no_row ? 1 : 0;
        ++parent.followers;
        ++live_.figures.turns;
    } else if (follows) {
        ++live_.figures.edited;
    }
    before.row = row;
    before.said = std::move(said);
    return Found::fits;
}

LiveTurns Conversations::finish() {
    latest_.clear();
    return std::move(live_);
}

}  // namespace driftless
