#include "cmd/replay/run/engine_threads.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "cmd/replay/run/host_choice.hpp"
#include "engine/host/host.hpp"
#include "engine/host/thread_meter.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// The first engine has nothing left to send, and looks after the others.
constexpr timespec nap{0, 1'000'000};

}  // namespace

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
    if (const Result<Granted> granted = schedule_engine(orders_.granted.scheduling); !granted) {
        fail(granted.error());
        return;
    }
    // Its rings belong to the thread that makes them.
    Result<std::unique_ptr<UringDriver>> driver =
        UringDriver::make(ring_options(orders_.host, seat_.settings().lanes_max));
    if (!driver) {
        fail(driver.error());
        return;
    }
    play(*driver.value());
}

void EngineThread::play(UringDriver& driver) {
    const ThreadMeter meter;
    RunParts parts = seat_.run_parts(orders_.stop_requests, meter);
    parts.stop_wanted = &orders_.stop_wanted;
    take_standing(orders_.granted, cpu_, standing_, parts);
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

}  // namespace driftless
