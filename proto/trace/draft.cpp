#include "proto/trace/draft.hpp"

#include <algorithm>
#include <limits>

#include "proto/json/utf8.hpp"

namespace driftless {

void TraceDraft::begin_file(std::string_view name) {
    trace_.files.push_back({std::string(name), rows()});
    if (!shared_) {
        sessions_.clear();
        requests_.clear();
        name_spaces_.clear();
    }
    if (scope_ == IdScope::format ? !shared_ : scope_ != IdScope::all) {
        name_space_.reset();
    }
}

void TraceDraft::begin_name_space() {
    if (scope_ == IdScope::format) {
        name_space_.reset();
    }
}

void TraceDraft::enter_name_space(std::string_view name) {
    if (scope_ != IdScope::format) {
        return;
    }
    const auto known = name_spaces_.find(name);
    if (known != name_spaces_.end()) {
        name_space_ = known->second;
        return;
    }
    name_space_ = trace_.name_spaces++;
    name_spaces_.emplace(name, *name_space_);
}

void TraceDraft::begin_ids() {
    trace_.ids.truncate(ids_kept_);
}

void TraceDraft::note_missing_ids(std::uint64_t line) {
    first_line_without_ids_ = rows_without_ids_ == 0 ? line : first_line_without_ids_;
    ++rows_without_ids_;
}

std::uint32_t TraceDraft::name_space_of(const TraceRow& row) {
    const bool own = scope_ == IdScope::session && row.session != no_session;
    std::optional<std::uint32_t>& chosen = own ? tails_[row.session].name_space : name_space_;
    if (!chosen) {
        chosen = trace_.name_spaces++;
    }
    return *chosen;
}

void TraceDraft::set_body(std::string_view json) {
    trace_.body_bytes.resize(trace_.body_ends.empty() ? 0 : trace_.body_ends.back());
    trace_.body_ends.resize(rows(), trace_.body_bytes.size());  // rows before the first one
    trace_.body_bytes += json;
}

TraceRow& TraceDraft::add(TraceRow row) {
    CHECK(trace_.rows.size() < std::numeric_limits<std::uint32_t>::max() - 1);
    row.index = rows();
    row.name_space = name_space_of(row);
    row.ids_begin = ids_kept_;
    row.ids_count = static_cast<std::uint32_t>(ids_count());
    ids_kept_ = trace_.ids.size();
    if (!trace_.body_bytes.empty()) {
        trace_.body_ends.push_back(trace_.body_bytes.size());
    }
    return trace_.rows.emplace_back(row);
}

std::uint32_t TraceDraft::session(std::string_view name, std::string_view key) {
    const auto known = sessions_.find(key);
    if (known != sessions_.end()) {
        return known->second;
    }
    const auto made = static_cast<std::uint32_t>(trace_.sessions.size());
    std::string fixed;  // a CSV may name it in any bytes; records are JSON
    trace_.sessions.emplace_back(to_valid_utf8(name, fixed));
    tails_.emplace_back();
    sessions_.emplace(key, made);
    return made;
}

void TraceDraft::next_turn(TraceRow& row, std::int64_t delay_ns) {
    SessionTail& last = tails_[row.session];
    row.turn = row.turn == 0 ? last.turns + 1 : row.turn;
    if (last.last_row != no_row) {
        depend({rows(), last.last_row, Trigger::completion, delay_ns});
    }
    last.turns += 1;
    last.last_row = rows();
    last.last_at_ns = row.at_ns;
    last.last_end_ns.reset();
}

std::uint32_t TraceDraft::find_request(std::string_view name) const {
    const auto known = requests_.find(name);
    return known == requests_.end() ? no_row : known->second;
}

void TraceDraft::remark(const char* one, const char* many, std::uint64_t count) {
    for (Remark& remark : trace_.remarks) {
        if (std::string_view(remark.many) == many) {
            remark.count += count;
            return;
        }
    }
    if (count > 0) {
        trace_.remarks.push_back({one, many, count});
    }
}

void TraceDraft::finish() {
    begin_ids();
    trace_.ids.settle();
    std::stable_sort(trace_.dependencies.begin(), trace_.dependencies.end(),
                     [](const Dependency& a, const Dependency& b) { return a.row < b.row; });
}

}  // namespace driftless
