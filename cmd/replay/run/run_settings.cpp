#include "cmd/replay/run/run_settings.hpp"

#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/workload/rates.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/secrets.hpp"
#include "cmd/trace_values.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/hex.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

BudgetRules budgets_of(const SendingFlags& sending) {
    BudgetRules rules;
    if (sending.budget_input) {
        rules.input = sending.budget_input->rate;
        rules.uncached = sending.budget_input->uncached;
    }
    if (sending.budget_output) {
        rules.output = sending.budget_output->rate;
    }
    return rules;
}

}  // namespace

ReplaySettings settings_of(const ReplayOptions& options, const Plan& plan, const HostChoice& host) {
    ReplaySettings settings;
    settings.timeouts = options.sending.timeouts;
    settings.wait = host.wait;
    settings.warm_sends = options.host.warm_sends;
    settings.output = options.request.output;
    settings.framing = options.request.stream ? options.request.dialect->framing : Framing::whole;
    settings.repeats_text = options.request.dialect->repeats_text;
    settings.inflight_max = host.inflight_max;
    settings.capped_by_host = host.capped_by_host;
    settings.budgets = budgets_of(options.sending);
    settings.abandon = options.sending.abandon.value_or(AbandonRules());
    settings.abandon.seed = options.workload.plan.seed;
    settings.connections_fixed = options.sending.connections.value_or(0);
    settings.connection = options.sending.connection;
    settings.lanes_max = lanes_most(options, plan, options.workload.users, host);
    settings.arm_ahead = {options.sending.arm_ahead.window_ns};
    settings.arm_all = options.sending.arm_ahead.all;
    settings.grace = {options.sending.grace_ns};
    if (const UserRules& users = options.workload.users; users.for_ns) {
        settings.drained_ns = later(*users.for_ns, users.drain());
    }
    return settings;
}

namespace {

ForecastRules forecast_rules(const RunFile& file) {
    const ServedWorkload& served = file.parts.served();
    ForecastRules rules;
    rules.in_run_order = served.workload.waiting.has_value();
    rules.users = served.workload.users.users;
    const Overhead around = served_overhead(file.parts.server());
    rules.around = {around.pre, around.post};
    rules.server_block = served.server_block.value_or(0);
    rules.shared_blocks = served.workload.shared_blocks;
    return rules;
}

/// As its probes showed; without any, as its API says.
bool has_end_mark(const PreflightFindings& findings, const Dialect& dialect) {
    return findings.has_end_mark.value_or(dialect.has_end_mark);
}

}  // namespace

AssemblerConfig assembler_config(const RunFile& file, const Plan& plan,
                                 std::uint32_t requests_end) {
    const Invocation& invocation = file.parts.invocation();
    const ReplayOptions& options = invocation.options;
    const Workload& workload = file.parts.workload();
    AssemblerConfig config;
    config.trace = &workload.trace;
    config.plan = &plan;
    config.dialect = options.request.dialect;
    for (const ReplayTarget& target : options.server.targets) {
        config.urls.push_back(shown_url(target));
    }
    const Server& server = file.parts.server();
    config.model = server.findings.model;
    config.against_model = server.against ? server.against->findings.model : "";
    config.row_models = workload.models.empty() ? nullptr : &workload.models;
    config.output = options.request.output;
    config.stream = options.request.stream;
    config.has_end_mark = has_end_mark(server.findings, *config.dialect);
    config.against_has_end_mark =
        server.against && has_end_mark(server.against->findings, *config.dialect);
    config.chunks = options.results.chunks;
    config.save_responses = options.results.save_responses;
    config.secrets = secrets_of(invocation.credentials.all);
    config.record_headers = options.request.record_headers;
    config.trace_run_id = options.request.traceparent ? invocation.run_id : "";
    config.limits = file.calibration.limits;
    config.trees = roots_of_sessions(workload.trace);
    if (workload.share) {
        config.place = workload.share->place;
        config.numbers_in_all = workload.share->positions;
    }
    config.closed = workload.waiting.has_value();
    config.requests_end = requests_end;
    config.periods.length_ns = options.results.period_ns;
    config.periods.goodput = options.results.goodput;
    config.periods.warms_up = options.workload.users.start.warms_up();
    config.periods.grow = options.workload.grow.value_or(GrowRules());
    config.periods.stop_when = options.results.stop_when;
    config.periods.for_ns = options.workload.users.for_ns;
    config.forecast = forecast_rules(file);
    return config;
}

