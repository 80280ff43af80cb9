#include "cmd/replay/timing_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/host/host.hpp"
#include "engine/plan/arrivals.hpp"
#include "engine/plan/users.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/document.hpp"

namespace driftless {

static std::string rate_flag_text(const RateFlags& flags) {
    if (flags.rate) {
        return "--rate " + flags.rate->text;
    }
    return flags.ramp ? "--ramp " + flags.ramp->text : "--shape " + flags.shape_file;
}

/// Why they cannot arrive, with the remedy.
static std::string arrival_refusal(const RateFlags& flags, const Error& error) {
    const std::string flag = rate_flag_text(flags);
    switch (error.code) {
        case ErrorCode::out_of_range:
            return flag +
                   ": the last selected row would be due after more than 73 years; give a higher "
                   "rate, or select less with --end, --limit or --duration";
        case ErrorCode::not_found:
            return flag +
                   ": no row arrives before the rate ends or within --duration; give more time or "
                   "a higher rate";
        default:
            return "--arrivals recorded: all selected rows have the same recorded instant, so "
                   "there are no gaps to scale; use constant, poisson or gamma:K";
    }
}

std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Trace& trace,
                                          const Plan& plan) {
    if (!flags.arrivals) {
        return std::nullopt;
    }
    const RateFlags& typed = flags.rates;
    const ArrivalRules& rules = *flags.arrivals;
    ArrivalFacts facts;
    facts.rate = typed.rate   ? typed.rate->text
                 : typed.ramp ? "ramp " + typed.ramp->text
                              : "shape " + typed.shape_file;
    if (typed.rate && !typed.rate->infinite) {
        facts.asked_rate = typed.rate->per_second;
    }
    facts.law =
        rules.all_at_once ? "all at once" : text_of(typed.arrivals.value_or(TypedArrivals()));
    facts.of = rules.by_trees ? "trees" : "rows";
    facts.planned_rate = planned_rate(rules, trace, plan);
    facts.seed = flags.plan.seed;
    return facts;
}

std::optional<ArrivalFacts> arrival_facts(const WorkloadFlags& flags, const Workload& workload) {
    std::optional<ArrivalFacts> facts = arrival_facts(flags, workload.trace, workload.plan);
    if (facts && workload.share) {
        facts->planned_rate = workload.share->planned_rate;
    }
    return facts;
}

/// Makes single rows in file order: drops what they waited for and their recorded times, which came
/// from another load.
static void lay_out_loop(Trace& trace, Plan& plan) {
    trace.dependencies.clear();
    for (Planned& planned : plan.rows) {
        planned.due_ns = 0;
    }
    std::sort(plan.rows.begin(), plan.rows.end(), [&](const Planned& a, const Planned& b) {
        return trace.rows[a.row].index < trace.rows[b.row].index;
    });
    plan = summed_up(trace, std::move(plan));
}

std::vector<std::string> arrival_notes(const WorkloadFlags& flags, const Trace& trace,
                                       const Plan& plan) {
    const ArrivalRules& rules = *flags.arrivals;
    const ArrivalFacts facts = *arrival_facts(flags, trace, plan);
    const std::string mean =
        facts.planned_rate ? fmt::format(", {:.4g} per second on average", *facts.planned_rate)
                           : "";
    std::string note = rate_flag_text(flags.rates) + ", " + facts.law + ": " +
                       (rules.by_trees ? "session trees" : "rows") + " in " +
                       (rules.law == ArrivalLaw::recorded ? "recorded" : "file") + " order, seed " +
                       std::to_string(rules.seed) + mean;
    const bool ends = !rules.all_at_once && !rules.over_rows && rules.curve.last_rate() == 0;
    if (ends && plan.rows_outside > 0) {
        note += "; the rate ends at 0, so rows that do not arrive before are not sent";
    }
    return {note};
}

/// Of each request that can be open or waiting, in all tables of the schedule and of the records:
/// 204 by their sizes.
static constexpr std::uint64_t request_bytes = 384;

