#include "engine/prompt/live_bodies.hpp"

#include <algorithm>
#include <limits>
#include <optional>
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

LiveBodies::LiveBodies(const Trace& trace, const Plan& plan)
    : trace_(trace), plan_(plan), planned_(trace, plan), first_of_(trace.sessions.size(), no_row) {
    for (const TraceRow& row : trace.rows) {
        if (row.session != no_session) {
            first_of_[row.session] = std::min(first_of_[row.session], row.index);
        }
    }
    live_.turns.resize(trace.rows.size());
    said_.resize(trace.rows.size());
}

/// Position in `trace.rows` of what the row waits for, where it was sent before in the same
/// session. `no_row`: not so.
std::uint32_t LiveBodies::sent_before(std::uint32_t row, const Dependency& one) const {
    const std::optional<std::uint32_t> place = planned_.find(one.on);
    const std::optional<std::uint32_t> own = planned_.find(trace_.rows[row].index);
    if (one.trigger != Trigger::completion || !place || !own || *place >= *own) {
        return no_row;
    }
    const std::uint32_t before = plan_.rows[*place].row;
    const bool same_session = trace_.rows[before].session == trace_.rows[row].session;
    return said_[before].known && same_session ? before : no_row;
}

/// The row that it goes on behind, of those whose answers it waits for: the one that says most of
/// what it repeats. `no_row`: none. `digests`: of the messages up to each.
std::uint32_t LiveBodies::before_of(std::uint32_t row, const std::vector<MessageSpan>& messages,
                                    const std::vector<std::uint64_t>& digests) const {
    std::uint32_t best = no_row;
    for (const Dependency& one : trace_.dependencies_of(trace_.rows[row])) {
        const std::uint32_t before = sent_before(row, one);
        if (before == no_row) {
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

LiveBodies::Found LiveBodies::take(std::uint32_t row, const std::vector<MessageSpan>& messages,
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
        turn.back = *planned_.find(whose.index) - *planned_.find(trace_.rows[before].index);
        live_.figures.conversations += parent.followers == 0 && parent.behind == no_row ? 1 : 0;
        ++parent.followers;
        ++live_.figures.turns;
    } else if (!is_first) {
        ++live_.figures.edited;
    }
    said_[row] = {messages.size(), digests.back(), planned_.contains(whose.index)};
    return Found::fits;
}

LiveTurns LiveBodies::finish() {
    return std::move(live_);
}

}  // namespace driftless
