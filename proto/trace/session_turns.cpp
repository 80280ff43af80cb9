#include "proto/trace/session_turns.hpp"

#include "proto/json/utf8.hpp"

namespace driftless {

void SessionTurns::begin_file() {
    numbers_.clear();
    for (; of_earlier_ < trace_.sessions.size(); ++of_earlier_) {
        earlier_.insert(trace_.sessions[of_earlier_]);
    }
}

std::uint32_t SessionTurns::find(std::string_view name, std::string_view key) {
    const auto known = numbers_.find(key);
    if (known != numbers_.end()) {
        return known->second;
    }
    const auto made = static_cast<std::uint32_t>(trace_.sessions.size());
    std::string fixed;  // a CSV may name it in any bytes; records are JSON
    const std::string& kept = trace_.sessions.emplace_back(to_valid_utf8(name, fixed));
    namesakes_ += earlier_.contains(kept) ? 1 : 0;
    tails_.emplace_back();
    numbers_.emplace(key, made);
    return made;
}

void SessionTurns::next_turn(TraceRow& row, std::int64_t delay_ns) {
    SessionTail& last = tails_[row.session];
    const auto index = static_cast<std::uint32_t>(trace_.rows.size());
    row.turn = row.turn == 0 ? last.turns + 1 : row.turn;
    if (last.last_row != no_row) {
        trace_.dependencies.push_back({index, last.last_row, Trigger::completion, delay_ns});
    }
    last.turns += 1;
    last.last_row = index;
    last.last_at_ns = row.at_ns;
    last.last_end_ns.reset();
}

}  // namespace driftless
