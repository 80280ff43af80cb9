#include "proto/trace/draft.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace driftless {

void TraceDraft::begin_file(std::string_view name) {
    trace_.files.push_back({std::string(name), rows()});
    name_spaces_.begin_file(one_log_);
    dialogue_ = {};
    if (!one_log_) {
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

void TraceDraft::note_doubt(UnitDoubt doubt) {
    if (!doubt_) {
        doubt_ = std::move(doubt);
    }
}

void TraceDraft::finish() {
    remark(
        "session whose name is also in another file, read as a separate session (if they are one, "
        "merge the files)",
        "sessions whose names are also in other files, read as separate sessions (if they are one, "
        "merge the files)",
        sessions_.namesakes());
    ids_.finish();
    std::stable_sort(trace_.dependencies.begin(), trace_.dependencies.end(),
                     [](const Dependency& a, const Dependency& b) { return a.row < b.row; });
}

}  // namespace driftless
