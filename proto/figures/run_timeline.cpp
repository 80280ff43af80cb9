#include "proto/figures/run_timeline.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/breakdowns.hpp"

namespace driftless {

static void add_known(Sample& sample, std::int64_t value) {
    if (value >= 0) {
        sample.add(static_cast<double>(value));
    }
}

namespace {

struct CapSamples {
    Sample held, drift;
    void add(std::int64_t held_ns, std::int64_t drift_ns) {
        held.add(static_cast<double>(held_ns));
        drift.add(static_cast<double>(drift_ns));
    }
    HeldFigures figures() const { return {held.distribution(), drift.distribution()}; }
};

}  // namespace

void Sending::add(const Record& record) {
    Row row{};
    row.due_ns = record.due_ns;
    row.row = record.row;
    row.left = record.fired_ns.has_value();
    if (!row.left) {
        rows_.push_back(row);
        return;
    }
    row.drift_ns = *record.fired_ns - record.due_ns;
    row.wire_delay_ns = record.wire_ns.has_value() ? *record.wire_ns - *record.fired_ns : -1;
    row.receive_delay_ns = record.receive_delay_ns.value_or(-1);
    row.submit_ns = record.submit_ns.value_or(-1);
    row.cause = record.late_cause;
    rows_.push_back(row);
    if (is_wish(row.cause) || row.cause == LateCause::limit) {
        held_.push_back({record.held_ns, row.drift_ns, row.cause});
    }
}

SendingFigures Sending::figures() const {
    SendingFigures figures;
    Sample drift, submit, wire_delay, wire_drift, receive_delay;
    std::array<Sample, late_cause_count> by_cause;
    CapSamples by_user, by_budget, by_host;
    for (const Held& one : held_) {
        CapSamples& of = one.cause == LateCause::limit    ? by_host
                         : one.cause == LateCause::budget ? by_budget
                                                          : by_user;
        of.add(one.held_ns, one.drift_ns);
    }
    for (const Row& row : rows_) {
        if (!row.left) {
            continue;
        }
        figures.wire_unknown += row.wire_delay_ns < 0 ? 1 : 0;
        add_known(submit, row.submit_ns);
        add_known(wire_delay, row.wire_delay_ns);
        add_known(receive_delay, row.receive_delay_ns);
        if (is_wish(row.cause)) {
            continue;
        }
        CHECK(static_cast<std::size_t>(row.cause) < by_cause.size());
        drift.add(static_cast<double>(row.drift_ns));
        by_cause[static_cast<std::size_t>(row.cause)].add(static_cast<double>(row.drift_ns));
        add_known(wire_drift, row.wire_delay_ns < 0 ? -1 : row.drift_ns + row.wire_delay_ns);
    }
    figures.drift = drift.distribution();
    figures.submit = submit.distribution();
    figures.wire_delay = wire_delay.distribution();
    figures.wire_drift = wire_drift.distribution();
    figures.receive_delay = receive_delay.distribution();
    for (std::size_t i = 0; i < by_cause.size(); ++i) {
        figures.by_cause[i] = by_cause[i].distribution();
    }
    figures.held_by_user = by_user.figures();
    figures.held_by_budget = by_budget.figures();
    figures.held_by_host = by_host.figures();
    figures.by_rank = by_rank(figures.instant_rows_max);
    CHECK(figures.instant_rows_max <= rows_.size());
    return figures;
}

// Rows of one instant are fired in file order, so that the rank is their place in it; a row that
// did not leave, or was held back, has a place too, as far as it is known.
std::vector<RankFigures> Sending::by_rank(std::uint32_t& instant_rows_max) const {
    std::vector<Row> rows(rows_.begin(), rows_.end());
    std::ranges::sort(rows, {}, [](const Row& one) { return std::pair(one.due_ns, one.row); });
    std::vector<Sample> buckets;
    std::size_t first_of_instant = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        first_of_instant = rows[i].due_ns == rows[first_of_instant].due_ns ? first_of_instant : i;
        if (!rows[i].left) {
            continue;
        }
        const std::size_t bucket = std::bit_width(i - first_of_instant);
        instant_rows_max =
            std::max(instant_rows_max, static_cast<std::uint32_t>(i - first_of_instant + 1));
        if (!is_wish(rows[i].cause)) {
            CHECK(bucket <= 32);  // ranks have 32 bits
            buckets.resize(std::max(buckets.size(), bucket + 1));
            buckets[bucket].add(static_cast<double>(rows[i].drift_ns));
        }
    }
    std::vector<RankFigures> figures;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
        const std::uint32_t first = bucket == 0 ? 0 : 1u << (bucket - 1);
        const std::uint32_t last = bucket == 0 ? 0 : (1u << bucket) - 1;
        if (buckets[bucket].count() > 0) {
            figures.push_back({first, last, buckets[bucket].distribution()});
        }
    }
    return figures;
}

/// Seconds that are counted one by one: 11 days.
static constexpr std::size_t seconds_max = 1'000'000;
static constexpr std::int64_t ns_per_s = 1'000'000'000;

