#include "engine/stats/run_timeline.hpp"

#include <algorithm>

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

std::uint64_t stretch_of(const Record& record) {
    const bool is_later = record.shard && record.segment > 0;
    return (is_later ? std::uint64_t{*record.shard} + 1 : 0) << 32 | record.segment;
}

}  // namespace

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
    segment.end_ns = std::max(segment.end_ns, end_of(record));
    if (!record.fired_ns.has_value()) {
        return;
    }
    segment.fired_ns.push_back(*record.fired_ns);
    if (const OptionalNs end = record.ended_ns ? record.ended_ns : record.done_ns; end) {
        segment.ended_ns.push_back(*end);
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
    std::vector<std::int64_t> fired(segment.fired_ns.begin(), segment.fired_ns.end());
    std::vector<std::int64_t> ended(segment.ended_ns.begin(), segment.ended_ns.end());
    CHECK(ended.size() <= fired.size());
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
    if (segment.fired_ns.size() < 2) {
        return std::nullopt;
    }
    const auto [first, last] =
        std::minmax_element(segment.fired_ns.begin(), segment.fired_ns.end());
    const double seconds = static_cast<double>(*last - *first) / ns_per_s;
    const auto gaps = static_cast<double>(segment.fired_ns.size() - 1);
    return seconds > 0 ? std::optional(gaps / seconds) : std::nullopt;
}

RunTimelineFigures RunTimeline::figures() const {
    RunTimelineFigures figures;
    figures.rows_without_chunks = rows_without_chunks_;
    std::uint64_t best = 0;
    if (segments_.size() == 1) {
        figures.sent_rate = sent_rate(segments_.begin()->second);
    }
    for (const auto& [stretch, segment] : segments_) {
        const std::int64_t begin_ns = segment.has_warm_up ? segment.first_due_ns : segment.begin_ns;
        figures.max_concurrent_requests =
            std::max(figures.max_concurrent_requests, max_open(segment));
        figures.duration_ns += std::max<std::int64_t>(0, segment.end_ns - begin_ns);
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

}  // namespace driftless
