#include "tests/sim/laws_of_budgets.hpp"

#include <algorithm>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

using Whole = __int128;

struct Left {
    std::int64_t at_ns = 0;
    Whole tokens = 0;
    const Record* record = nullptr;
};

std::vector<Left> left_by(const SimResult& result, bool of_input) {
    std::vector<Left> rows;
    for (const Record& record : result.records) {
        if (!record.fired_ns) {
            continue;
        }
        const auto cached = result.expected_cached.find(record.row);
        const Whole held =
            result.budgets.uncached && cached != result.expected_cached.end() ? cached->second : 0;
        rows.push_back({*record.fired_ns,
                        of_input ? record.input_length.value_or(0) - held
                                 : Whole{record.output_length.value_or(0)},
                        &record});
    }
    std::sort(rows.begin(), rows.end(), [](const Left& a, const Left& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.record->request < b.record->request;
    });
    return rows;
}

// Before a row leaves, those that left since any row before it are less than a bucket and what has
// been refilled since. Both sides are multiplied by the period.
void check(const std::vector<Left>& rows, const TokenRate& rate, Breaches& breaches) {
    const auto tokens = static_cast<Whole>(rate.tokens);
    Whole left = 0;   // times the period, of the rows so far
    Whole least = 0;  // of any row: what had left before it, less what was refilled by then
    bool any = false;
    for (const Left& row : rows) {
        const Whole before = left - tokens * row.at_ns;
        breaches.unless(!any || before - least < tokens * rate.period.ns, *row.record,
                        "left on a budget that was used up");
        least = any ? std::min(least, before) : before;
        any = true;
        left += row.tokens * rate.period.ns;
    }
}

void add_used_up(const std::vector<Left>& rows, const TokenRate& rate, std::int64_t until_ns,
                 std::vector<UsedUp>& all) {
    const auto tokens = static_cast<Whole>(rate.tokens);
    const Whole full = tokens * rate.period.ns;
    Whole level = full;  // times the period
    std::int64_t at_ns = rows.empty() ? 0 : rows.front().at_ns;
    for (const Left& row : rows) {
        if (row.at_ns >= until_ns) {
            return;
        }
        level = std::min(full, level + tokens * (row.at_ns - at_ns)) - row.tokens * rate.period.ns;
        at_ns = row.at_ns;
        if (level <= 0) {
            all.push_back({at_ns, at_ns + static_cast<std::int64_t>(-level / tokens) + 1});
        }
    }
}

}  // namespace

std::vector<UsedUp> used_up(const SimResult& result, std::int64_t until_ns) {
    std::vector<UsedUp> all;
    if (result.budgets.input.tokens > 0) {
        add_used_up(left_by(result, true), result.budgets.input, until_ns, all);
    }
    if (result.budgets.output.tokens > 0) {
        add_used_up(left_by(result, false), result.budgets.output, until_ns, all);
    }
    return all;
}

std::vector<UsedUp> ran_over(const SimResult& result, std::int64_t until_ns) {
    const bool of_input = result.budgets.input.tokens > 0;
    const TokenRate& rate = of_input ? result.budgets.input : result.budgets.output;
    const auto tokens = static_cast<Whole>(rate.tokens);
    const Whole full = tokens * rate.period.ns;
    std::vector<UsedUp> all;
    Whole level = full;  // times the period
    std::int64_t at_ns = INT64_MIN / 2;
    for (const Left& row : left_by(result, of_input)) {
        if (row.at_ns >= until_ns) {
            break;
        }
        const auto full_ns = at_ns + static_cast<std::int64_t>((full - level) / tokens);
        if (full_ns < row.at_ns) {
            all.push_back({full_ns, row.at_ns});
        }
        level = std::min(full, level + tokens * (row.at_ns - at_ns)) - row.tokens * rate.period.ns;
        at_ns = row.at_ns;
    }
    return all;
}

// In any time no more tokens leave than a bucket, what that time refills, and the last request.
std::string budgets_are_kept(const SimResult& result) {
    Breaches breaches;
    if (result.budgets.input.tokens > 0) {
        check(left_by(result, true), result.budgets.input, breaches);
    }
    if (result.budgets.output.tokens > 0) {
        check(left_by(result, false), result.budgets.output, breaches);
    }
    return breaches.text();
}

}  // namespace driftless::sim
