#include "proto/figures/breakdowns.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/json/put.hpp"

namespace driftless {

CountedTimes counted_times(const Record& record) {
    CountedTimes times;
    if (counts_ttft(record.outcome)) {
        times.ttft_ns = record.ttft_ns;
        times.ttft_due_ns = record.ttft_due_ns;
    }
    if (record.outcome == Outcome::ok) {
        times.tpot_ns = record.tpot_ns;
        times.e2e_ns = record.e2e_ns;
    }
    return times;
}

void TimeSamples::add(const CountedTimes& times) {
    ttft_.add_known(times.ttft_ns);
    ttft_due_.add_known(times.ttft_due_ns);
    tpot_.add_known(times.tpot_ns);
    e2e_.add_known(times.e2e_ns);
}

std::string explain_by_url(const std::vector<UrlFigures>& urls) {
    std::string off;
    std::size_t urls_off = 0;
    bool differ = false;
    for (const UrlFigures& one : urls) {
        const PromptFigures& prompts = one.prompts;
        differ = differ || prompts.cause != urls.front().prompts.cause ||
                 prompts.largest_off != urls.front().prompts.largest_off;
        if (prompts.off == 0) {
            continue;
        }
        const std::uint64_t reported = prompts.exact + prompts.off;
        off += (++urls_off > 1 ? ", at " : "at ") + one.url + " " + std::to_string(prompts.off) +
               " of " + counted(reported, "prompt is", "prompts are") + " off by up to " +
               (prompts.largest_off > 0 ? "+" : "") + std::to_string(prompts.largest_off) +
               " tokens";
    }
    if (urls.size() < 2 || urls_off == 0 || !differ) {
        return "";
    }
    return off + (urls_off < urls.size() ? ", elsewhere none" : "") +
           ": serve the same model and template at every --url, or replay against each separately";
}

void ByUrl::add(const Record& record) {
    if (record.url.empty()) {
        return;
    }
    One& one = urls_.try_emplace(record.url, overhead_).first->second;
    ++one.figures.rows;
    one.figures.cached_tokens += token_count(record.cached_tokens);
    one.prompts.add(record);
    if (record.outcome == Outcome::ok) {
        ++one.figures.completed;
    } else if (is_failure(record.outcome) && record.outcome != Outcome::not_sent &&
               !record.censored) {
        ++one.figures.failed;
    }
    one.ttft.add_known(counted_times(record).ttft_ns);
    CHECK(one.figures.completed + one.figures.failed <= one.figures.rows);
}

std::vector<UrlFigures> ByUrl::figures() const {
    std::vector<UrlFigures> all;
    for (const auto& [url, one] : urls_) {
        all.push_back(one.figures);
        all.back().url = url;
        all.back().ttft = one.ttft.distribution();
        all.back().prompts = one.prompts.figures();
    }
    return all;
}

void BySide::add(const Record& record) {
    if (record.side == Side::none || record.phase == Phase::warmup) {
        return;
    }
    add_one(record.side == Side::a ? a_ : b_, record);
    add_pair(record);
}

void BySide::add_one(One& one, const Record& record) {
    OneSideFigures& figures = one.figures;
    ++figures.requests;
    if (figures.url.empty()) {
        figures.url = record.url;
    }
    figures.completed += record.outcome == Outcome::ok ? 1 : 0;
    figures.failed += is_failure(record.outcome) && !record.censored ? 1 : 0;
    one.times.add(counted_times(record));
    if (!is_wish(record.late_cause)) {
        one.drift.add_known(record.drift_ns);
    }
    if (record.cached_tokens) {
        ++figures.cache_rows;
        figures.cache_rows_unforetold += record.expected_cached_tokens ? 0 : 1;
        figures.expected_cached_tokens += token_count(record.expected_cached_tokens);
        figures.cached_tokens += token_count(record.cached_tokens);
    }
}

void BySide::add_pair(const Record& record) {
    Half own;
    own.fired_ns = record.fired_ns.value_or(0);
    if (counts_ttft(record.outcome) && record.fired_ns) {
        own.ttft_ns = record.ttft_ns;
    }
    const auto [other, is_first] = waiting_.try_emplace(record.row, own);
    if (is_first) {
        return;
    }
    const Half& a = record.side == Side::a ? own : other->second;
    const Half& b = record.side == Side::a ? other->second : own;
    if (a.ttft_ns && b.ttft_ns) {
        const auto difference = static_cast<double>(*b.ttft_ns - *a.ttft_ns);
        differences_.add(difference);
        (a.fired_ns <= b.fired_ns ? a_first_ : b_first_).add(difference);
    } else {
        ++unpaired_;
    }
    waiting_.erase(other);
}

std::optional<SideFigures> BySide::figures() const {
    if (a_.figures.requests + b_.figures.requests == 0) {
        return std::nullopt;
    }
    const auto of = [](const One& one) {
        OneSideFigures figures = one.figures;
        one.times.put(figures);
        figures.drift = one.drift.distribution();
        return figures;
    };
    SideFigures sides{of(a_), of(b_), {}};
    sides.pairs = {differences_.distribution(), a_first_.distribution(), b_first_.distribution(),
                   unpaired_ + waiting_.size()};
    return sides;
}

static void put_value(JsonWriter& json, const OneSideFigures& side) {
    put_object(json, {{"url", or_null(side.url)},
                      {"requests", side.requests},
                      {"completed", side.completed},
                      {"failed", side.failed},
                      {"ttft_ms", InMs{side.ttft}},
                      {"tpot_ms", InMs{side.tpot}},
                      {"e2el_ms", InMs{side.e2e}},
                      {"drift_ns", side.drift},
                      {"cache_rows", side.cache_rows},
                      {"expected_cached_tokens",
                       known_if(side.cache_rows_unforetold == 0, side.expected_cached_tokens)},
                      {"cached_tokens", side.cached_tokens}});
}

void put_value(JsonWriter& json, const SideFigures& sides) {
    put_object(json,
               {{"a", sides.a},
                {"b", sides.b},
                {"pairs", JsonPairs{{"unpaired", sides.pairs.unpaired},
                                    {"ttft_difference_ms", InMs{sides.pairs.ttft}},
                                    {"ttft_difference_a_first_ms", InMs{sides.pairs.a_first}},
                                    {"ttft_difference_b_first_ms", InMs{sides.pairs.b_first}}}}});
}

static constexpr double second_ns = 1e9;
static constexpr double hour_ns = 3600 * second_ns;

/// Of one user's pass, at one side; other passes are other trees.
static std::string key_of(const Record& record, const std::string& name) {
    return name + '\n' + std::to_string(record.pass) + '\n' +
           (record.user ? std::to_string(*record.user) : "") + '\n' + name_of(record.side);
}

/// Time that at least one of the intervals covers. Sorts them.
static std::int64_t covered(std::vector<std::pair<std::int64_t, std::int64_t>>& flights) {
    std::sort(flights.begin(), flights.end());
    std::int64_t sum = 0;
    std::int64_t until = INT64_MIN;
    for (const auto& [from, to] : flights) {
        const std::int64_t begin = std::max(from, until);
        sum += std::max<std::int64_t>(to - begin, 0);
        until = std::max(until, to);
    }
    return sum;
}

void TreeFigures::add(const Record& record) {
    if (record.phase != Phase::profile) {
        return;
    }
    const auto& name = record.tree ? record.tree : record.session;
    if (!name) {
        ++alone_;
        return;
    }
    if (record.user) {
        users_.insert(*record.user);
    }
    Tree& tree = trees_[key_of(record, *name)];
    (is_whole(record.outcome) ? tree.whole : tree.not_whole).insert(record.row);
    const bool cut = record.censored || record.outcome == Outcome::not_sent ||
                     record.outcome == Outcome::cancelled || record.outcome == Outcome::interrupted;
    tree.failed = tree.failed || (is_failure(record.outcome) && !cut);
    if (record.fired_ns && record.ended_ns) {
        tree.flights.emplace_back(*record.fired_ns, *record.ended_ns);
    }
    if (is_whole(record.outcome)) {
        const auto prompt = static_cast<double>(prompt_tokens_of(record));
        tree.cache_known = tree.cache_known && record.cached_tokens.has_value();
        tree.cached += static_cast<double>(record.cached_tokens.value_or(0));
        tree.computed += prompt - static_cast<double>(record.cached_tokens.value_or(0));
        tree.output_known = tree.output_known && counts_output(record);
        tree.output += static_cast<double>(record.output_tokens.value_or(0));
    }
}

TreeTotals TreeFigures::totals(std::int64_t duration_ns) const {
    TreeTotals totals;
    totals.rows_alone = alone_;
    totals.users = users_.size();
    Sample duration, turns, answer, gap, computed, cached, output;
    for (const auto& [key, tree] : trees_) {
        ++totals.trees;
        // A request that failed and was sent again counts by its last try.
        const bool whole = std::includes(tree.whole.begin(), tree.whole.end(),
                                         tree.not_whole.begin(), tree.not_whole.end());
        if (!whole) {
            ++(tree.failed ? totals.failed : totals.unfinished);
            continue;
        }
        ++totals.finished;
        auto flights = tree.flights;
        const std::int64_t in_flight = covered(flights);
        std::int64_t last = flights.empty() ? 0 : flights.front().second;
        for (const auto& [from, to] : flights) {
            last = std::max(last, to);
        }
        const std::int64_t lasted = flights.empty() ? 0 : last - flights.front().first;
        duration.add(static_cast<double>(lasted) / second_ns);
        answer.add(static_cast<double>(in_flight) / second_ns);
        gap.add(static_cast<double>(lasted - in_flight) / second_ns);
        turns.add(static_cast<double>(tree.whole.size()));
        if (tree.output_known) {
            output.add(tree.output);
        }
        if (tree.cache_known) {
            computed.add(tree.computed);
            cached.add(tree.cached);
        }
    }
    totals.duration_s = duration.distribution();
    totals.turns = turns.distribution();
    totals.answer_s = answer.distribution();
    totals.gap_s = gap.distribution();
    totals.computed = computed.distribution();
    totals.cached = cached.distribution();
    totals.output = output.distribution();
    if (duration_ns > 0) {
        totals.jobs_per_hour =
            static_cast<double>(totals.finished) / (static_cast<double>(duration_ns) / hour_ns);
        if (totals.users > 0) {
            totals.jobs_per_hour_per_user =
                *totals.jobs_per_hour / static_cast<double>(totals.users);
        }
    }
    return totals;
}

void ByShard::add(const Record& record) {
    if (!record.shard) {
        return;
    }
    One& one = shards_[*record.shard];
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
    for (const auto& [index, one] : shards_) {
        all.push_back(one.figures);
        all.back().index = index;
        all.back().drift = one.drift.distribution();
    }
    return all;
}

/// Indices that are written out in one line; a larger fleet is counted.
static constexpr std::size_t listed_max = 8;

static const MergedShard* first_present(const MergedRun& run) {
    const auto found = std::ranges::find(run.shards, false, &MergedShard::is_missing);
    return found == run.shards.end() ? nullptr : &*found;
}

/// Its time 0 by the clock of shard 0.
static std::int64_t zero_of(const MergedShard& shard) {
    return shard.zero_utc_ns - (shard.clock ? shard.clock->offset_ns : 0);
}

static std::string missing_text(const MergedRun& run) {
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

static std::string killed_text(const MergedRun& run, const MergedShard& shard) {
    const std::string was_killed = shard_text(run, shard) + " was killed";
    if (shard.not_reported == 0) {
        return was_killed + " when all its rows had ended: nothing is missing";
    }
    return was_killed + ": " + counted(shard.not_reported, "row is", "rows are") +
           " not reported; finish it with driftless replay --resume " + shard.folder +
           ", then merge again";
}

static void put_shard(JsonWriter& json, const MergedRun& run, std::size_t index,
                      const ShardFigures& figures) {
    const MergedShard& shard = run.shards[index];
    const auto drift = [&d = figures.drift](std::size_t at) {
        return known_if(d.count > 0, static_cast<std::int64_t>(d.at[at]));
    };
    const bool is_there = !shard.is_missing();
    const std::optional<ShardClock>& clock = shard.clock;
    const std::optional<ZeroDifference> apart = zero_difference(run, index);
    put_object(json, {{"index", shard.index},
                      {"rows", known_if(is_there, shard.rows)},
                      {"not_reported", known_if(is_there, shard.not_reported)},
                      {"completed", figures.completed},
                      {"tainted_rows", figures.tainted},
                      {"verdict", known_if(is_there, shard.verdict)},
                      {"p50_drift_ns", drift(median_index)},
                      {"p99_drift_ns", drift(p99_index)},
                      {"zero_apart_ns", apart ? OptionalNs(apart->ns) : OptionalNs()},
                      {"zero_apart_error_ns", apart ? apart->error_ns : OptionalNs()},
                      {"clock_offset_ns", clock ? OptionalNs(clock->offset_ns) : OptionalNs()},
                      {"clock_error_ns", clock ? OptionalNs(clock->error_ns) : OptionalNs()}});
}

std::string shard_text(const MergedRun& run, const MergedShard& shard) {
    return "shard " + std::to_string(shard.index) + " of " + std::to_string(run.count);
}

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
    return std::ranges::all_of(
        shards, [](const MergedShard& one) { return !one.is_missing() && one.all_known; });
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
    put(json, {{"not_reported", run ? run->not_reported() : 0}});
    json.key("shards");
    if (!run) {
        json.null();
        return;
    }
    json.begin_array();
    for (std::size_t i = 0; i < run->shards.size(); ++i) {
        const auto found = std::ranges::find(figures, i, &ShardFigures::index);
        put_shard(json, *run, i, found != figures.end() ? *found : ShardFigures());
    }
    json.end_array();
}

}  // namespace driftless