namespace {

RunDescription description_of(const RunFile& file) {
    const Invocation& invocation = file.parts.invocation();
    const ReplayOptions& options = invocation.options;
    const Workload& workload = file.parts.workload();
    const PlanOptions& plan = options.workload.plan;
    RunDescription run;
    for (const ReplayTarget& target : options.server.targets) {
        run.urls.push_back(shown_url(target));
    }
    run.trace_paths = options.workload.files.paths;
    run.trace_rows = workload.trace.rows.size();
    run.trace_dependencies = workload.trace.dependencies.size();
    run.trace_digest = hex_text(workload.trace.digest);
    run.schedule_digest = hex_text(workload.plan.schedule_digest);
    run.users = options.workload.users.users;
    if (run.users > 0) {  // all else has no such time
        run.for_ns = options.workload.users.for_ns;
    }
    run.rows = workload.plan.rows.size();
    run.speed = options.workload.speed_text;
    run.start_ns = plan.start_ns;
    run.end_ns = plan.end_ns;
    run.duration_ns = plan.duration_ns;
    run.limit = plan.limit;
    run.last_due_ns = last_due_ns(workload.waiting, workload.plan);
    if (const auto facts = arrival_facts(options.workload, workload); facts) {
        run.rate = facts->rate;
        run.asked_rate = facts->asked_rate;
        run.arrivals = facts->law;
        run.arriving = facts->of;
        run.planned_rate = facts->planned_rate;
    }
    run.sessions = name_of(options.workload.files.sessions);
    run.spread = plan.spread;
    run.seed = plan.seed;
    run.cache_salt = invocation.cache_salt;
    run.prompt = name_of(file.parts.server().prompt);
    run.output = name_of(options.request.output);
    run.arguments = invocation.arguments;
    return run;
}

}  // namespace

SummaryInfo summary_info(const RunFile& file, std::int64_t zero_utc_ns) {
    const ReplayOptions& options = file.parts.invocation().options;
    const PreflightFindings& findings = file.parts.server().findings;
    SummaryInfo info;
    info.date = date_text(zero_utc_ns);
    info.backend = options.request.dialect->name;
    info.model_id = findings.model;
    info.tokenizer_id = options.prompts.tokenizer;
    info.server_block = file.parts.served().server_block;
    info.continuous_usage = options.request.continuous_usage;
    info.split_unknown = split_unknown(findings);
    info.trace = file.parts.workload().trace.name;
    info.run = description_of(file);
    info.cache_probe = file.cache;
    if (options.sending.inflight_max && file.engine) {
        info.max_concurrency = file.engine->host.inflight_max;
    }
    info.labels = options.results.labels;
    return info;
}

RuleFacts rule_facts(const RunFile& file, const RunEnd& end) {
    const Workload& workload = file.parts.workload();
    const UserRules& users = file.parts.invocation().options.workload.users;
    RuleFacts facts;
    facts.trace_digest = workload.trace.digest;
    if (workload.waiting && workload.waiting->trees > 0) {
        facts.trees = workload.waiting->trees;
    }
    facts.rows = workload.plan.rows.size();
    facts.input_tokens = workload.plan.input_tokens;
    if (const ForetoldHits& hits = workload.plan.foretold; hits.rows_unknown == 0) {
        facts.expected_cached_tokens = hits.cached_tokens;
    }
    facts.users = users.users;
    facts.for_ns = users.for_ns;
    facts.arguments = file.parts.invocation().arguments;
    facts.measured_from_ns = end.measured_from_ns;
    facts.ending = end.interrupted || end.stopped_when ? Ending::interrupted : Ending::by_itself;
    return facts;
}

}  // namespace driftless
