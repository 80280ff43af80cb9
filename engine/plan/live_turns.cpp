#include "engine/plan/live_turns.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Of a token of an answer, escaped as JSON: few have more in any vocabulary.
constexpr std::size_t token_bytes = 12;
/// Of what stands around an answer: its role, a call of a tool.
constexpr std::size_t message_bytes = 512;

}  // namespace

Spliced LiveTurns::own_messages(std::uint32_t row, std::string_view body,
                                std::uint32_t words) const {
    const LiveTurn& turn = turns[row];
    const std::size_t pad_at = turn.pad_at > 0 ? turn.pad_at : turn.messages_end;
    Spliced own(body.substr(turn.before_at, pad_at - turn.before_at));
    own.add(pad_word, words);
    own.add(body.substr(pad_at, turn.messages_end - pad_at));
    return own;
}

std::vector<std::size_t> history_room(const Trace& trace, const LiveTurns& live,
                                      std::uint32_t tokens_unknown) {
    std::vector<std::size_t> room(trace.rows.size(), 0);
    std::vector<std::uint32_t> by_index(trace.rows.size());
    for (std::uint32_t row = 0; row < by_index.size(); ++row) {
        by_index[row] = row;
    }
    std::sort(by_index.begin(), by_index.end(), [&](std::uint32_t a, std::uint32_t b) {
        return trace.rows[a].index < trace.rows[b].index;
    });
    for (const std::uint32_t row : by_index) {  // those that it follows come before
        if (!live.goes_on(row)) {
            continue;
        }
        const std::uint32_t behind = live.of(row).behind;
        CHECK(trace.rows[behind].index < trace.rows[row].index);
        const LiveTurn& before = live.of(behind);
        const std::uint32_t answer = trace.rows[behind].output_length;
        room[row] = room[behind] + (before.messages_end - before.before_at) + message_bytes +
                    (answer > 0 ? answer : tokens_unknown) * token_bytes;
    }
    return room;
}

}  // namespace driftless
