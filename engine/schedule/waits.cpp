#include "engine/schedule/waits.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/plan/planned_rows.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

struct Expected {
    std::vector<std::int64_t> due_ns;  ///< [position in the plan]
    std::vector<bool> waits;           ///< for a row of the plan
    std::vector<bool> outside;         ///< would wait for a row that is not in it
};

Expected expect(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns) {
    const PlannedRows planned(trace, plan);
    Expected expected;
    expected.due_ns.resize(plan.rows.size());
    expected.waits.resize(plan.rows.size());
    expected.outside.resize(plan.rows.size());
    const auto due_of_row = [&](std::uint32_t position) {
        return expected.waits[position] ? expected.due_ns[position] : plan.rows[position].due_ns;
    };
    for (const Dependency& one : trace.dependencies) {  // sorted: those of a parent come before
        if (one.trigger == Trigger::over) {
            continue;  // it says nothing of how long a row takes at least
        }
        CHECK(one.on < one.row);
        const std::optional<std::uint32_t> child = planned.find(one.row);
        const std::optional<std::uint32_t> parent = planned.find(one.on);
        if (!child) {
            continue;
        }
        if (!parent) {
            expected.outside[*child] = true;
            continue;
        }
        const TraceRow& row = trace.rows[plan.rows[*parent].row];
        const bool by_end = one.trigger == Trigger::completion;
        const std::int64_t met_ns =
            later(due_of_row(*parent), by_end ? token_ns * row.output_length : 0);
        expected.waits[*child] = true;
        expected.due_ns[*child] =
            std::max(expected.due_ns[*child], later(met_ns, due_of(one.delay_ns, speed)));
    }
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        expected.due_ns[position] = due_of_row(position);
    }
    return expected;
}

/// Rows of one instant that wait for none: they must be open at once.
std::uint32_t burst_of_roots(const Plan& plan, const std::vector<bool>& waits) {
    std::uint32_t most = 0;
    std::uint32_t rows = 0;
    std::int64_t instant_ns = -1;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        if (!waits[position]) {
            rows = plan.rows[position].due_ns == instant_ns ? rows + 1 : 1;
            instant_ns = plan.rows[position].due_ns;
            most = std::max(most, rows);
        }
    }
    return most;
}

}  // namespace

Plan answered_in(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns) {
    const Expected expected = expect(trace, plan, speed, token_ns);
    Plan answered = plan;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        answered.rows[position].due_ns = expected.due_ns[position];
    }
    std::stable_sort(answered.rows.begin(), answered.rows.end(),
                     [](const Planned& a, const Planned& b) { return a.due_ns < b.due_ns; });
    answered.burst_rows_max = burst_of_roots(plan, expected.waits);
    answered.last_due_ns = answered.rows.empty() ? 0 : answered.rows.back().due_ns;
    return answered;
}

WaitFigures waits_of(const Trace& trace, const Plan& plan, Speed speed) {
    const Expected expected = expect(trace, plan, speed, 0);
    WaitFigures figures;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        figures.rows += expected.waits[position] ? 1 : 0;
        figures.outside += expected.outside[position] ? 1 : 0;
        figures.least_ns = std::max(figures.least_ns, expected.due_ns[position]);
        if (!expected.waits[position]) {
            figures.last_due_ns = std::max(figures.last_due_ns, plan.rows[position].due_ns);
        }
    }
    return figures;
}

std::uint64_t digest_of_waits(const Trace& trace, const Plan& plan, Speed speed) {
    const PlannedRows planned(trace, plan);
    Digest digest;
    digest.add_u64(plan.schedule_digest);
    for (const Dependency& one : trace.dependencies) {
        if (planned.contains(one.row) && planned.contains(one.on)) {
            digest.add_u64(one.row);
            digest.add_u64(one.on);
            digest.add_u64(static_cast<std::uint64_t>(one.trigger));
            digest.add_u64(static_cast<std::uint64_t>(due_of(one.delay_ns, speed)));
        }
    }
    return digest.value();
}

}  // namespace driftless
