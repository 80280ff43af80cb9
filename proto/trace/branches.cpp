#include "proto/trace/branches.hpp"

#include <algorithm>

namespace driftless {
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