/// As many copies of all rows as the users need have to fit half of the memory that is free, where
/// that is known.
static int check_memory(const UserRules& rules, std::uint32_t trees, const Plan& plan) {
    const std::uint64_t copies = TreeOrder::copies_of(trees, rules);
    const std::uint64_t free_bytes = available_memory();
    const std::uint64_t room =
        free_bytes > 0 ? free_bytes / 2 / request_bytes : Users::requests_max;
    const std::uint64_t requests_max = std::min(room, Users::requests_max);
    if (!rules.recycle || copies <= requests_max / plan.rows.size()) {
        return exit_done;
    }
    return refuse(
        exit_input,
        "driftless: --%s %u: with %s, that many users need %llu copies of %s, but half of the free "
        "memory has room for %llu; use fewer users, or a trace with more sessions",
        rules.single_rows ? "concurrency" : "users", rules.users,
        counted(trees, "session tree", "session trees").c_str(),
        static_cast<unsigned long long>(copies), counted(plan.rows.size(), "row", "rows").c_str(),
        static_cast<unsigned long long>(requests_max / plan.rows.size()));
}

/// Exit code; prints why where that is none of `exit_done`. `trees`: RowTrees of the plan.
static int check_users(const UserRules& rules, bool is_bound, std::uint32_t trees,
                       const Trace& trace, const Plan& plan) {
    if (rules.users > trees && !rules.recycle && !is_bound) {
        return refuse(exit_input,
                      "driftless: --users %u: the selection has %s, each replayed once; give at "
                      "most %s, --users ..%u for up to so many, or --recycle with --for",
                      rules.users, counted(trees, "session tree", "session trees").c_str(),
                      counted(trees, "user", "users").c_str(), rules.users);
    }
    if (rules.recycle && (trace.recorded || !trace.body_ends.empty())) {
        return refuse(
            exit_input,
            "driftless: --recycle: the trace has whole requests, which are sent unchanged, so a "
            "second pass would find the first in the cache; remove the flag, or, where another "
            "tool's time brought it, end the run by its rows: --limit %zu",
            plan.rows.size());
    }
    return check_memory(rules, trees, plan);
}

/// In the place of `Plan::schedule_digest`: of what rows wait for, and of the rules.
static std::uint64_t digest_of_users(const UserRules& rules, std::uint64_t waits_digest) {
    Digest digest;
    digest.add_u64(waits_digest);
    digest.add_u64(rules.users);
    if (rules.first() != rules.users) {
        digest.add_u64(rules.first());
    }
    digest.add_u64(static_cast<std::uint64_t>(rules.ramp_ns));
    digest.add_u64(static_cast<std::uint64_t>(rules.order));
    digest.add_u64(rules.recycle ? 1 : 0);
    digest.add_u64(static_cast<std::uint64_t>(rules.for_ns.value_or(-1)));
    digest.add_u64(static_cast<std::uint64_t>(rules.failures.rule));
    digest.add_u64(rules.failures.retries_max);
    digest.add_u64(rules.failures.waits_for_429 ? 1 : 0);
    digest.add_u64(static_cast<std::uint64_t>(rules.idle.tree_ns.value_or(-1)));
    digest.add_u64(static_cast<std::uint64_t>(rules.idle.system_ns.value_or(-1)));
    digest.add_u64(std::bit_cast<std::uint64_t>(rules.start.from));
    digest.add_u64(std::bit_cast<std::uint64_t>(rules.start.to));
    digest.add_u64(rules.start.by_turns ? 1 : 0);
    digest.add_u64(rules.start.prime_one_token ? 1 : 0);
    digest.add_u64(rules.start.warmup_requests);
    digest.add_u64(rules.seed);
    if (rules.single_rows) {
        digest.add_u64(2);
    }
    if (rules.shares_system) {  // else digests are those of versions without it
        digest.add_u64(1);
    }
    return digest.value();
}

