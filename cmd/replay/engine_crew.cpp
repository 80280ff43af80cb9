#include "cmd/replay/engine_crew.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/shard.hpp"
#include "engine/host/host.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

static BudgetRules budgets_of(const SendingFlags& sending) {
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

static ForecastRules forecast_rules(const Replay& run) {
    const Workload& workload = run.workload;
    ForecastRules rules;
    rules.in_run_order = workload.waiting.has_value();
    rules.users = workload.users.users;
    const Overhead around = served_overhead(run.server);
    rules.around = {around.pre, around.post};
    rules.server_block = workload.server_block.value_or(0);
    rules.shared_blocks = workload.shared_blocks;
    return rules;
}

/// As its probes showed; without any, as its API says.
static bool has_end_mark(const PreflightFindings& findings, const Dialect& dialect) {
    return findings.has_end_mark.value_or(dialect.has_end_mark);
}

AssemblerConfig assembler_config(const Replay& run, const Plan& plan, std::uint32_t requests_end) {
    const Invocation& invocation = run.invocation;
    const ReplayOptions& options = invocation.options;
    const Workload& workload = run.workload;
    AssemblerConfig config;
    config.trace = &workload.trace;
    config.plan = &plan;
    config.dialect = options.request.dialect;
    for (const ReplayTarget& target : options.server.targets) {
        config.urls.push_back(shown_url(target));
    }
    const Server& server = run.server;
    config.model = server.findings.model;
    config.against_model = server.against ? server.against->model : "";
    config.row_models = workload.models.empty() ? nullptr : &workload.models;
    config.output = options.request.output;
    config.stream = options.request.stream;
    config.has_end_mark = has_end_mark(server.findings, *config.dialect);
    config.against_has_end_mark = server.against && has_end_mark(*server.against, *config.dialect);
    config.chunks = options.results.chunks;
    config.save_responses = options.results.save_responses;
    config.secrets = secrets_of(invocation.credentials.all);
    config.record_headers = options.request.record_headers;
    config.trace_run_id = options.request.traceparent ? invocation.run_id : "";
    config.limits = run.calibration.limits;
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
    config.forecast = forecast_rules(run);
    return config;
}

// The first engine has nothing left to send, and looks after the others.
static constexpr timespec nap{0, 1'000'000};

void take_standing(const Granted& granted, std::uint32_t cpu, EngineStanding& standing,
                   RunParts& parts) {
    if (granted.scheduling == Scheduling::kept) {
        (void)standing.keeper.start(cpu);  // the run goes on without it
    }
    if (granted.scheduling == Scheduling::realtime) {
        parts.steps_aside = &standing.steps_aside;
    }
}

EngineThread::~EngineThread() {
    if (thread_.runs()) {
        abandon();
        thread_.join();
    }
}

Result<void> EngineThread::start() {
    const cpu_set_t cpus = cpu_set_of({cpu_});
    const std::string name = "engine " + std::to_string(seat_.place().index);
    return thread_.start<&EngineThread::thread_main>(name.c_str(), &cpus, *this);
}

void EngineThread::begin(Instant zero) {
    CHECK(stage() == Stage::warm);
    zero_ = zero;
    order_.store(Order::begin, std::memory_order_release);
}

void EngineThread::abandon() {
    Order none = Order::wait;
    (void)order_.compare_exchange_strong(none, Order::abandon);
    stop();  // what had begun ends as soon as it can
}

void EngineThread::fail(const Error& error) {
    error_ = error;
    stage_.store(Stage::failed, std::memory_order_release);
}

void EngineThread::thread_main() {
    sharpen_timers();
    if (const Result<Granted> granted = schedule_engine(granted_.scheduling); !granted) {
        fail(granted.error());
        return;
    }
    // Its rings belong to the thread that makes them.
    Result<std::unique_ptr<Driver>> driver = make_driver(driver_options(
        seat_.parts().invocation().options.host, driver_, seat_.settings().lanes_max));
    if (!driver) {
        fail(driver.error());
        return;
    }
    play(*driver.value());
}

void EngineThread::play(Driver& driver) {
    const ThreadMeter meter;
    RunParts parts = seat_.run_parts(stop_requests(), meter);
    parts.stop_wanted = &stop_wanted_;
    take_standing(granted_, cpu_, standing_, parts);
    Run run(driver, parts, seat_.settings());
    while (!run.warm()) {  // ends: warming up has a bound of its own
        (void)run.turn();
    }
    thread_id_ = this_thread_id();
    stage_.store(Stage::warm, std::memory_order_release);
    Order order = Order::wait;
    while ((order = order_.load(std::memory_order_acquire)) == Order::wait) {
        (void)run.turn();  // it sleeps for 20 ms at most
    }
    if (order == Order::abandon) {
        run.abandon();
        stage_.store(Stage::over, std::memory_order_release);
        return;
    }
    run.begin(zero_);
    stage_.store(Stage::playing, std::memory_order_release);
    while (run.turn()) {  // the event loop
        if (told_to_stop_.load(std::memory_order_relaxed)) {
            run.stop();
        }
    }
    end_ = seat_.end_of(run, driver);
    end_->stepped_aside = standing_.steps_aside.times();
    rows_taken_ = run.rows_taken();
    stopped_early_ = run.stopped_early();
    standing_.keeper.stop();
    stage_.store(Stage::over, std::memory_order_release);
}

bool EngineThreads::all(EngineThread::Stage stage) const {
    return std::all_of(others_.begin(), others_.end(),
                       [stage](const auto& engine) { return engine->stage() == stage; });
}

std::int64_t EngineThreads::first_due_ns() const {
    std::int64_t first_ns = first_.first_due_ns();
    for (const auto& engine : others_) {
        first_ns = std::min(first_ns, engine->seat().pass().schedule().first_due_ns());
    }
    return first_ns;
}

bool EngineThreads::warm() {
    if (first_.warm() && (failed() || all(EngineThread::Stage::warm))) {
        return false;
    }
    (void)first_.turn();
    return true;
}

bool EngineThreads::failed() const {
    return std::any_of(others_.begin(), others_.end(), [](const auto& engine) {
        return engine->stage() == EngineThread::Stage::failed;
    });
}

void EngineThreads::begin(Instant zero) {
    for (const auto& engine : others_) {
        engine->begin(zero);
    }
    first_.begin(zero);
}

bool EngineThreads::turn() {
    if (!first_is_over_) {
        first_is_over_ = !first_.turn();
        return true;
    }
    if (all(EngineThread::Stage::over)) {
        return false;
    }
    (void)::nanosleep(&nap, nullptr);
    return true;
}

void EngineThreads::stop() {
    first_.stop();
    for (const auto& engine : others_) {
        engine->stop();
    }
}

void EngineThreads::abandon() {
    for (const auto& engine : others_) {
        engine->abandon();
    }
    first_.abandon();
}

std::uint64_t EngineThreads::rows_taken() const {
    std::uint64_t taken = first_.rows_taken();
    for (const auto& engine : others_) {
        taken += engine->rows_taken();
    }
    return taken;
}

OrExit<std::unique_ptr<EngineCrew>> EngineCrew::make(const Replay& run, const Plan& plan,
                                                     const EarlierRows& earlier) {
    std::unique_ptr<EngineCrew> crew(new EngineCrew());
    const ReplaySettings settings = settings_of(run.options(), plan, run.host);
    std::vector<PlanShare> shares = shares_with_rows(run.workload.trace, plan, run.host.engines(),
                                                     deal_rule(run.options(), run.workload));
    const auto engines = static_cast<std::uint32_t>(shares.size());
    if (shares.empty()) {
        crew->seats_.push_back(std::make_unique<EngineSeat>(*run.parts, plan, earlier, settings));
    }
    for (std::uint32_t number = 0; number < engines; ++number) {
        const ShardPlace place{number, engines};
        OrExit<std::unique_ptr<ReplayParts>> own =
            ReplayParts::make(run.invocation, run.workload, run.server, place);
        if (!own) {
            return own.exit_code();
        }
        crew->seats_.push_back(std::make_unique<EngineSeat>(std::move(own).value(),
                                                            std::move(shares[number]), earlier,
                                                            settings_at(settings, place), place));
    }
    const bool have_memory = std::all_of(crew->seats_.begin(), crew->seats_.end(),
                                         [](const auto& seat) { return seat->has_memory(); });
    if (!have_memory) {
        return fail_host("events", {ErrorCode::exhausted, ENOMEM, "take memory for them"});
    }
    crew->other_cpus_ = run.host.other_cpus;
    crew->driver_ = run.host.driver;
    return crew;
}

Result<void> EngineCrew::open(const Replies* replies) {
    for (const std::unique_ptr<EngineSeat>& seat : seats_) {
        if (const Result<void> opened = seat->pass().open(replies); !opened) {
            return opened.error();
        }
    }
    return {};
}

std::uint32_t EngineCrew::requests_end(std::size_t rows) const {
    std::size_t copies = 0;  // of the rows, where users begin the trace anew
    for (const std::unique_ptr<EngineSeat>& seat : seats_) {
        const std::size_t own_rows =
            seat->positions() == nullptr ? rows : seat->positions()->size();
        copies = std::max(copies, seat->requests_end() / own_rows);
    }
    return static_cast<std::uint32_t>(copies * rows);
}

int EngineCrew::start_others(const Granted& granted, const std::atomic<bool>& stop_wanted) {
    for (std::size_t number = 1; number < seats_.size(); ++number) {
        others_.push_back(std::make_unique<EngineThread>(*seats_[number], other_cpus_[number - 1],
                                                         granted, driver_, stop_wanted));
        if (const Result<void> started = others_.back()->start(); !started) {
            return fail_host("engine thread", started.error());
        }
    }
    return exit_done;
}

Result<FiredMarks> EngineCrew::create_marks(const std::string& run_id, std::size_t rows) {
    const auto engines = static_cast<std::uint32_t>(seats_.size());
    Result<FiredMarks> first = FiredMarks::create(run_id, rows, 0, engines);
    for (std::uint32_t engine = 1; first && engine < engines; ++engine) {
        Result<FiredMarks> marks = FiredMarks::create(run_id, rows, engine, engines);
        if (!marks) {
            for (const std::unique_ptr<EngineSeat>& seat : seats_) {
                seat->marks() = FiredMarks();
            }
            FiredMarks::remove(run_id);
            return marks.error();
        }
        seats_[engine]->marks() = std::move(marks).value();
    }
    return first;
}

std::vector<EventSource> EngineCrew::sources() {
    std::vector<EventSource> sources{
        {&first().ring(), first().positions(), first().requests_end(), this_thread_id()}};
    for (const std::unique_ptr<EngineThread>& engine : others_) {
        EngineSeat& seat = engine->seat();
        sources.push_back(
            {&seat.ring(), seat.positions(), seat.requests_end(), engine->thread_id()});
    }
    return sources;
}

int EngineCrew::failure() const {
    for (const std::unique_ptr<EngineThread>& engine : others_) {
        if (engine->stage() == EngineThread::Stage::failed) {
            const std::string name = "engine " + std::to_string(engine->seat().place().index);
            return fail_host(name.c_str(), engine->error());
        }
    }
    return exit_done;
}

RunEnd EngineCrew::end(Run& first_run, const Driver& driver) {
    RunEnd end = first().end_of(first_run, driver);
    for (const std::unique_ptr<EngineThread>& engine : others_) {
        add_end(end, engine->end());
    }
    return end;
}

bool EngineCrew::stopped_early(const Run& first_run) const {
    return first_run.stopped_early() ||
           std::any_of(others_.begin(), others_.end(),
                       [](const auto& engine) { return engine->stopped_early(); });
}

}  // namespace driftless
