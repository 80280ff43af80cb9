#include "cmd/replay/shard.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/machines/meet.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr const char* own_count = "DRIFTLESS_SHARDS";
static constexpr const char* slurm_part = "SLURM_PROCID";
static constexpr const char* slurm_count = "SLURM_NTASKS";

namespace {

struct Pair {
    const char* part;
    const char* count;
};

}  // namespace

static constexpr std::array<Pair, 4> pairs{
    Pair{"JOB_COMPLETION_INDEX", own_count}, Pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Pair{"PMI_RANK", "PMI_SIZE"}, Pair{"PMIX_RANK", "PMI_SIZE"}};
static constexpr std::array<const char*, 2> job_step{"SLURM_JOB_ID", "SLURM_STEP_ID"};
/// What SLURM_STEP_ID is in a batch script, where it is set at all: no step.
static constexpr const char* batch_step = "4294967291";

static const std::string* value_of(const Variables& variables, const char* name) {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [name](const auto& one) { return one.first == name; });
    return found == variables.end() ? nullptr : &found->second;
}

static std::string is(const char* name, const std::string& value) {
    return std::string(name) + " is " + value;
}

static FoundShard refused(const std::string& why) {
    return {"", {}, why + " (--shard none: this process sends the whole trace)"};
}

/// A number; else `why` says what it is.
static std::optional<std::uint32_t> number_of(const char* name, const std::string& value,
                                              std::uint32_t least, std::string& why) {
    const Result<std::uint64_t> number = parse_count(value);
    if (!number || number.value() < least || number.value() > shards_max) {
        why = std::string(name) + " is \"" + value + "\", which is not a number from " +
              std::to_string(least) + " to " + std::to_string(shards_max) +
              "; correct it, or give --shard I/N";
        return {};
    }
    return static_cast<std::uint32_t>(number.value());
}

/// The variable that says of how many; null: none does.
static const char* count_name_of(const Variables& variables, const Pair& pair) {
    if (value_of(variables, pair.count) != nullptr) {
        return pair.count;
    }
    return value_of(variables, own_count) != nullptr ? own_count : nullptr;
}

/// `variables` has the part and the count.
static FoundShard read_pair(const Variables& variables, const Pair& pair) {
    const std::string& part = *value_of(variables, pair.part);
    const char* const count_name = count_name_of(variables, pair);
    const std::string* const count = value_of(variables, count_name);
    std::string why;
    const std::optional<std::uint32_t> index = number_of(pair.part, part, 0, why);
    const std::optional<std::uint32_t> parts =
        index ? number_of(count_name, *count, 1, why) : std::nullopt;
    if (!parts) {
        return refused(why);
    }
    if (*index >= *parts) {
        return refused(is(pair.part, part) + " and " + is(count_name, *count) +
                       ", but shards are counted from 0; correct one, or give --shard I/N");
    }
    return {pair.part, {*index, *parts}, ""};
}

/// A batch script has the variables of a task, and is none.
static bool is_batch_script(const Variables& variables) {
    const std::string* const step = value_of(variables, job_step[1]);
    return value_of(variables, job_step[0]) != nullptr && (step == nullptr || *step == batch_step);
}

static FoundShard of_slurm(const Variables& variables) {
    const std::string* const part = value_of(variables, slurm_part);
    const std::string* const count = value_of(variables, slurm_count);
    if (part != nullptr && count == nullptr && *part != "0") {  // 0 is a batch script, too
        return refused(is(slurm_part, *part) +
                       ", but the number of tasks is not known; set SLURM_NTASKS, or give --shard "
                       "I/N");
    }
    if (part == nullptr || count == nullptr || *count == "1") {
        return {};
    }
    if (is_batch_script(variables)) {
        return refused(is(slurm_count, *count) +
                       ", but this process is the batch script, not a task; start it with "
                       "srun, or give --shard I/N");
    }
    return read_pair(variables, {slurm_part, slurm_count});
}

/// A rank without a number of ranks, as Open MPI and Slurm set PMIX_RANK beside variables that have
/// both: it only has to agree with those.
static FoundShard beside_rank(const Variables& variables, const char* name, FoundShard found) {
    const std::string& rank = *value_of(variables, name);
    if (found.from.empty()) {
        return refused(is(name, rank) +
                       ", but the number of shards is not known; set DRIFTLESS_SHARDS to the "
                       "number of processes, or give --shard I/N");
    }
    if (rank != std::to_string(found.place.index)) {
        return refused(found.from + " says shard " + text_of(found.place) + " and " +
                       is(name, rank) + "; unset one of them, or give --shard I/N");
    }
    return found;
}

/// DRIFTLESS_SHARDS beside a shard that a launcher has numbered.
static FoundShard checked(const Variables& variables, FoundShard found) {
    const std::string* const own = value_of(variables, own_count);
    if (own == nullptr) {
        return found;
    }
    if (found.from.empty()) {
        return refused(is(own_count, *own) +
                       ", but no variable says which shard this is; set JOB_COMPLETION_INDEX, or "
                       "give --shard I/N");
    }
    if (*own != std::to_string(found.place.count)) {
        return refused(is(own_count, *own) + ", but " + found.from + " is one of " +
                       std::to_string(found.place.count) + "; correct one, or give --shard I/N");
    }
    return found;
}