std::vector<std::string> user_notes(const UserRules& rules, std::uint32_t trees, const Plan& plan) {
    const std::string end = rules.for_ns ? "nothing is due after " + duration_to_text(*rules.for_ns)
                                         : "until all have ended";
    if (rules.single_rows) {
        return {counted(rules.users, "row is", "rows are") + " open at once, of " +
                counted(plan.rows.size(), "row", "rows") + " in file order" +
                (rules.recycle ? ", repeatedly: " : ": ") + end};
    }
    const std::string growth =
        rules.first() == rules.users ? "" : std::to_string(rules.first()) + " to ";
    return {growth + counted(rules.users, "user plays", "users play") + " " +
            counted(trees, "session tree", "session trees") + " (" +
            counted(plan.rows.size(), "row", "rows") + "), one at a time each" +
            (rules.recycle ? ", repeatedly: " : ": ") + end};
}

/// Refuses a trace in which nothing waits, unless users play it, or which lacks what the rules
/// need, with the remedy, on standard error. Returns `exit_done` or the code of the refusal.
static int check_waits(const Trace& trace, const GapRules& rules, bool by_users) {
    if (rules.rule == GapRule::start_to_start && trace.rows_laid_out > 0) {
        return refuse(exit_input,
                      "driftless: --gap start-to-start: %s no recorded start, only a gap after an "
                      "answer; use --gap end-to-start",
                      counted(trace.rows_laid_out, "row has", "rows have").c_str());
    }
    if (by_users || !trace.dependencies.empty()) {
        return exit_done;  // a tree that users play may be one row
    }
    return refuse(exit_input,
                  "driftless: --sessions closed: no row of the trace says which row it waits for; "
                  "remove the flag to send every row at its recorded instant, or use --users N to "
                  "send N sessions at a time (--concurrency N: N single rows)");
}

/// What became of the gaps: a line for the screen and run.json.
static std::string gap_note(const GapRules& rules, const GapFigures& figures) {
    std::string note = std::string(gap_choices.name_of(rules.rule)) + ": " +
                       counted(figures.gaps, "recorded gap", "recorded gaps") + ", " +
                       seconds_text(figures.derived_ns) + " in all";
    if (rules.rule == GapRule::none) {
        return note + ", left out";
    }
    if (rules.cap_ns) {
        note += "; " + std::to_string(figures.capped) + " cut to " +
                duration_to_text(*rules.cap_ns) + ", " + seconds_text(figures.kept_ns) + " left";
    }
    if (figures.gaps == 0 && rules.rule == GapRule::end_to_start) {
        note += "; --gap start-to-start keeps the recorded distances of the starts";
    }
    return note;
}

/// The plan of a closed run: its digest is of what rows wait for, not of instants.
static Plan plan_of_waits(const Trace& trace, Plan plan, Speed speed, const UserRules& users) {
    const std::uint64_t waits = digest_of_waits(trace, plan, speed);
    plan.schedule_digest = users.users > 0 ? digest_of_users(users, waits) : waits;
    return plan;
}

/// Of users that begin the trace anew, once through it.
static Waiting waiting_of(const Trace& trace, const Plan& plan, Speed speed, const UserRules& users,
                          const GapFigures& gaps) {
    WaitFigures figures = waits_of(trace, plan, speed);
    if (users.users == 0) {
        return {figures, gaps, answered_in(trace, plan, speed, token_ns_estimated)};
    }
    UserRules all = users;
    all.users_first = 0;  // as if all of them began at once
    const auto rehearsed = [&](std::int64_t token_ns) {
        return rehearse(trace, plan, Schedule(trace, plan, speed, all), token_ns,
                        std::max(plan.rows.size(), 2 * std::size_t{users.users}));
    };
    figures.least_ns = rehearsed(0).last_due_ns;  // their trees begin whenever they were recorded
    return {figures, gaps, rehearsed(token_ns_estimated)};
}

