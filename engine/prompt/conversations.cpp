#include "engine/prompt/conversations.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

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
    said_.resize(trace.rows.size());
    for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
        row_at_.resize(std::max<std::size_t>(row_at_.size(), trace.rows[row].index + 1), no_row);
        row_at_[trace.rows[row].index] = row;
    }
    for (std::uint32_t place = 0; place < plan.rows.size(); ++place) {
        place_of_[plan.rows[place].row] = place;
    }
}

/// It was sent before, in the same session.
bool Conversations::may_follow(std::uint32_t row, std::uint32_t before) const {
    return said_[before].known && trace_.rows[before].session == trace_.rows[row].session &&
           place_of_[before] < place_of_[row];
}

/// The row that it goes on behind, of those whose answers it waits for: the one that says most of
/// what it repeats. `no_row`: none. `digests`: of the messages up to each.
std::uint32_t Conversations::before_of(std::uint32_t row, const std::vector<MessageSpan>& messages,
                                       const std::vector<std::uint64_t>& digests) const {
    std::uint32_t best = no_row;
    for (const Dependency& one : trace_.dependencies_of(trace_.rows[row])) {
        const std::uint32_t before = one.on < row_at_.size() ? row_at_[one.on] : no_row;
        if (before == no_row || one.trigger != Trigger::completion || !may_follow(row, before)) {
            continue;
        }
        const Said& said = said_[before];
        const bool repeats = messages.size() >= said.messages + 2 && !messages.back().is_answer &&
                             messages[said.messages].is_answer &&
                             digests[said.messages] == said.digest;
        const bool is_more = best == no_row || said.messages > said_[best].messages;
        best = (trace_.deltas || repeats) && is_more ? before : best;
    }
    return best;
}

Conversations::Found Conversations::take(std::uint32_t row,
                                         const std::vector<MessageSpan>& messages,
                                         std::size_t begin, std::string& bodies) {
    const TraceRow& whose = trace_.rows[row];
    if (messages.empty() || whose.session == no_session) {
        return Found::fits;
    }
    std::vector<std::uint64_t> digests(1);
    for (const MessageSpan& message : messages) {
        Digest digest;
        digest.add_u64(digests.back());
        digest.add(
            std::string_view(bodies).substr(begin + message.begin, message.end - message.begin));
        digests.push_back(digest.value());
    }
    const std::uint32_t before = before_of(row, messages, digests);
    const bool is_first = whose.index == first_of_[whose.session];
    if (trace_.deltas && before == no_row && !is_first) {
        return Found::no_request;
    }
    const std::size_t first =
        before == no_row || trace_.deltas ? std::size_t{0} : said_[before].messages + 1;
    LiveTurn& turn = live_.turns[row];
    const std::size_t cut = messages[first].begin - messages.front().begin;
    bodies.erase(begin + messages.front().begin, cut);
    turn.before_at = offset_of(messages.front().begin);
    turn.messages_end = offset_of(messages.back().end - cut);
    turn.pad_at = messages.back().text_end > 0 ? offset_of(messages.back().text_end - cut) : 0;
    if (before != no_row) {
        LiveTurn& parent = live_.turns[before];
        turn.behind = before;
        turn.back = place_of_[row] - place_of_[before];
        live_.figures.conversations += parent.followers == 0 && parent.behind == no_row ? 1 : 0;
        ++parent.followers;
        ++live_.figures.turns;
    } else if (!is_first) {
        ++live_.figures.edited;
    }
    said_[row] = {messages.size(), digests.back(), place_of_[row] != no_row};
    return Found::fits;
}

LiveTurns Conversations::finish() {
    return std::move(live_);
}

}  // namespace driftless