Variables read_variables() {
    Variables variables;
    const auto read = [&variables](const char* name) {
        const char* const value = std::getenv(name);
        if (value != nullptr && value[0] != '\0' && value_of(variables, name) == nullptr) {
            variables.emplace_back(name, value);
        }
    };
    for (const Pair& pair : pairs) {
        read(pair.part);
        read(pair.count);
    }
    for (const char* const name : {slurm_part, slurm_count, job_step[0], job_step[1]}) {
        read(name);
    }
    return variables;
}

FoundShard find_shard(const Variables& variables) {
    FoundShard found;
    const char* lone_rank = nullptr;
    for (const Pair& pair : pairs) {
        if (value_of(variables, pair.part) == nullptr) {
            continue;
        }
        if (count_name_of(variables, pair) == nullptr) {
            lone_rank = pair.part;
            continue;
        }
        FoundShard other = read_pair(variables, pair);
        if (!other.refused.empty()) {
            return other;
        }
        if (!found.from.empty() && found.place != other.place) {
            return refused(found.from + " says shard " + text_of(found.place) + " and " +
                           other.from + " says " + text_of(other.place) +
                           "; unset one of them, or give --shard I/N");
        }
        if (found.from.empty()) {
            found = std::move(other);
        }
    }
    if (found.from.empty()) {
        found = of_slurm(variables);
    }
    if (lone_rank != nullptr && found.refused.empty()) {
        found = beside_rank(variables, lone_rank, std::move(found));
    }
    return found.refused.empty() ? checked(variables, std::move(found)) : found;
}

/// So much of a cap is this part's.
template <typename Number>
static std::string share_cap(const char* flag, const ShardPlace& place, Number& cap) {
    if (cap < place.count) {
        return std::string(flag) + " is " + std::to_string(cap) + ", and each of " +
               std::to_string(place.count) + " shards needs 1 at least: give " +
               std::to_string(place.count) + " or more, or fewer shards";
    }
    const auto more = static_cast<Number>(place.index < cap % place.count ? 1 : 0);
    cap = cap / place.count + more;
    return "";
}

static std::string share_caps(const ReplayOptions& options, const ShardPlace& place,
                              SendingFlags& sending) {
    std::string why;
    const auto share = [&](const char* flag, auto* cap) {
        why = why.empty() && cap != nullptr ? share_cap(flag, place, *cap) : why;
    };
    share("--max-inflight", sending.inflight_max ? &*sending.inflight_max : nullptr);
    share("--connections", sending.connections ? &*sending.connections : nullptr);
    share("--budget-input", sending.budget_input ? &sending.budget_input->rate.tokens : nullptr);
    share("--budget-output", sending.budget_output ? &sending.budget_output->rate.tokens : nullptr);
    std::uint32_t users = options.workload.users.users;  // shared out once all is planned
    share(options.workload.users.single_rows ? "--concurrency" : "--users",
          users > 0 ? &users : nullptr);
    return why;
}

/// What cannot be, where several processes play one plan.
static std::string why_not_a_part(const ReplayOptions& options) {
    const WorkloadFlags& workload = options.workload;
    if (workload.grow) {
        return "--grow adds users by what one process measures, and --shard has several; remove "
               "one";
    }
    if (workload.users.start.warms_up()) {
        const bool inside = workload.users.start.is_inside();
        return std::string(inside ? "--start-within" : "--warmup-requests") +
               " warms up, and the measurement would begin at another instant in each shard; "
               "remove it, or --shard";
    }
    if (workload.users.idle.system_ns) {
        return "--system-idle-cap shortens the time in which no request is open, and a shard does "
               "not "
               "know when the others have one open; remove it, or --shard";
    }
    if (options.server.reset_cache) {
        return "--reset-cache would empty the cache once for each shard, while others send; remove "
               "it, and empty the cache before the run";
    }
    if (options.prompts.cache_salt == "random") {
        return "--cache-salt random would draw another salt for each shard, and they would share "
               "nothing; name one, as in --cache-salt monday-3";
    }
    return "";
}

/// What is said of the instant at which all begin.
static std::string start_contradiction(const ShardFlags& shard) {
    if (shard.meet && shard.start_at_utc_ns) {
        return "--meet agrees on time 0 and --start-at names it; remove one";
    }
    if (shard.meet && !shard.any()) {
        return "--meet is for the shards of a plan, but this process sends all of it; add --shard "
               "I/N";
    }
    return "";
}

/// Of an instant that is named: before anything is read.
static std::string why_too_late(const ShardFlags& shard) {
    const std::int64_t now_ns = realtime_clock().now();
    if (!shard.start_at_utc_ns || *shard.start_at_utc_ns > now_ns) {
        return "";
    }
    return "--start-at " + utc_text(*shard.start_at_utc_ns) + " is in the past (it is now " +
           utc_text(now_ns) + "); name a later instant";
}

