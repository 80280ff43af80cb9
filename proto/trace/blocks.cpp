#include "proto/trace/blocks.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

/// A size with a rule, and how many rows follow it.
struct Candidate {
    std::uint32_t size = 0;
    TailRule rule = TailRule::ceil;
    std::uint64_t rows = 0;

    std::uint64_t needed(std::uint64_t tokens) const {
        return rule == TailRule::ceil ? blocks_of(tokens, size) : tokens / size;
    }
};

std::vector<Candidate> candidates(std::uint32_t declared) {
    std::vector<Candidate> all;
    for (std::uint32_t size = 16; size <= 1024; size *= 2) {
        if (declared == 0) {
            all.push_back({size, TailRule::ceil});
            all.push_back({size, TailRule::floor});
        }
    }
    if (declared != 0) {
        all = {{declared, TailRule::ceil}, {declared, TailRule::floor}};
    }
    return all;
}

/// The sizes of the candidates that `rows` rows follow.
std::string sizes_that_fit(const std::vector<Candidate>& all, std::uint64_t rows) {
    std::string names;
    std::uint32_t last = 0;
    for (const Candidate& one : all) {
        if (one.rows == rows && one.size != last) {
            last = one.size;
            names += (names.empty() ? "" : ", ") + std::to_string(one.size);
        }
    }
    return names;
}

/// A row that does not follow the rule: listed, or fixed.
void settle_row(RowContext& context, const Candidate& chosen, TraceRow& row) {
    const std::uint64_t needed = chosen.needed(row.input_length);
    if (row.ids_count == 0 || row.ids_count == needed) {
        return;
    }
    context.line = row.line;
    Trace& trace = context.draft.trace();
    if (!context.rules.lenient) {
        refuse_count(context, row.ids_count, row.input_length, needed);
    } else if (row.ids_count > needed) {
        trace.surplus_ids += row.ids_count - needed;
        row.ids_count = static_cast<std::uint32_t>(needed);
    } else {
        trace.rows_uncovered += 1;
    }
}

}  // namespace

void settle_blocks(RowContext& context) {
    Trace& trace = context.draft.trace();
    std::vector<Candidate> all = candidates(context.rules.block_size);
    std::uint64_t rows = 0;
    for (const TraceRow& row : trace.rows) {
        for (Candidate& one : all) {
            one.rows += row.ids_count > 0 && row.ids_count == one.needed(row.input_length);
        }
        rows += row.ids_count > 0;
    }
    if (rows == 0) {
        return;
    }
    // Of equals the first wins: the smallest size, and ceil where every row is an exact multiple.
    const Candidate chosen =
        *std::max_element(all.begin(), all.end(),
                          [](const Candidate& a, const Candidate& b) { return a.rows < b.rows; });
    const std::string sizes = sizes_that_fit(all, chosen.rows);
    if (sizes.find(',') != sizes.npos) {
        context.line = 0;
        context.refuse("", "", "has block ids that fit several block sizes equally well: " + sizes,
                       "choose one with --block-size");
        return;
    }
    context.rules.block_size = chosen.size;
    trace.tail_rule = chosen.rule;
    for (TraceRow& row : trace.rows) {
        if (row.ids_count > 0 && chosen.rule == TailRule::ceil) {
            context.draft.ids().counts().add(row.input_length, row.ids_count);
        }
        settle_row(context, chosen, row);
    }
}

}  // namespace driftless
