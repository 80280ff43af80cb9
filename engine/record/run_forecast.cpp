#include "engine/record/run_forecast.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

ServedLengths lengths_of(AroundPrompt around) {
    return {around.pre + 1 + around.post, around.post};
}

/// Positions in the trace of all rows that leave, or have left in earlier segments.
std::vector<std::uint32_t> rows_of(const Trace& trace, const Plan& plan, const RowEnds* earlier) {
    std::vector<std::uint32_t> rows;
    rows.reserve(plan.rows.size());
    for (const Planned& planned : plan.rows) {
        rows.push_back(planned.row);
    }
    for (std::uint32_t row = 0; earlier != nullptr && row < trace.rows.size(); ++row) {
        if (earlier->contains(trace.rows[row].index)) {
            rows.push_back(row);
        }
    }
    return rows;
}

}  // namespace

RunForecast::RunForecast(const Trace& trace, const Plan& plan, const ForecastRules& rules,
                         const RowEnds* earlier)
    : trace_(trace),
      rules_(rules),
      lengths_(lengths_of(rules.around)),
      paths_(trace, rows_of(trace, plan, earlier), lengths_, rules.shared_blocks),
      seen_by_all_(paths_.count()),
      passes_(rules.users) {
    for (std::uint32_t row = 0; earlier != nullptr && row < trace.rows.size(); ++row) {
        const auto before = earlier->find(trace.rows[row].index);
        if (before != earlier->end() && before->second) {
            (void)enter(row, 0);
        }
    }
}

/// Tokens of the row that the cache holds. Ends: each step goes towards the beginning.
std::uint32_t RunForecast::enter(std::uint32_t row, std::uint32_t pass) {
    while (pass < first_pass_) {
        seen_.emplace_front(paths_.count());
        --first_pass_;
    }
    while (pass - first_pass_ >= seen_.size()) {
        seen_.emplace_back(paths_.count());
    }
    std::vector<bool>& seen = seen_[pass - first_pass_];
    std::uint32_t node = paths_.end_of(row);
    CHECK(node != PromptPaths::none);
    for (; node != PromptPaths::none; node = paths_.before(node)) {
        std::vector<bool>& there = paths_.is_shared(node) ? seen_by_all_ : seen;
        if (there[node]) {
            break;
        }
        there[node] = true;
    }
    return node == PromptPaths::none ? 0 : paths_.tokens(node);
}

/// A user plays trees of the pass that it is in, or of later ones: those before the pass of every
/// user are over.
void RunForecast::forget_passes(const Due& due) {
    if (due.user == Due::no_user) {
        return;
    }
    if (due.user >= passes_.size()) {
        passes_.resize(due.user + std::size_t{1}, due.pass);
    }
    const bool moves_on = passes_[due.user] != due.pass;
    passes_[due.user] = due.pass;
    if (moves_on) {
        const std::uint32_t least = *std::min_element(passes_.begin(), passes_.end());
        for (; first_pass_ < least && !seen_.empty(); ++first_pass_) {
            seen_.pop_front();
        }
        first_pass_ = seen_.empty() ? std::max(first_pass_, least) : first_pass_;
    }
}

ExpectedHits RunForecast::fired(const Due& due) {
    forget_passes(due);
    const TraceRow& row = trace_.rows[due.row];
    const std::uint32_t shared = enter(due.row, due.pass);
    ExpectedHits hits;
    if (const std::uint32_t size = trace_.block_size; size > 0 && row.ids_count > 0) {
        const std::uint32_t whole = std::min(row.ids_count, row.input_length / size);
        const std::uint32_t usable = std::min(whole, (row.input_length - 1) / size);
        hits.tokens = std::min(shared / size, usable) * size;
    }
    if (const std::uint32_t block = rules_.server_block; block > 0) {
        const std::uint32_t length = lengths_.of(row);
        const std::uint32_t words_end = length - std::min(length, lengths_.post);
        const std::uint32_t at_least = std::min(rules_.around.pre, words_end);  // of the preflight
        hits.server = std::min(std::max(shared, at_least), length - 1) / block * block;
    }
    return hits;
}

}  // namespace driftless
