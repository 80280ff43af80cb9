#include "cmd/replay/run/run_settings.hpp"

#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/secrets.hpp"
#include "cmd/trace_values.hpp"
#include "engine/plan/trees.hpp"

namespace driftless {

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
    settings.connections_fixed = options.sending.connections.value_or(0);
    settings.connection = options.sending.connection;
    settings.lanes_max = lanes_most(options, plan, host);
    settings.arm_ahead = {options.sending.arm_ahead.window_ns};
    settings.arm_all = options.sending.arm_ahead.all;
    settings.grace = {options.sending.grace_ns};
    return settings;
}

AssemblerConfig assembler_config(const ReplayOptions& options, const Workload& workload,
                                 const Plan& plan, const RunFile& file) {
    AssemblerConfig config;
    config.trace = &workload.trace;
    config.plan = &plan;
    config.dialect = options.request.dialect;
    for (const ReplayTarget& target : options.server.targets) {
        config.urls.push_back(shown_url(target));
    }
    config.model = file.model;
    config.row_models = workload.models.empty() ? nullptr : &workload.models;
    config.output = options.request.output;
    config.stream = options.request.stream;
    config.chunks = options.results.chunks;
    config.save_responses = options.results.save_responses;
    config.secrets = secrets_of(credentials_of(options));
    config.record_headers = options.request.record_headers;
    config.trace_run_id = options.request.traceparent ? file.run_id : "";
    config.limits = file.calibration.limits;
    config.trees = roots_of_sessions(workload.trace);
    config.closed = workload.closed;
    return config;
}

namespace {

RunDescription description_of(const ReplayOptions& options, const Workload& workload,
                              const RunFile& file) {
    RunDescription run;
    for (const ReplayTarget& target : options.server.targets) {
        run.urls.push_back(shown_url(target));
    }
    run.trace_paths = options.workload.files.paths;
    run.trace_rows = workload.trace.rows.size();
    run.rows = file.plan->rows.size();
    run.speed = options.workload.speed_text;
    run.start_ns = options.workload.plan.start_ns;
    run.end_ns = options.workload.plan.end_ns;
    run.duration_ns = options.workload.plan.duration_ns;
    run.limit = options.workload.plan.limit;
    run.last_due_ns = last_due_ns(workload, *file.plan);
    run.sessions = name_of(options.workload.files.sessions);
    run.spread = options.workload.plan.spread;
    run.seed = options.workload.plan.seed;
    run.cache_salt = options.prompts.cache_salt;
    run.prompt = name_of(file.prompt);
    run.output = name_of(options.request.output);
    run.arguments = file.arguments;
    return run;
}

}  // namespace

SummaryInfo summary_info(const ReplayOptions& options, const Workload& workload,
                         const RunFile& file) {
    SummaryInfo info;
    info.date = date_text(file.segments.front().clock.zero_utc_ns);
    info.backend = options.request.dialect->name;
    info.model_id = file.model;
    info.tokenizer_id = options.prompts.tokenizer;
    info.server_block = file.server_block;
    info.continuous_usage = options.request.continuous_usage;
    info.split_unknown = file.split_unknown;
    info.trace = workload.trace.name;
    info.run = description_of(options, workload, file);
    if (options.sending.inflight_max) {
        info.max_concurrency = file.inflight_max;
    }
    info.labels = options.results.labels;
    return info;
}

}  // namespace driftless