/// The latest stamp of a record: the row was not over before it.
static std::int64_t end_of(const Record& record) {
    std::int64_t end = 0;
    for (const OptionalNs& stamp :
         {record.fired_ns, record.sent_ns, record.headers_ns, record.first_byte_ns,
          record.last_token_ns, record.done_ns, record.ended_ns}) {
        end = std::max(end, stamp.value_or(0));
    }
    return end;
}

/// It was not over before that, however late it was read. An end by a clock of this client is no
/// read: it came when the client looked.
static std::int64_t end_least_of(const Record& record) {
    const bool is_read = record.receive_delay_ns && !is_ended_here(record.outcome);
    const auto before = [](std::int64_t stamp_ns, std::int64_t late_ns) {
        return stamp_ns - std::max<std::int64_t>(late_ns, 0);
    };
    std::int64_t least = record.fired_ns.value_or(0);
    if (is_read) {
        least = std::max(least, before(end_of(record), *record.receive_delay_ns));
    }
    if (record.last_token_ns && record.last_late_ns) {
        least = std::max(least, before(*record.last_token_ns, *record.last_late_ns));
    }
    return least;
}

static std::uint64_t stretch_of(const Record& record) {
    const bool is_later = record.shard && record.segment > 0;
    return (is_later ? std::uint64_t{*record.shard} + 1 : 0) << 32 | record.segment;
}

void RunTimeline::add_warm_up(const Record& record) {
    segments_[stretch_of(record)].has_warm_up = true;
}

void RunTimeline::add(const Record& record) {
    if (!record.fired_ns.has_value() && !record.ended_ns.has_value()) {
        return;
    }
    Segment& segment = segments_[stretch_of(record)];
    if (!segment.sent) {
        segment.first_due_ns = record.due_ns;
        segment.begin_ns = record.segment > 0 ? record.due_ns : 0;
    }
    segment.first_due_ns = std::min(segment.first_due_ns, record.due_ns);
    segment.sent = true;
    segment.begin_ns = std::min(segment.begin_ns, record.due_ns);
    const std::int64_t end_ns = end_of(record);
    segment.end_ns = std::max(segment.end_ns, end_ns);
    segment.end_least_ns = std::max(segment.end_least_ns, end_least_of(record));
    if (!record.fired_ns.has_value()) {
        return;
    }
    const OptionalNs end = record.ended_ns ? record.ended_ns : record.done_ns;
    segment.left.push_back(
        {*record.fired_ns, end.value_or(-1), record.due_ns, record.first_token_ns.value_or(-1)});
    add_tokens(record, segment);
}

void RunTimeline::add_tokens(const Record& record, Segment& segment) {
    if (!record.has_chunks && record.chunk_ns.empty() && record.first_token_ns.has_value()) {
        ++rows_without_chunks_;
        return;
    }
    has_unstamped_tokens_ =
        has_unstamped_tokens_ || (record.chunk_ns.empty() && record.output_tokens.value_or(0) > 0);
    const bool counted =
        record.chunk_tokens_known && record.chunk_tokens.size() == record.chunk_ns.size();
    has_uncounted_chunks_ = has_uncounted_chunks_ || lost_in_client(record) ||
                            (!counted && is_whole(record.outcome) && !record.chunk_ns.empty());
    std::vector<std::uint64_t>& seconds = segment.tokens_in_second;
    for (std::size_t i = 0; i < record.chunk_ns.size(); ++i) {
        const std::int64_t at = std::max<std::int64_t>(0, *record.fired_ns + record.chunk_ns[i]);
        const auto second = std::min(static_cast<std::size_t>(at / ns_per_s), seconds_max - 1);
        if (second >= seconds.size()) {
            seconds.resize(second + 1, 0);
        }
        CHECK(seconds.size() <= seconds_max);
        const std::int64_t tokens = counted ? record.chunk_tokens[i] : 1;
        seconds[second] += static_cast<std::uint64_t>(std::max<std::int64_t>(0, tokens));
    }
}

// An end makes room for what fires at the same instant.
std::uint64_t RunTimeline::max_open(const Segment& segment) {
    std::vector<std::int64_t> fired;
    std::vector<std::int64_t> ended;
    for (const Left& one : segment.left) {
        fired.push_back(one.fired_ns);
        if (one.ended_ns >= 0) {
            ended.push_back(std::max(one.ended_ns, one.fired_ns));  // records can be anybody's
        }
    }
    std::sort(fired.begin(), fired.end());
    std::sort(ended.begin(), ended.end());
    std::size_t over = 0;
    std::uint64_t most = 0;
    for (std::size_t left = 0; left < fired.size(); ++left) {
        while (over < ended.size() && ended[over] <= fired[left]) {
            ++over;
        }
        CHECK(over <= left + 1);  // none ended before it left
        most = std::max<std::uint64_t>(most, left + 1 - over);
    }
    return most;
}

