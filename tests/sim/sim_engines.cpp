#include "tests/sim/sim_engines.hpp"

#include <algorithm>
#include <utility>

#include "engine/prompt/word_table.hpp"
#include "proto/core/errors.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

SimEngine::SimEngine(const Trace& trace, const SimOptions& options, std::uint64_t dice,
                     PlanShare dealt)
    : share(std::move(dealt)),
      prompts(trace, WordTable::built_in(), prompts_of(options)),
      ring(options.ring_bytes, options.inflight_max),
      tls(tls_of(options)),
      driver(dice, options.weather, server_of(options), options.script, bugs_of(options.bug),
             tls.get()),
      marks(marks_of(marks_for(trace.rows.size(), share.plan.dual))) {
    CHECK(static_cast<bool>(bodies.open(options.body_bytes, options.body_bytes)));
}

RunParts SimEngine::set_up(const Trace& trace, Schedule played,
                           const std::vector<RequestHead>& heads, const BodyFrame& frame,
                           ArmerOptions arm, const std::atomic<int>& stop_requests,
                           const SimOptions& options) {
    if (options.dual) {
        arm.against = {&prompts, &frame};
    }
    arm.positions = &share.positions;
    schedule.emplace(std::move(played));
    armer.emplace(trace, *schedule, prompts, bodies, heads, frame, arm);
    RunParts parts{trace,        *schedule, *armer, bodies, ring, endpoints_of(tls.get(), options),
                   stop_requests};
    parts.marks = &marks;
    return parts;
}

std::vector<PlanShare> sim_shares(const Trace& trace, const Plan& plan, const SimOptions& options) {
    const bool by_trees = options.closed || options.connection == ConnectionRule::sticky;
    return shares_with_rows(trace, plan, options.engines,
                            by_trees ? DealRule::trees : DealRule::rows);
}

namespace {

void add_marks(SimResult& result, const FiredMarks& marks, const Trace& trace, const Plan& plan) {
    if (plan.dual) {
        result.marks.merge(marked_sendings(trace, plan, marks));
    } else {
        const std::vector<std::uint32_t> rows = marked_rows(trace, marks);
        result.marked.insert(result.marked.end(), rows.begin(), rows.end());
        std::sort(result.marked.begin(), result.marked.end());
    }
    result.requests_marked += marks.requests();
}

}  // namespace

void add_worlds(SimResult& result, const std::vector<std::unique_ptr<SimEngine>>& others,
                const Trace& trace, const Plan& plan, const SimOptions& options) {
    result.engines = static_cast<std::uint32_t>(others.size() + 1);
    for (const std::unique_ptr<SimEngine>& engine : others) {
        SimDriver& driver = engine->driver;
        const LaneCounts& lanes = engine->run->lane_counts();
        result.rows += options.users.users > 0 ? engine->run->rows_taken() : 0;
        result.bytes_delivered += driver.bytes_delivered();
        result.bytes_accepted += driver.bytes_accepted();
        result.segments_resent += driver.segments_resent();
        result.warm_sends += driver.warm_sends();
        result.unread_max = std::max(result.unread_max, driver.unread_max());
        result.end_unseen_max = std::max(result.end_unseen_max, driver.end_unseen_max());
        result.overdue_sends += driver.overdue_sends();
        result.misread += driver.misread();
        const std::vector<std::uint32_t>& scripted = driver.scripted_rows();
        result.scripted_rows.insert(result.scripted_rows.end(), scripted.begin(), scripted.end());
        result.stale_retries += lanes.stale_retries;
        result.closed_idle += lanes.closed_idle;
        result.retired_idle += lanes.retired_idle;
        result.bytes_stray += lanes.bytes_stray;
        result.ops_in_flight += driver.in_flight();
        result.sockets_open += driver.sockets_open();
        result.frames_live += engine->run->frame_marks().live;
        result.body_bytes_held += engine->bodies.used_bytes();
        const bool stopped = engine->run->stopped_early();
        result.stopped = result.stopped || stopped || engine->run->drained();
        result.stopped_early = result.stopped_early || stopped;
        if (options.bug != Bug::one_engines_marks) {
            add_marks(result, engine->marks, trace, plan);
        }
        while (engine->ring.front() != nullptr) {
            ++result.events_left;
            engine->ring.pop();
        }
    }
}

SimEngines::SimEngines(Run& first, SimDriver& driver,
                       std::vector<std::unique_ptr<SimEngine>>& others) {
    seats_.push_back({&first, &driver});
    for (const std::unique_ptr<SimEngine>& engine : others) {
        seats_.push_back({&*engine->run, &engine->driver});
    }
}

std::int64_t SimEngines::first_due_ns() const {
    std::int64_t first_ns = INT64_MAX;
    for (const Seat& seat : seats_) {
        first_ns = std::min(first_ns, seat.run->first_due_ns());
    }
    return first_ns;
}

bool SimEngines::warm() {
    for (const Seat& seat : seats_) {
        if (!seat.run->warm()) {
            (void)seat.run->turn();
            return true;
        }
    }
    // Time 0 is one for all: who was warm first has waited for the last.
    Instant latest = seats_.front().driver->last_look();
    for (const Seat& seat : seats_) {
        latest = std::max(latest, seat.driver->last_look());
    }
    for (const Seat& seat : seats_) {
        seat.driver->catch_up(latest);
    }
    return false;
}

void SimEngines::begin(Instant zero) {
    for (const Seat& seat : seats_) {
        seat.run->begin(zero);
    }
}

bool SimEngines::turn() {
    Seat* next = nullptr;
    for (Seat& seat : seats_) {
        if (!seat.is_over &&
            (next == nullptr || seat.driver->last_look() < next->driver->last_look())) {
            next = &seat;
        }
    }
    if (next != nullptr) {
        next->is_over = !next->run->turn();
    }
    return next != nullptr;
}

void SimEngines::stop() {
    for (const Seat& seat : seats_) {
        seat.run->stop();
    }
}

void SimEngines::abandon() {
    for (const Seat& seat : seats_) {
        seat.run->abandon();
    }
}

std::uint64_t SimEngines::rows_taken() const {
    std::uint64_t taken = 0;
    for (const Seat& seat : seats_) {
        taken += seat.run->rows_taken();
    }
    return taken;
}

Instant SimEngines::now() const {
    std::optional<Instant> least;
    Instant latest = seats_.front().driver->last_look();
    for (const Seat& seat : seats_) {
        const Instant clock = seat.driver->last_look();
        latest = std::max(latest, clock);
        if (!seat.is_over && (!least || clock < *least)) {
            least = clock;
        }
    }
    return least.value_or(latest);
}

}  // namespace driftless::sim