/// Turns wait for what of their tree had ended, where the user says so.
static int bar_turns(const UserRules& users, Workload& workload, BarrierFigures& figures) {
    if (!users.tree_barrier) {
        return exit_done;
    }
    const std::vector<std::int64_t>& lengths = workload.trace.answers_ns;
    const bool ends_known = std::any_of(lengths.begin(), lengths.end(),
                                        [](std::int64_t length_ns) { return length_ns > 0; });
    if (!ends_known) {
        return refuse(exit_input,
                      "driftless: --barrier tree: the trace does not say when answers ended; use "
                      "--barrier stream");
    }
    figures = add_barriers(workload.plan, workload.trace);
    return exit_done;
}

static std::string barrier_note(const BarrierFigures& figures) {
    std::string note = "barrier: " + counted(figures.rows, "row waits", "rows wait") + " for " +
                       counted(figures.waits, "row", "rows") +
                       " of other sessions of their trees that had ended before";
    if (figures.trees_out_of_order > 0) {
        note += "; not in " +
                counted(figures.trees_out_of_order, "tree that is", "trees that are") +
                " not in the order of their times";
    }
    return note;
}

static int loop_rows(Workload& workload) {
    const UserRules& users = workload.users;
    lay_out_loop(workload.trace, workload.plan);
    workload.plan = plan_of_waits(workload.trace, std::move(workload.plan), Speed(), users);
    const auto rows = static_cast<std::uint32_t>(workload.plan.rows.size());
    if (const int code = check_users(users, true, rows, workload.trace, workload.plan);
        code != exit_done) {
        return code;
    }
    workload.waiting = waiting_of(workload.trace, workload.plan, Speed(), users, {});
    workload.waiting->trees = rows;
    return exit_done;
}

static int time_arrivals(const WorkloadFlags& flags, Workload& workload) {
    if (!flags.arrivals) {
        return exit_done;
    }
    Result<Plan> retimed = arrive(*flags.arrivals, workload.trace, std::move(workload.plan));
    if (!retimed) {
        return refuse(exit_input, "driftless: %s",
                      arrival_refusal(flags.rates, retimed.error()).c_str());
    }
    workload.plan = std::move(retimed).value();
    return exit_done;
}

/// Closed sessions: gaps by the rules, and a plan whose digest tells of them. `notes`: what became
/// of gaps and barriers.
static int close_sessions(const WorkloadFlags& flags, Workload& workload,
                          std::vector<std::string>& notes) {
    const GapRules rules{flags.gap.value_or(GapRule::end_to_start), flags.gap_cap_ns};
    const UserRules& users = workload.users;
    int code = check_waits(workload.trace, rules, users.users > 0);
    if (code != exit_done) {
        return code;
    }
    const GapFigures gaps = retime(rules, workload.plan, workload.trace);
    BarrierFigures barriers;
    code = bar_turns(users, workload, barriers);
    if (code == exit_done) {
        code = time_arrivals(flags, workload);
    }
    if (code != exit_done) {
        return code;
    }
    const Trace& trace = workload.trace;
    const Speed speed = flags.plan.speed;
    workload.plan = plan_of_waits(trace, std::move(workload.plan), speed, users);
    const std::uint32_t trees = users.users > 0 ? RowTrees(trace, workload.plan).count() : 0;
    const UserCount& count = flags.user_count;
    const bool is_bound = count.is_bound || count.first < count.most;
    code = users.users > 0 ? check_users(users, is_bound, trees, trace, workload.plan) : exit_done;
    if (code != exit_done) {
        return code;
    }
    workload.waiting = waiting_of(trace, workload.plan, speed, users, gaps);
    workload.waiting->trees = trees;
    if (!trace.dependencies.empty()) {
        notes.push_back(gap_note(rules, gaps));
    }
    if (users.tree_barrier) {
        notes.push_back(barrier_note(barriers));
    }
    return exit_done;
}

int time_rows(const WorkloadFlags& flags, Workload& workload, std::vector<std::string>& notes) {
    if (flags.users.single_rows) {
        return loop_rows(workload);
    }
    return flags.files.sessions == Sessions::closed ? close_sessions(flags, workload, notes)
                                                    : time_arrivals(flags, workload);
}

