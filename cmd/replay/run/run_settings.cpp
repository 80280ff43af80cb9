#include "cmd/replay/run/run_settings.hpp"

#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/secrets.hpp"

namespace driftless {

ReplaySettings settings_of(const ReplayOptions& options, const Plan& plan, const HostChoice& host) {
    ReplaySettings settings;
    settings.timeouts = options.timeouts;
    settings.wait = host.wait;
    settings.warm_sends = options.warm_sends;
    settings.output = options.output;
    settings.framing = options.stream ? options.dialect->framing : Framing::whole;
    settings.repeats_text = options.dialect->repeats_text;
    settings.inflight_max = host.inflight_max;
    settings.capped_by_host = host.capped_by_host;
    settings.connections_fixed = options.connections.value_or(0);
    settings.connection = options.connection;
    settings.lanes_max = lanes_most(options, plan, host);
    settings.arm_ahead = {options.arm_ahead.window_ns};
    settings.arm_all = options.arm_ahead.all;
    settings.grace = {options.grace_ns};
    return settings;
}

AssemblerConfig assembler_config(const ReplayOptions& options, const Workload& workload,
                                 const Plan& plan, const RunFile& file) {
    AssemblerConfig config;
    config.trace = &workload.trace;
    config.plan = &plan;
    config.dialect = options.dialect;
    for (const ReplayTarget& target : options.targets) {
        config.urls.push_back(shown_url(target));
    }
    config.model = file.model;
    config.row_models = workload.models.empty() ? nullptr : &workload.models;
    config.output = options.output;
    config.stream = options.stream;
    config.chunks = options.chunks;
    config.save_responses = options.save_responses;
    config.secrets = secrets_of(credentials_of(options));
    config.record_headers = options.record_headers;
    config.trace_run_id = options.traceparent ? file.run_id : "";
    config.limits = file.calibration.limits;
    return config;
}

namespace {

RunDescription description_of(const ReplayOptions& options, const Workload& workload,
                              const RunFile& file) {
    RunDescription run;
    for (const ReplayTarget& target : options.targets) {
        run.urls.push_back(shown_url(target));
    }
    run.trace_paths = options.files.paths;
    run.trace_rows = workload.trace.rows.size();
    run.rows = file.plan->rows.size();
    run.speed = options.speed_text;
    run.start_ns = options.plan.start_ns;
    run.end_ns = options.plan.end_ns;
    run.duration_ns = options.plan.duration_ns;
    run.limit = options.plan.limit;
    run.last_due_ns = file.plan->last_due_ns;
    run.spread = options.plan.spread;
    run.seed = options.plan.seed;
    run.cache_salt = options.cache_salt;
    run.prompt = name_of(file.prompt);
    run.output = name_of(options.output);
    run.arguments = file.arguments;
    return run;
}

}  // namespace

SummaryInfo summary_info(const ReplayOptions& options, const Workload& workload,
                         const RunFile& file) {
    SummaryInfo info;
    info.date = date_text(file.segments.front().clock.zero_utc_ns);
    info.backend = options.dialect->name;
    info.model_id = file.model;
    info.tokenizer_id = options.tokenizer;
    info.server_block = file.server_block;
    info.continuous_usage = options.continuous_usage;
    info.split_unknown = file.split_unknown;
    info.trace = workload.trace.name;
    info.run = description_of(options, workload, file);
    if (options.inflight_max) {
        info.max_concurrency = file.inflight_max;
    }
    info.labels = options.labels;
    return info;
}

}  // namespace driftless
