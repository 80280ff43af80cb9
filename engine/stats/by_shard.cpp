#include "engine/stats/by_shard.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

ByShard::One& ByShard::of(std::uint32_t index) {
    const auto at = std::lower_bound(
        shards_.begin(), shards_.end(), index,
        [](const One& one, std::uint32_t wanted) { return one.figures.index < wanted; });
    if (at != shards_.end() && at->figures.index == index) {
        return *at;
    }
    One& one = *shards_.emplace(at);
    one.figures.index = index;
    return one;
}

void ByShard::add(const Record& record) {
    if (!record.shard) {
        return;
    }
    One& one = of(*record.shard);
    ++one.figures.records;
    one.figures.completed += record.outcome == Outcome::ok ? 1 : 0;
    one.figures.tainted += record.tainted.empty() ? 0 : 1;
    if (record.fired_ns && !is_wish(record.late_cause)) {
        one.drift.add(static_cast<double>(*record.fired_ns - record.due_ns));
    }
    CHECK(one.figures.completed <= one.figures.records);
}

std::vector<ShardFigures> ByShard::figures() const {
    std::vector<ShardFigures> all;
    for (const One& one : shards_) {
        all.push_back(one.figures);
        all.back().drift = one.drift.distribution();
    }
    return all;
}

}  // namespace driftless