std::vector<std::string> waiting_notes(const std::optional<Waiting>& waiting, const Plan& plan,
                                       const UserRules& users) {
    std::vector<std::string> notes;
    if (!waiting || users.single_rows) {
        return notes;
    }
    const WaitFigures& waits = waiting->figures;
    const std::string others =
        users.users > 0
            ? counted(plan.rows.size() - waits.rows, "row begins", "rows begin") +
                  " with their trees"
            : counted(plan.rows.size() - waits.rows, "row has", "rows have") + " recorded instants";
    notes.push_back(counted(waits.rows, "row waits", "rows wait") +
                    " for others, due when those have ended; " + others);
    if (waits.outside > 0) {
        notes.push_back(counted(waits.outside, "row waits", "rows wait") +
                        " for rows outside the selection, which count as ended before time 0");
    }
    return notes;
}

std::int64_t last_due_ns(const std::optional<Waiting>& waiting, const Plan& whole) {
    return waiting ? waiting->figures.last_due_ns : whole.last_due_ns;
}

std::string length_of_closed(const Waiting& waiting) {
    return "at least " + seconds_text(waiting.figures.least_ns) + " (recorded gaps alone), " +
           seconds_text(waiting.answered.last_due_ns) + " if an output token takes " +
           std::to_string(token_ns_estimated / 1'000'000) + " ms";
}

const Plan& plan_to_estimate(const Workload& workload) {
    if (workload.share) {
        return workload.share->estimated;
    }
    return workload.waiting ? workload.waiting->answered : workload.plan;
}

Schedule schedule_of(Speed speed, const Workload& workload, const Plan& plan,
                     const EarlierRows& earlier, const UserRules& users, const LiveTurns* live) {
    if (users.users > 0) {
        return {workload.trace, plan, speed, users, live};
    }
    return workload.waiting ? Schedule(workload.trace, plan, speed, earlier, live) : Schedule(plan);
}

namespace {

struct Counted {
    const char* flag;
    const char* what;
    const std::optional<TypedBudget>& budget;
    std::uint32_t TraceRow::* length;
};

}  // namespace

