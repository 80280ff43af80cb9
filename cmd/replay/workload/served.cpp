#include "cmd/replay/workload/served.hpp"

#include <cstdio>
#include <utility>

#include "cmd/replay/workload/live.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/plan/server_forecast.hpp"

namespace driftless {

namespace {

/// Tokens of the server's cache blocks, by flag or by preflight.
std::optional<std::uint32_t> known_block(const ServerFlags& flags, const Server& server) {
    if (flags.server_block || server.findings.server_block <= 0) {
        return flags.server_block;
    }
    return static_cast<std::uint32_t>(server.findings.server_block);
}

}  // namespace

OrExit<ServedWorkload> serve(Workload workload, const RequestFlags& request, const Server& server) {
    if (!workload.trace.recorded) {
        return ServedWorkload{std::move(workload), {}, {}, {}, {}};
    }
    InputErrors errors;
    const Assistant assistant = assistant_of(request, workload.trace);
    std::optional<TraceWithBodies> made = make_recorded_bodies(
        workload.plan, *request.dialect, server.body, assistant, std::move(workload.trace), errors);
    if (!made) {
        print_errors(errors);
        return exit_input;
    }
    workload.trace = std::move(made->trace);
    std::vector<std::string> notes = recorded_notes(made->figures);
    if (made->live) {
        for (std::string& note : live_notes(made->live->figures)) {
            notes.push_back(std::move(note));
        }
    }
    for (const std::string& note : notes) {
        std::printf("requests: %s\n", note.c_str());
        workload.notes.push_back(note);
    }
    return ServedWorkload{std::move(workload), made->figures, std::move(made->live), {}, {}};
}

Overhead served_overhead(const Server& server) {
    return server.prompt == PromptKind::ids ? Overhead{} : server.findings.overhead;
}

ServedWorkload forecast(ServedWorkload served, const ServerFlags& flags, const Server& server) {
    const Trace& trace = served.workload.trace;
    Plan& plan = served.workload.plan;
    const Overhead& overhead = server.findings.overhead;
    const Overhead around = served_overhead(server);
    if (overhead.post != plan.post_tokens) {
        plan = expect_cached(trace, overhead.post, std::move(plan));
    }
    const std::optional<std::uint32_t> block = known_block(flags, server);
    if (!block || served.workload.waiting) {  // the latter are forecast in the run
        served.server_block = block;
        return served;
    }
    auto cached = expect_server_cached(trace, {around.pre, around.post}, *block, plan);
    if (cached) {
        plan.server_cached = std::move(*cached);
        served.server_block = block;
    } else {
        served.forecast_note = "more than " + std::to_string(server_forecast_ids_max) +
                               " block ids: hits are not forecast in the server's blocks";
    }
    return served;
}

}  // namespace driftless
