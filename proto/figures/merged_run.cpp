#include "proto/figures/merged_run.hpp"

#include <algorithm>
#include <cstdlib>

#include "proto/core/check.hpp"
#include "proto/figures/verdict.hpp"

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

namespace {

/// Indices that are written out in one line; a larger fleet is counted.
constexpr std::size_t listed_max = 8;

const MergedShard* first_present(const MergedRun& run) {
    const auto found = std::find_if(run.shards.begin(), run.shards.end(),
                                    [](const MergedShard& one) { return !one.is_missing(); });
    return found == run.shards.end() ? nullptr : &*found;
}

/// Its time 0 by the clock of shard 0.
std::int64_t zero_of(const MergedShard& shard) {
    return shard.zero_utc_ns - (shard.clock ? shard.clock->offset_ns : 0);
}

std::string missing_text(const MergedRun& run) {
    std::string list;
    std::size_t missing = 0;
    for (const MergedShard& shard : run.shards) {
        if (shard.is_missing() && ++missing <= listed_max) {
            list += (missing > 1 ? ", " : "") + std::to_string(shard.index);
        }
    }
    if (missing == 0) {
        return "";
    }
    if (missing > listed_max) {
        list += " and " + std::to_string(missing - listed_max) + " more";
    }
    return (missing == 1 ? "shard " : "shards ") + list + " of " + std::to_string(run.count) +
           (missing == 1 ? " is" : " are") +
           " missing: " + counted(run.rows_missing, "row is", "rows are") +
           " not reported; merge again with all of them";
}

std::string killed_text(const MergedRun& run, const MergedShard& shard) {
    if (shard.not_reported == 0) {
        return "shard " + std::to_string(shard.index) + " of " + std::to_string(run.count) +
               " was killed when all its rows had ended: nothing is missing";
    }
    return "shard " + std::to_string(shard.index) + " of " + std::to_string(run.count) +
           " was killed: " + counted(shard.not_reported, "row is", "rows are") +
           " not reported; finish it with driftless replay --resume " + shard.folder +
           ", then merge again";
}

void write_clock(JsonWriter& json, const MergedRun& run, std::size_t index) {
    const std::optional<ShardClock>& clock = run.shards[index].clock;
    const std::optional<ZeroDifference> apart = zero_difference(run, index);
    json.key("zero_apart_ns").optional_integer(apart ? OptionalNs(apart->ns) : OptionalNs());
    json.key("zero_apart_error_ns").optional_integer(apart ? apart->error_ns : OptionalNs());
    json.key("clock_offset_ns");
    json.optional_integer(clock ? OptionalNs(clock->offset_ns) : OptionalNs());
    json.key("clock_error_ns");
    json.optional_integer(clock ? OptionalNs(clock->error_ns) : OptionalNs());
}

void write_shard(JsonWriter& json, const MergedRun& run, std::size_t index,
                 const ShardFigures* figures) {
    const MergedShard& shard = run.shards[index];
    const auto known = [](bool is_known, std::uint64_t count) {
        return is_known ? OptionalNs(static_cast<std::int64_t>(count)) : OptionalNs();
    };
    const bool drifts = figures != nullptr && figures->drift.count > 0;
    const auto drift = [&](std::size_t at) {
        return drifts ? OptionalNs(static_cast<std::int64_t>(figures->drift.at[at])) : OptionalNs();
    };
    const bool is_there = !shard.is_missing();
    json.begin_object();
    json.key("index").unsigned_integer(shard.index);
    json.key("rows").optional_integer(known(is_there, shard.rows));
    json.key("not_reported").optional_integer(known(is_there, shard.not_reported));
    json.key("completed").unsigned_integer(figures != nullptr ? figures->completed : 0);
    json.key("tainted_rows").unsigned_integer(figures != nullptr ? figures->tainted : 0);
    json.key("verdict");
    is_there ? json.string(shard.verdict) : json.null();
    json.key("p50_drift_ns").optional_integer(drift(median_index));
    json.key("p99_drift_ns").optional_integer(drift(p99_index));
    write_clock(json, run, index);
    json.end_object();
}

}  // namespace

std::uint64_t MergedRun::not_reported() const {
    std::uint64_t sum = rows_missing;
    for (const MergedShard& shard : shards) {
        sum += shard.not_reported;
    }
    return sum;
}

std::uint64_t MergedRun::rows_left() const {
    std::uint64_t sum = 0;
    for (const MergedShard& shard : shards) {
        sum += shard.rows_left;
    }
    return sum;
}

bool MergedRun::all_left_known() const {
    return std::all_of(shards.begin(), shards.end(),
                       [](const MergedShard& one) { return !one.is_missing() && one.all_known; });
}

std::optional<ZeroDifference> zero_difference(const MergedRun& run, std::size_t index) {
    const MergedShard* const first = first_present(run);
    const MergedShard& shard = run.shards[index];
    if (first == nullptr || shard.is_missing()) {
        return std::nullopt;
    }
    ZeroDifference apart;
    apart.ns = zero_of(shard) - zero_of(*first);
    if (first->clock && shard.clock) {
        apart.error_ns = first == &shard ? 0 : first->clock->error_ns + shard.clock->error_ns;
    }
    return apart;
}

ZeroApart zero_apart(const MergedRun& run, std::size_t index) {
    const std::optional<ZeroDifference> apart = zero_difference(run, index);
    if (!apart) {
        return {};
    }
    const std::int64_t far_ns = std::abs(apart->ns);
    const std::int64_t error_ns = apart->error_ns.value_or(0);
    const bool too_far = far_ns > error_ns + run.clock_error_max_ns;
    if (!too_far && (!apart->error_ns || far_ns <= error_ns)) {
        return {};
    }
    return {
        "time 0 of shard " + std::to_string(index) + " was " + milliseconds_text(far_ns) +
            (apart->ns < 0 ? " before" : " after") + " that of the first shard" +
            (apart->error_ns ? " (clocks are known to within " + milliseconds_text(error_ns) + ")"
                             : ""),
        too_far};
}

std::vector<std::string> merged_warnings(const MergedRun& run) {
    std::vector<std::string> warnings;
    if (std::string text = missing_text(run); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
        const MergedShard& shard = run.shards[i];
        if (!shard.is_missing() && (!shard.ended || shard.not_reported > 0)) {
            warnings.push_back(killed_text(run, shard));
        }
        if (const ZeroApart apart = zero_apart(run, i); !apart.text.empty() && !apart.too_far) {
            warnings.push_back(apart.text + "; its rows were sent that much early or late");
        }
    }
    return warnings;
}

void write_shards(JsonWriter& json, const std::optional<MergedRun>& run,
                  const std::vector<ShardFigures>& figures) {
    json.key("not_reported").unsigned_integer(run ? run->not_reported() : 0);
    json.key("shards");
    if (!run) {
        json.null();
        return;
    }
    json.begin_array();
    for (std::size_t i = 0; i < run->shards.size(); ++i) {
        const auto found = std::find_if(figures.begin(), figures.end(),
                                        [i](const ShardFigures& one) { return one.index == i; });
        write_shard(json, *run, i, found != figures.end() ? &*found : nullptr);
    }
    json.end_array();
}

}  // namespace driftless