static bool is_known(const Counted& counted, const Workload& workload) {
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
static void print_length(const Counted& counted, const Workload& workload) {
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

int check_budgets(Replay& run) {
    const SendingFlags& sending = run.options().sending;
    const Counted all[] = {
        {"--budget-input", "input", sending.budget_input, &TraceRow::input_length},
        {"--budget-output", "output", sending.budget_output, &TraceRow::output_length}};
    for (const Counted& one : all) {
        if (!one.budget) {
            continue;
        }
        if (!is_known(one, run.workload)) {
            return exit_input;
        }
        print_length(one, run.workload);
    }
    return exit_done;
}

/// How many rows of the plan have each value of a key: 0, where that is not known before; empty,
/// where the values are not, either.
static std::map<std::string, std::size_t> values_of(const GroupKey& key, const Replay& run) {
    std::map<std::string, std::size_t> values;
    const Workload& workload = run.workload;
    const Plan& plan = workload.plan;
    Record record;
    JsonDocument document;
    switch (key.kind) {
        case GroupKey::Kind::kept:
            for (const Planned& planned : plan.rows) {
                record.kept = workload.trace.kept_of(workload.trace.rows[planned.row]);
                ++values[group_value(key, record, document)];
            }
            break;
        case GroupKey::Kind::phase:
            for (const Phase phase : {Phase::warmup, Phase::profile, Phase::drain}) {
                values[name_of(phase)] = 0;
            }
            break;
        case GroupKey::Kind::side:
            for (const char* const side : {"a", "b"}) {
                values[plan.dual ? side : "-"] = plan.rows_once();
            }
            break;
        case GroupKey::Kind::outcome:
            for (unsigned i = 0; i < outcome_count; ++i) {
                values[name_of(static_cast<Outcome>(i))] = 0;
            }
            break;
        default:
            break;
    }
    return values;
}

/// How many rows a rule is of, as `values_of` says. Nothing: it is of none, and says nothing of
/// any; that is printed.
static std::optional<std::size_t> rows_of(const std::string& rule,
                                          const std::optional<GroupKey>& key,
                                          const std::string& value, const Replay& run) {
    constexpr std::size_t named_max = 6;
    if (!key) {
        return run.workload.plan.rows.size();
    }
    const std::map<std::string, std::size_t> values = values_of(*key, run);
    const auto found = values.find(value);
    if (values.empty() || found != values.end()) {
        return values.empty() ? 0 : found->second;
    }
    std::vector<std::string> names;
    for (const auto& [name, rows] : values) {
        names.push_back(name);
    }
    std::string named = nearest_name(value, names);
    const std::size_t listed = named.empty() ? std::min(names.size(), named_max) : 0;
    for (std::size_t i = 0; i < listed; ++i) {
        named += (i > 0 ? ", " : "") + names[i];
    }
    complain(
        "driftless: %s: no row has the value \"%s\" of %s; name one that rows have, such as %s",
        rule.c_str(), value.c_str(), key->text.c_str(), named.c_str());
    return std::nullopt;
}

/// Refuses a rule that says the same of every run. `rows`: those that it is of; `span_ns`: how long
/// the run takes at least, 0 where that is not known.
static int refuse_settled(const Threshold& one, std::size_t rows, std::int64_t span_ns) {
    const std::string_view name = one.figure->name;
    const bool is_rate = name == "request_throughput" || name == "request_goodput";
    const bool is_least = one.compare == Compare::below || one.compare == Compare::at_most;
    const double seconds = static_cast<double>(span_ns) / 1e9;
    const auto most = static_cast<double>(rows);
    const std::string planned = counted(rows, "row", "rows");
    if ((name == "completed" || name == "failed") && !is_least && !crosses(one, most)) {
        return refuse(
            exit_usage,
            "driftless: --fail-if \"%s\" holds of no run: the plan has %s; use a bound that it "
            "can reach",
            one.text.c_str(), planned.c_str());
    }
    const bool is_known = name == "completed" || (is_rate && span_ns > 0);
    if (!is_least || !is_known || !crosses(one, is_rate ? most / seconds : most)) {
        return exit_done;
    }
    const double bound = std::min(is_rate ? one.bound * seconds : one.bound, 1e18);
    const double needed =
        one.compare == Compare::at_most ? std::floor(bound) + 1 : std::ceil(bound);
    return refuse(
        exit_usage,
        "driftless: --fail-if \"%s\" holds even if all requests are answered: the plan has %s%s%s; "
        "replay at least %s, or use a lower bound",
        one.text.c_str(), planned.c_str(), one.key ? " of these" : "",
        is_rate ? (" in " + seconds_text(span_ns)).c_str() : "",
        counted(static_cast<std::uint64_t>(needed), "row", is_rate ? "rows in that time" : "rows")
            .c_str());
}

int check_thresholds(Replay& run) {
    const ResultFlags& results = run.options().results;
    for (const GoodputRule& rule : results.goodput) {
        if (!rows_of("--goodput", rule.key, rule.value, run)) {
            return exit_usage;
        }
    }
    const std::vector<Planned>& all = run.workload.plan.rows;
    const bool is_cut = run.workload.waiting.has_value() || !results.stop_when.empty();
    const std::int64_t span_ns = is_cut || all.empty() ? 0 : all.back().due_ns - all.front().due_ns;
    for (const Threshold& one : results.fail_if) {
        const auto rows = rows_of("--fail-if \"" + one.text + "\"", one.key, one.value, run);
        if (!rows) {
            return exit_usage;
        }
        // How many users send is not known before.
        const bool is_known = *rows > 0 && run.workload.users.users == 0;
        if (const int code = is_known ? refuse_settled(one, *rows, span_ns) : exit_done;
            code != exit_done) {
            return code;
        }
    }
    return exit_done;
}

}  // namespace driftless
