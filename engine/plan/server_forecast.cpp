#include "engine/plan/server_forecast.hpp"

#include <algorithm>
#include <bit>

#include "engine/plan/prefix_set.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// How far into its last block each prefix was seen. A flat table of a fixed size.
class PrefixExtents {
  public:
    explicit PrefixExtents(std::uint64_t prefixes_max)
        : keys_(std::bit_ceil(prefixes_max + prefixes_max / 2 + 2), empty), tokens_(keys_.size()) {}

    /// The tokens that were seen there; then at least `tokens`.
    std::uint32_t raise(std::uint64_t prefix, std::uint32_t tokens) {
        prefix = prefix == empty ? ~empty : prefix;
        const std::size_t mask = keys_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        while (keys_[at] != empty && keys_[at] != prefix) {  // ends: a third of it stays empty
            at = (at + 1) & mask;
        }
        const std::uint32_t seen = tokens_[at];
        keys_[at] = prefix;
        tokens_[at] = std::max(seen, tokens);
        return seen;
    }

  private:
    static constexpr std::uint64_t empty = 0;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint32_t> tokens_;
};

class Forecast {
  public:
    Forecast(const Trace& trace, AroundPrompt around, std::uint64_t ids, std::uint64_t rows)
        : trace_(trace), around_(around), extents_(ids + rows) {}

    /// Tokens that the row has at the server: at least one word goes between the template's.
    std::uint32_t length_of(const TraceRow& row) const {
        return std::max(row.input_length, around_.pre + 1 + around_.post);
    }

    /// Tokens that the row shares with an earlier one.
    std::uint32_t next(const TraceRow& row) {
        const std::uint32_t size = trace_.block_size;
        const std::uint32_t words_end = length_of(row) - around_.post;
        std::uint32_t shared = std::min(around_.pre, words_end);  // the preflight had the template
        std::uint64_t prefix = PrefixSet::start(row.name_space);
        bool unbroken = size > 0;
        std::uint32_t begin = 0;
        for (const std::uint64_t id : trace_.ids_of(row)) {
            if (begin >= words_end) {
                break;
            }
            const std::uint32_t own = std::min(size, words_end - begin);
            prefix = PrefixSet::extend(prefix, id);
            const std::uint32_t seen = std::min(extents_.raise(prefix, own), own);
            if (unbroken) {
                shared = std::max(shared, seen > 0 ? begin + seen : 0);
            }
            unbroken = unbroken && seen == size;
            begin += own;
        }
        return whole_row_seen(row, prefix, begin >= words_end) ? length_of(row) : shared;
    }

  private:
    /// Whether the very same prompt came before, its template's tail included.
    bool whole_row_seen(const TraceRow& row, std::uint64_t prefix, bool covered) {
        if (!covered || trace_.block_size == 0) {
            return false;
        }
        const std::uint64_t length_mark = mix64(length_of(row) * golden_gamma);
        return extents_.raise(PrefixSet::extend(prefix, ~length_mark), 1) > 0;
    }

    const Trace& trace_;
    AroundPrompt around_;
    PrefixExtents extents_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> expect_server_cached(const Trace& trace,
                                                               AroundPrompt around,
                                                               std::uint32_t server_block,
                                                               const Plan& plan) {
    CHECK(server_block > 0);
    std::uint64_t ids = 0;
    for (const Planned& planned : plan.rows) {
        ids += trace.rows[planned.row].ids_count;
    }
    if (ids > server_forecast_ids_max) {
        return {};
    }
    Forecast forecast(trace, around, ids, plan.rows.size());
    std::vector<std::uint32_t> cached(trace.rows.size(), 0);
    for (const std::uint32_t position : file_order(trace, plan)) {
        const TraceRow& row = trace.rows[plan.rows[position].row];
        const std::uint32_t shared = std::min(forecast.next(row), forecast.length_of(row) - 1);
        cached[plan.rows[position].row] = shared / server_block * server_block;
    }
    return cached;
}

}  // namespace driftless
