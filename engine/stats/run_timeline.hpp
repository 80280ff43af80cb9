/// RunTimeline: what records say of the run's time: how long it was active, how many requests were
/// open at once, its best second. Fed with records one by one, in any order, so that it can be
/// rebuilt from `requests.jsonl`; it judges nothing. 16 bytes a row, 8 bytes a second.
///
/// The segments of a run that was killed and resumed followed one another, but their stamps may
/// overlap: a later one begins at the due instant of its first row, which may lie before the last
/// stamp of the one before. Nothing is added up, or counted as open, across segments. The first
/// segments of the shards of a merged run went side by side, each on its own clock: they count as
/// one. What a shard was resumed for came later, and is a segment of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "engine/scrape/server_totals.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct RunTimelineFigures {
    /// Sum over the segments that sent a row or gave one up, each from its beginning to its last
    /// stamp. The first segment begins at time 0, a later one, and one with a warm-up, when the
    /// first of those rows was due.
    std::int64_t duration_ns = 0;
    std::vector<MeasuredSpan> spans;  ///< those stretches, by segment
    /// Rows with fired_ns <= t < ended_ns, at most; a row without an end was open until its segment
    /// died. (Records of schema 1 have no ended_ns: done_ns stands in.)
    std::uint64_t max_concurrent_requests = 0;
    /// Output tokens of a second of a segment, from time 0, at most. Unknown where chunks of a row
    /// are not known, or those of a whole answer not counted; of others each is one token.
    std::optional<std::uint64_t> max_output_tokens_per_s;
    /// Requests a second, from the first fire to the last. Unknown of fewer than two instants, and
    /// of several segments.
    std::optional<double> sent_rate;
    std::uint64_t rows_without_chunks = 0;  ///< they had tokens, but nobody kept the stamps
};

class RunTimeline {
  public:
    void add(const Record& record);
    /// A record of the warm-up, which is in no figure.
    void add_warm_up(const Record& record);
    /// The figures so far. Sorts a copy.
    RunTimelineFigures figures() const;

  private:
    struct Segment {
        bool sent = false;
        bool has_warm_up = false;
        std::int64_t first_due_ns = 0;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
        std::vector<std::uint64_t> tokens_in_second;
        std::deque<std::int64_t> fired_ns;  ///< of each request that left
        std::deque<std::int64_t> ended_ns;  ///< of those whose end is known
    };
    void add_tokens(const Record& record, Segment& segment);
    static std::optional<double> sent_rate(const Segment& segment);
    static std::uint64_t max_open(const Segment& segment);

    std::map<std::uint64_t, Segment> segments_;  ///< shard, if it is a later one, and segment
    std::uint64_t rows_without_chunks_ = 0;
    bool has_uncounted_chunks_ = false;  ///< some whole answer has chunks of unknown tokens
    bool has_unstamped_tokens_ = false;  ///< some answer had tokens and no chunk (--no-stream)
};

}  // namespace driftless