/// What is to be done once: shard 0 does events and reads the servers' metrics for all.
static void leave_to_the_first(ReplayOptions& options) {
    options.events.typed.clear();
    MetricsPlace none;
    none.kind = MetricsPlace::Kind::none;
    options.metrics.places = {none};
}

/// A part writes beside the others.
static void keep_apart(ReplayOptions& options) {
    const std::uint32_t index = options.shard.place.index;
    ResultFlags& results = options.results;
    if (!results.out.empty()) {
        results.out += "/shard-" + std::to_string(index);
    }
    for (std::string* const path :
         {&results.records_path, &results.ci.markdown, &results.ci.junit}) {
        *path = file_of_shard(*path, index);
    }
    options.prompts.save_prompts = file_of_shard(options.prompts.save_prompts, index);
}

ShardPlace shard_in(const std::vector<std::string>& arguments) {
    constexpr std::string_view flag = "--shard=";
    for (const std::string& argument : arguments) {
        if (argument.starts_with(flag)) {
            const Result<TypedShard> typed = parse_shard(argument.substr(flag.size()));
            return typed ? typed.value().place : ShardPlace();
        }
    }
    return {};
}

std::string file_of_shard(const std::string& path, std::uint32_t index) {
    const std::size_t slash = path.rfind('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    if (path.empty() || name == path.size()) {
        return path;
    }
    const std::size_t dot = path.find('.', name + 1);
    std::string made = path;
    made.insert(dot == std::string::npos ? path.size() : dot, "-shard-" + std::to_string(index));
    return made;
}

std::string settle_shard(const Variables& variables, bool taken_up, ReplayCommandLine& line) {
    ReplayOptions& options = line.options;
    ShardFlags& shard = options.shard;
    if (shard.typed) {
        shard.from = shard.typed->is_none ? "" : "--shard";
        shard.place = shard.typed->place;
    } else if (!taken_up) {
        const FoundShard found = find_shard(variables);
        if (!found.refused.empty()) {
            return found.refused;
        }
        shard.from = found.from;
        shard.place = found.place;
        if (shard.any()) {
            line.arguments.push_back("--shard=" + text_of(shard.place));
        }
    }
    std::string why = start_contradiction(shard);
    if (!why.empty() || !shard.is_part()) {
        return why;
    }
    why = why_not_a_part(options);
    if (why.empty()) {
        why = share_caps(options, shard.place, options.sending);
    }
    if (why.empty()) {
        why = host_contradiction(options);
    }
    if (shard.place.index > 0) {
        leave_to_the_first(options);
    }
    if (options.again.resume.empty()) {  // else they are named as they were
        keep_apart(options);
    }
    return why;
}

int settle_part(bool taken_up, ReplayCommandLine& line) {
    std::string why = settle_shard(read_variables(), taken_up, line);
    if (why.empty() && !line.options.dry_run) {
        why = why_too_late(line.options.shard);
    }
    if (why.empty()) {
        return exit_done;
    }
    return refuse(exit_usage, "driftless replay: %s", why.c_str());
}

/// Those rows of `whole` whose requests are this part's.
static Plan estimated_share(const Plan& whole, const std::vector<bool>& is_own) {
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

static int refuse_empty(const WorkloadShare& share, const Workload& workload, bool is_own) {
    const bool by_trees = share.rule == DealRule::trees;
    const std::size_t parts =
        by_trees ? RowTrees(workload.trace, workload.plan).count() : workload.plan.rows_once();
    return refuse(
        exit_input,
        "driftless: --shard %s: %s shard has no row, because the plan has %s; start %s at most",
        text_of(share.place).c_str(), is_own ? "this" : "another",
        by_trees ? counted(parts, "session tree, which stays whole",
                           "session trees, each "
                           "of which stays whole")
                       .c_str()
                 : counted(parts, "row", "rows").c_str(),
        counted(parts, "process", "processes").c_str());
}

DealRule deal_rule(const ReplayOptions& options, const Workload& workload) {
    const bool waits = workload.waiting && !options.workload.users.single_rows;
    const bool sticks = options.sending.connection == ConnectionRule::sticky;
    return waits || sticks ? DealRule::trees : DealRule::rows;
}

int choose_share(Replay& run) {
    const ReplayOptions& options = run.options();
    Workload& workload = run.workload;
    if (!options.shard.any()) {
        return exit_done;
    }
    WorkloadShare share;
    share.place = options.shard.place;
    share.rule = deal_rule(options, workload);
    share.plan_rows = workload.plan.rows.size();
    const bool by_users = workload.users.users > 0;  // the first user begins at once
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
        return refuse_empty(share, workload, rows == 0);
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

int deal_share(Replay& run) {
    Workload& workload = run.workload;
    if (!workload.share) {
        return exit_done;
    }
    WorkloadShare& share = *workload.share;
    PlanShare part =
        share_of(workload.plan, deal(workload.trace, workload.plan, share.place.count, share.rule),
                 share.place.index);
    workload.plan = std::move(part.plan);
    share.positions = std::move(part.positions);
    return exit_done;
}

}  // namespace driftless
