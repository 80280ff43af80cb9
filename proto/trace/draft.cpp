#include "proto/trace/draft.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/core/text.hpp"

namespace driftless {

void RowIds::keep(TraceRow& row) {
    row.ids_begin = kept_;
    row.ids_count = static_cast<std::uint32_t>(count());
    kept_ = arena_.size();
}

void RowIds::note_missing(std::uint64_t line) {
    first_line_missing_ = rows_missing_ == 0 ? line : first_line_missing_;
    ++rows_missing_;
}

void RowIds::finish() {
    begin();
    arena_.settle();
}

void NameSpaces::begin_file(bool one_log) {
    if (!one_log) {
        named_.clear();
    }
    if (scope_ == IdScope::format ? !one_log : scope_ != IdScope::all) {
        current_.reset();
    }
}

void NameSpaces::begin() {
    if (scope_ == IdScope::format) {
        current_.reset();
    }
}

void NameSpaces::enter(std::string_view name) {
    if (scope_ != IdScope::format) {
        return;
    }
    const auto known = named_.find(name);
    if (known != named_.end()) {
        current_ = known->second;
        return;
    }
    current_ = trace_.name_spaces++;
    named_.emplace(name, *current_);
}

std::uint32_t NameSpaces::of(const TraceRow& row) {
    const bool own = scope_ == IdScope::session && row.session != no_session;
    if (own && of_session_.size() <= row.session) {
        of_session_.resize(row.session + std::size_t{1});
    }
    std::optional<std::uint32_t>& chosen = own ? of_session_[row.session] : current_;
    if (!chosen) {
        chosen = trace_.name_spaces++;
    }
    return *chosen;
}

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

MessageTail& MessageRows::tail(std::uint32_t session) {
    tails_.resize(std::max<std::size_t>(tails_.size(), std::size_t{session} + 1));
    return tails_[session];
}

std::string_view MessageRows::note(std::uint32_t session, RowWords words) {
    const bool delta = words == RowWords::delta;
    if (session != no_session) {
        MessageTail& last = tail(session);
        if (last.begun && last.deltas != delta) {
            return delta ? "comes after rows of its session that have more than new messages"
                         : "comes after rows of its session that have only new messages";
        }
        last.begun = true;
        last.deltas = delta;
        last.list_bytes = words == RowWords::none ? 0 : last.list_bytes;
    }
    if ((delta && histories_) || (deltas_ && words == RowWords::history)) {
        return delta ? "has only new messages, while other rows have whole conversations"
                     : "has a whole conversation, while other rows have only new messages";
    }
    histories_ = histories_ || words == RowWords::history;
    deltas_ = deltas_ || delta;
    return "";
}

std::string_view order_problem(const Dialogue& dialogue, Speaker next) {
    const Speaker before = dialogue.speaker;
    if (before == Speaker::none) {
        return next == Speaker::user ? "" : "begins a conversation; only a user can";
    }
    if (before == Speaker::user) {
        return next == Speaker::assistant ? ""
                                          : "follows a user's row without an answer in between";
    }
    if (before == Speaker::tool) {
        return next == Speaker::tool ? "follows another row of tool results" : "";
    }
    if (next == Speaker::assistant) {
        return "follows another answer";
    }
    if (next == Speaker::tool) {
        return dialogue.calls_tools ? "" : "follows an answer that called no tool";
    }
    return dialogue.calls_tools ? "follows tool calls without their results" : "";
}

void TraceDraft::begin_file(std::string_view name) {
    trace_.files.push_back({std::string(name), rows()});
    name_spaces_.begin_file(one_log_);
    dialogue_ = {};
    if (!one_log_) {
        settle_turns();
        sessions_.begin_file();
        requests_.clear();
    }
}

void TraceDraft::set_body(std::string_view json) {
    trace_.body_bytes.resize(trace_.body_ends.empty() ? 0 : trace_.body_ends.back());
    trace_.body_ends.resize(rows(), trace_.body_bytes.size());  // rows before the first one
    trace_.body_bytes += json;
}

void TraceDraft::set_extra(std::string_view json) {
    trace_.extras.resize(rows());
    trace_.extras.emplace_back(json);
}

TraceRow& TraceDraft::add(TraceRow row) {
    CHECK(trace_.rows.size() < std::numeric_limits<std::uint32_t>::max() - 1);
    row.index = rows();
    row.name_space = name_spaces_.of(row);
    ids_.keep(row);
    if (!trace_.body_bytes.empty()) {
        trace_.body_ends.push_back(trace_.body_bytes.size());
    }
    return trace_.rows.emplace_back(row);
}

std::uint32_t TraceDraft::find_request(std::string_view name) const {
    const auto known = requests_.find(name);
    return known == requests_.end() ? no_row : known->second;
}

void TraceDraft::number_turn(TraceRow& row, std::uint32_t number) {
    if (numbered_.empty() || numbered_.back() != rows()) {  // one that was refused is not added
        numbered_.push_back(rows());
    }
    from_0_ = from_0_ || number == 0;
    row.turn = number;
}

void TraceDraft::settle_turns() {
    for (const std::uint32_t row : numbered_) {
        if (from_0_ && row < rows()) {
            ++trace_.rows[row].turn;
        }
    }
    numbered_.clear();
    from_0_ = false;
}

void TraceDraft::note_doubt(UnitDoubt doubt) {
    if (!doubt_) {
        doubt_ = std::move(doubt);
    }
}

void TraceDraft::finish() {
    settle_turns();
    remark(
        "session whose name is also in another file, read as a separate session (if they are one, "
        "merge the files)",
        "sessions whose names are also in other files, read as separate sessions (if they are one, "
        "merge the files)",
        sessions_.namesakes());
    ids_.finish();
    trace_.sort_dependencies();
}

}  // namespace driftless
