#include "cmd/replay/run/engine_crew.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/run/run_settings.hpp"
#include "cmd/replay/workload/share.hpp"
#include "engine/host/host.hpp"

namespace driftless {

OrExit<std::unique_ptr<EngineCrew>> EngineCrew::make(ReplayParts& parts, const DealtPlan& dealt,
                                                     const HostChoice& host) {
    std::unique_ptr<EngineCrew> crew(new EngineCrew());
    const ReplaySettings settings = settings_of(parts.invocation().options, dealt.plan, host);
    const Workload& workload = parts.workload();
    std::vector<PlanShare> shares =
        shares_with_rows(workload.trace, dealt.plan, host.engines(),
                         deal_rule(parts.invocation().options, workload));
    const auto engines = static_cast<std::uint32_t>(shares.size());
    if (shares.empty()) {
        crew->seats_.push_back(std::make_unique<EngineSeat>(parts, dealt, settings));
    }
    for (std::uint32_t number = 0; number < engines; ++number) {
        const ShardPlace place{number, engines};
        OrExit<std::unique_ptr<ReplayParts>> own =
            ReplayParts::make(parts.invocation(), parts.served(), parts.server(), place);
        if (!own) {
            return own.exit_code();
        }
        crew->seats_.push_back(std::make_unique<EngineSeat>(std::move(own).value(), dealt,
                                                            std::move(shares[number]),
                                                            settings_at(settings, place), place));
    }
    const bool have_memory = std::all_of(crew->seats_.begin(), crew->seats_.end(),
                                         [](const auto& seat) { return seat->has_memory(); });
    if (!have_memory) {
        return fail_host("events", {ErrorCode::exhausted, ENOMEM, "take memory for them"});
    }
    crew->other_cpus_ = host.other_cpus;
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

int EngineCrew::start_others(const EngineOrders& orders) {
    for (std::size_t number = 1; number < seats_.size(); ++number) {
        others_.push_back(
            std::make_unique<EngineThread>(*seats_[number], other_cpus_[number - 1], orders));
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

RunEnd EngineCrew::end(Run& first_run, const UringDriver& driver) {
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
