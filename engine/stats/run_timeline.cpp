#include "engine/stats/run_timeline.hpp"

#include <algorithm>
#include <tuple>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Seconds that are counted one by one: 11 days.
constexpr std::size_t seconds_max = 1'000'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;

/// The latest stamp of a record: the row was not over before it.
std::int64_t end_of(const Record& record) {
    std::int64_t end = 0;
    for (const OptionalNs& stamp :
         {record.fired_ns, record.sent_ns, record.headers_ns, record.first_byte_ns,
          record.last_token_ns, record.done_ns, record.ended_ns}) {
        end = std::max(end, stamp.value_or(0));
    }
    return end;
}

}  // namespace

void RunTimeline::add_warm_up(std::uint32_t segment) {
    segments_[segment].has_warm_up = true;
}

void RunTimeline::add(const Record& record) {
    if (!record.fired_ns.has_value() && !record.ended_ns.has_value()) {
        return;
    }
    Segment& segment = segments_[record.segment];
    if (!segment.sent) {
        segment.first_due_ns = record.due_ns;
        segment.begin_ns = record.segment > 0 ? record.due_ns : 0;
    }
    segment.first_due_ns = std::min(segment.first_due_ns, record.due_ns);
    segment.sent = true;
    segment.begin_ns = std::min(segment.begin_ns, record.due_ns);
    segment.end_ns = std::max(segment.end_ns, end_of(record));
    if (!record.fired_ns.has_value()) {
        return;
    }
    steps_.push_back({*record.fired_ns, record.segment, 1});
    if (const OptionalNs end = record.ended_ns ? record.ended_ns : record.done_ns; end) {
        steps_.push_back({*end, record.segment, -1});
    }
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
std::uint64_t RunTimeline::max_open() const {
    std::vector<Step> steps = steps_;
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::tie(a.segment, a.at_ns, a.change) < std::tie(b.segment, b.at_ns, b.change);
    });
    std::int64_t most = 0;
    std::int64_t open = 0;
    std::uint32_t segment = 0;
    for (const Step& step : steps) {
        open = step.segment == segment ? open : 0;
        segment = step.segment;
        open += step.change;
        most = std::max(most, open);
    }
    CHECK(most >= 0);
    return static_cast<std::uint64_t>(most);
}

RunTimelineFigures RunTimeline::figures() const {
    RunTimelineFigures figures;
    figures.max_concurrent_requests = max_open();
    figures.rows_without_chunks = rows_without_chunks_;
    std::uint64_t best = 0;
    for (const auto& [number, segment] : segments_) {
        const std::int64_t begin_ns =
            segment.has_warm_up ? segment.first_due_ns : segment.begin_ns;
        figures.duration_ns += std::max<std::int64_t>(0, segment.end_ns - begin_ns);
        for (const std::uint64_t tokens : segment.tokens_in_second) {
            best = std::max(best, tokens);
        }
    }
    if (rows_without_chunks_ == 0 && (best > 0 || !has_unstamped_tokens_)) {
        figures.max_output_tokens_per_s = best;
    }
    return figures;
}

}  // namespace driftless