std::optional<double> RunTimeline::sent_rate(const Segment& segment) {
    if (segment.left.size() < 2) {
        return std::nullopt;
    }
    const auto [first, last] = std::ranges::minmax_element(segment.left, {}, &Left::fired_ns);
    const double seconds = static_cast<double>(last->fired_ns - first->fired_ns) / ns_per_s;
    const auto gaps = static_cast<double>(segment.left.size() - 1);
    return seconds > 0 ? std::optional(gaps / seconds) : std::nullopt;
}

/// Rows whose end is not known were open until the run died.
StabilityFinding RunTimeline::stability(const Segment& segment) {
    std::vector<RowTimes> rows;
    for (const Left& one : segment.left) {
        if (one.ended_ns >= 0) {
            const bool has_token = one.first_token_ns >= 0;
            rows.push_back({one.due_ns,
                            has_token ? std::optional(one.first_token_ns) : std::nullopt,
                            one.ended_ns});
        }
    }
    return judge_stability(std::move(rows));
}

RunTimelineFigures RunTimeline::figures() const {
    RunTimelineFigures figures;
    figures.rows_without_chunks = rows_without_chunks_;
    std::uint64_t best = 0;
    if (segments_.size() == 1) {
        figures.sent_rate = sent_rate(segments_.begin()->second);
        figures.stability = stability(segments_.begin()->second);
    }
    for (const auto& [stretch, segment] : segments_) {
        const std::int64_t begin_ns = segment.has_warm_up ? segment.first_due_ns : segment.begin_ns;
        figures.max_concurrent_requests =
            std::max(figures.max_concurrent_requests, max_open(segment));
        figures.duration_ns += std::max<std::int64_t>(0, segment.end_ns - begin_ns);
        figures.duration_least_ns += std::max<std::int64_t>(0, segment.end_least_ns - begin_ns);
        const auto number = static_cast<std::uint32_t>(stretch);
        figures.spans.push_back({number, begin_ns, std::max(begin_ns, segment.end_ns)});
        for (const std::uint64_t tokens : segment.tokens_in_second) {
            best = std::max(best, tokens);
        }
    }
    if (rows_without_chunks_ == 0 && !has_uncounted_chunks_ &&
        (best > 0 || !has_unstamped_tokens_)) {
        figures.max_output_tokens_per_s = best;
    }
    return figures;
}

/// src/aiperf/common/scenario/context_overflow.py.
static constexpr std::array<std::string_view, 4> overflow_words{
    "context length", "maximum context", "context_length_exceeded", "prompt is too long"};

static void keep_last(OptionalNs& last, const OptionalNs& instant) {
    if (instant) {
        last = std::max(last.value_or(*instant), *instant);
    }
}

bool is_context_overflow(std::string_view error) {
    return std::ranges::any_of(overflow_words, [lower = lower(error)](std::string_view words) {
        return lower.find(words) != lower.npos;
    });
}

void PhaseMarks::add(const Record& record) {
    if (record.fired_ns) {
        add_first(record);
    }
    if (record.phase == Phase::warmup) {
        return;
    }
    keep_last(figures_.last_first_token_ns, record.first_token_ns);
    keep_last(figures_.last_token_ns, record.last_token_ns);
    figures_.context_overflows += record.error && is_context_overflow(*record.error) ? 1 : 0;
    if (record.user && record.fired_ns) {
        users_.resize(std::max<std::size_t>(users_.size(), *record.user + std::size_t{1}));
        users_[*record.user] = true;
    }
}

void PhaseMarks::add_first(const Record& record) {
    if (!record.tree) {
        return;
    }
    Digest key;
    key.add(*record.tree);
    key.add_u64(record.pass);
    if (record.user) {
        of_users_.resize(std::max<std::size_t>(of_users_.size(), *record.user + std::size_t{1}));
    }
    First& first = record.user ? of_users_[*record.user] : first_[key.value()];
    if (first.is_known && first.tree != key.value()) {
        add_tree(first, figures_.first_turns);
        first = {};
    }
    if (first.is_known && first.request <= record.request) {
        return;
    }
    first.is_known = true;
    first.tree = key.value();
    first.request = record.request;
    first.input = record.input_length.value_or(0);
    first.cached = record.cached_tokens;
    first.expected = record.expected_cached_server ? record.expected_cached_server
                                                   : record.expected_cached_tokens;
}

void PhaseMarks::add_tree(const First& first, FirstTurnFigures& turns) {
    turns.trees += first.is_known ? 1 : 0;
    if (first.cached) {
        ++turns.reported;
        turns.input_tokens += first.input;
        turns.cached_tokens += token_count(first.cached);
        turns.expected_tokens += token_count(first.expected);
        turns.unforetold += first.expected ? 0 : 1;
    }
}

PhaseFigures PhaseMarks::figures() const {
    PhaseFigures figures = figures_;
    figures.users = static_cast<std::uint64_t>(std::count(users_.begin(), users_.end(), true));
    for (const First& first : of_users_) {
        add_tree(first, figures.first_turns);
    }
    for (const auto& [tree, first] : first_) {
        add_tree(first, figures.first_turns);
    }
    return figures;
}

}  // namespace driftless
