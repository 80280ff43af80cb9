#include "proto/trace/branches.hpp"

#include <algorithm>

#include "proto/trace/times.hpp"

namespace driftless {

void Frontier::pause(std::int64_t length_ns) {
    for (RowWait& one : waits_) {
        one.delay_ns = later(one.delay_ns, length_ns);
    }
    since_start_ns_ = waits_.empty() ? later(since_start_ns_, length_ns) : since_start_ns_;
}

void Frontier::pass(TraceDraft& draft, TraceRow& row, std::int64_t answer_ns) {
    row.at_ns = since_start_ns_;
    for (const RowWait& one : waits_) {
        draft.depend({draft.rows(), one.row, Trigger::completion, one.delay_ns});
        row.at_ns = std::max(row.at_ns, later(one.end_ns, one.delay_ns));
    }
    waits_ = {{draft.rows(), later(row.at_ns, answer_ns), 0}};
}

/// Of two waits for one row the longer one holds.
void Frontier::add(const Frontier& line) {
    for (const RowWait& wait : line.waits_) {
        const auto same = std::find_if(waits_.begin(), waits_.end(),
                                       [&](const RowWait& one) { return one.row == wait.row; });
        if (same == waits_.end()) {
            waits_.push_back(wait);
        } else {
            same->delay_ns = std::max(same->delay_ns, wait.delay_ns);
        }
    }
    since_start_ns_ = std::max(since_start_ns_, line.since_start_ns_);
}

/// Every line waits at least for what the fork waits for, so that only those that went on count.
Frontier Frontier::join(const Frontier& fork, const std::vector<Frontier>& lines) {
    Frontier joined;
    for (const Frontier& line : lines) {
        if (line != fork) {
            joined.add(line);
        }
    }
    return joined == Frontier() ? fork : joined;
}

namespace {

bool is_below(const BranchPath& path, const BranchPath& parent) {
    return path.size() > parent.size() && std::equal(parent.begin(), parent.end(), path.begin());
}

/// Takes everything below that path out of a map by paths, which keeps what is below a path right
/// behind it.
template <typename Value>
std::vector<Value> take_below(std::map<BranchPath, Value>& map, const BranchPath& parent) {
    std::vector<Value> taken;
    auto at = map.upper_bound(parent);
    while (at != map.end() && is_below(at->first, parent)) {
        taken.push_back(at->second);
        at = map.erase(at);
    }
    return taken;
}

}  // namespace

Frontier* Branches::find(const BranchPath& path) {
    const auto known = frontiers_.find(path);
    if (known != frontiers_.end()) {
        return &known->second;
    }
    if (path.empty()) {
        return nullptr;
    }
    const auto fork = forks_.find(BranchPath(path.begin(), path.end() - 1));
    if (fork == forks_.end() || (fork->second.count > 0 && path.back() >= fork->second.count)) {
        return nullptr;
    }
    return &(frontiers_[path] = fork->second.frontier);
}

bool Branches::fork(const BranchPath& path, std::uint64_t count) {
    const Frontier* const parent = find(path);
    return parent != nullptr && forks_.try_emplace(path, Fork{*parent, count}).second;
}

bool Branches::join(const BranchPath& path) {
    const auto fork = forks_.find(path);
    if (fork == forks_.end()) {
        return false;
    }
    std::vector<Frontier> lines = take_below(frontiers_, path);
    Frontier& parent = frontiers_[path];
    lines.push_back(parent);
    parent = Frontier::join(fork->second.frontier, lines);
    (void)take_below(forks_, path);
    forks_.erase(path);
    return true;
}

}  // namespace driftless
