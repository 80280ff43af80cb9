#include "cmd/replay/workload/share.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/flags/shard_values.hpp"
#include "cmd/replay/workload/rates.hpp"
#include "cmd/replay/workload/server_fit.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/screen/plots.hpp"
#include "engine/plan/row_trees.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// Those rows of `whole` whose requests are this part's.
Plan estimated_share(const Plan& whole, const std::vector<bool>& is_own) {
    Plan part = whole;
    std::erase_if(part.rows, [&is_own](const Planned& planned) { return !is_own[planned.row]; });
    part.burst_rows_max = 0;
    std::uint32_t burst = 0;
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
        burst = i > 0 && part.rows[i].due_ns == part.rows[i - 1].due_ns ? burst + 1 : 1;
        part.burst_rows_max = std::max(part.burst_rows_max, burst);
    }
    return part;
}

int refuse_empty(const WorkloadShare& share, std::size_t trees, bool is_own, bool is_dual) {
    const bool by_trees = share.rule == DealRule::trees;
    const std::size_t parts = by_trees ? trees : share.plan_rows / (is_dual ? 2 : 1);
    complain(
        "driftless: --shard %s: %s shard has no row, because the plan has %s; start %s at most",
        text_of(share.place).c_str(), is_own ? "this" : "another",
        by_trees ? counted(parts, "session tree, which stays whole",
                           "session trees, each "
                           "of which stays whole")
                       .c_str()
                 : counted(parts, "row", "rows").c_str(),
        counted(parts, "process", "processes").c_str());
    return exit_input;
}

}  // namespace

DealRule deal_rule(const ReplayOptions& options, const Workload& workload) {
    const bool waits = workload.waiting && !options.workload.users.single_rows;
    const bool sticks = options.sending.connection == ConnectionRule::sticky;
    return waits || sticks ? DealRule::trees : DealRule::rows;
}

int choose_share(const ReplayOptions& options, Workload& workload) {
    if (!options.shard.any()) {
        return exit_done;
    }
    WorkloadShare share;
    share.place = options.shard.place;
    share.rule = deal_rule(options, workload);
    share.plan_rows = workload.plan.rows.size();
    const bool by_users = workload.users.users > 0;  // the first of whom begins at once
    share.first_due_ns = by_users ? 0 : workload.plan.rows.front().due_ns;
    if (const auto facts = arrival_facts(options.workload, workload.trace, workload.plan)) {
        share.planned_rate = facts->planned_rate;
    }
    share.longest_row_tokens = longest_row(workload.trace, workload.plan);
    const std::vector<std::uint32_t> owners =
        deal(workload.trace, workload.plan, share.place.count, share.rule);
    std::vector<bool> is_own(workload.trace.rows.size(), false);
    std::vector<bool> has_rows(share.place.count, false);
    std::size_t rows = 0;
    for (std::size_t position = 0; position < owners.size(); ++position) {
        has_rows[owners[position]] = true;
        if (owners[position] == share.place.index) {
            is_own[workload.plan.rows[position].row] = true;
            ++rows;
        }
    }
    // Or the others would wait for it at the meeting.
    if (std::find(has_rows.begin(), has_rows.end(), false) != has_rows.end()) {
        return refuse_empty(share, RowTrees(workload.trace, workload.plan).count(), rows == 0,
                            workload.plan.dual);
    }
    share.estimated = estimated_share(plan_to_estimate(workload), is_own);
    UserRules& users = workload.users;
    users = users_of(users, share.place);
    const std::string note =
        text_of(share.place) + " (" + options.shard.from + "; counted from 0) sends " +
        grouped(rows) + " of " + counted(share.plan_rows, "row", "rows") +
        (share.rule == DealRule::trees ? ", in whole session trees" : "") +
        (users.users > 0 ? ", " + std::to_string(users.users) + " at a time" : "");
    print_line("shard: %s", note.c_str());
    workload.notes.push_back("shard: " + note);
    workload.share = std::move(share);
    return exit_done;
}

void deal_share(Workload& workload) {
    if (!workload.share) {
        return;
    }
    WorkloadShare& share = *workload.share;
    PlanShare part =
        share_of(workload.plan, deal(workload.trace, workload.plan, share.place.count, share.rule),
                 share.place.index);
    workload.plan = std::move(part.plan);
    share.positions = std::move(part.positions);
}

}  // namespace driftless
