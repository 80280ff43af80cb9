#include "cmd/replay/workload/budgets.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/screen/plots.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

struct Counted {
    const char* flag;
    const char* what;
    const std::optional<TypedBudget>& budget;
    std::uint32_t TraceRow::* length;
};

bool is_known(const Counted& counted, const Workload& workload) {
    const auto is_unknown = [&](const Planned& planned) {
        return workload.trace.rows[planned.row].*counted.length == 0;
    };
    const auto& rows = workload.plan.rows;
    const auto unknown = std::count_if(rows.begin(), rows.end(), is_unknown);
    if (unknown > 0) {
        complain(
            "driftless: %s: the trace does not say how many %s tokens %lld of its rows "
            "have; remove this flag",
            counted.flag, counted.what, static_cast<long long>(unknown));
    }
    return unknown == 0;
}

/// A full bucket is there at once: they may leave a period sooner than that.
void print_length(const Counted& counted, const Workload& workload) {
    const TypedBudget& budget = *counted.budget;
    std::uint64_t tokens = 0;
    for (const Planned& planned : workload.plan.rows) {
        tokens += workload.trace.rows[planned.row].*counted.length;
        tokens -= budget.uncached ? planned.expected_cached_tokens : 0;
    }
    const TokenRate& rate = budget.rate;
    const double periods = static_cast<double>(tokens) / static_cast<double>(rate.tokens);
    print_line("budgets: %s %s allows %s %s tokens in %.1f s", counted.flag,
               text_of(rate, budget.uncached).c_str(), grouped(tokens).c_str(), counted.what,
               periods * static_cast<double>(rate.period.ns) / 1e9);
}

}  // namespace

int check_budgets(const SendingFlags& sending, const Workload& workload) {
    const Counted all[] = {
        {"--budget-input", "input", sending.budget_input, &TraceRow::input_length},
        {"--budget-output", "output", sending.budget_output, &TraceRow::output_length}};
    for (const Counted& one : all) {
        if (!one.budget) {
            continue;
        }
        if (!is_known(one, workload)) {
            return exit_input;
        }
        print_length(one, workload);
    }
    return exit_done;
}

}  // namespace driftless
