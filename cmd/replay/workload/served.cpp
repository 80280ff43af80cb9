#include "cmd/replay/workload/served.hpp"

#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/workload/live.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/plan/dual_fire.hpp"
#include "engine/plan/server_forecast.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Tokens of the server's cache blocks, by flag or by preflight.
std::optional<std::uint32_t> known_block(const ServerFlags& flags, const PreflightFindings& found) {
    if (flags.server_block || found.server_block <= 0) {
        return flags.server_block;
    }
    return static_cast<std::uint32_t>(found.server_block);
}

/// Bodies that are whole name a model.
int check_one_body(const Trace& trace, const Server& server) {
    const bool is_whole = trace.recorded || !trace.body_ends.empty();
    if (!server.against || !is_whole || server.against->findings.model == server.body.model) {
        return exit_done;
    }
    complain(
        "driftless: --against: the trace has whole requests, which both servers get "
        "unchanged, but --url has model \"%s\" and --against \"%s\"; serve the same "
        "model, or name one that both know with --model",
        server.body.model.c_str(), server.against->findings.model.c_str());
    return exit_preflight;
}

}  // namespace

OrExit<ServedWorkload> serve(Workload workload, const RequestFlags& request, const Server& server) {
    if (const int code = check_one_body(workload.trace, server); code != exit_done) {
        return code;
    }
    if (!workload.trace.recorded) {
        return ServedWorkload{std::move(workload), {}, {}, {}, {}};
    }
    InputErrors errors;
    const Assistant assistant = assistant_of(request, workload.trace);
    std::optional<TraceWithBodies> made = make_recorded_bodies(
        workload.plan, *request.dialect, server.body, assistant, std::move(workload.trace), errors,
        request.row_body ? &*request.row_body : nullptr);
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
        print_line("requests: %s", note.c_str());
        workload.notes.push_back(note);
    }
    return ServedWorkload{std::move(workload), made->figures, std::move(made->live), {}, {}};
}

Overhead served_overhead(const Server& server, Side side) {
    return server.prompt == PromptKind::ids ? Overhead{} : findings_of(server, side).overhead;
}

namespace {

/// What one server's cache should hold: behind its template, and in its own blocks where their size
/// is known.
struct ServerForecast {
    Plan plan;
    std::optional<std::uint32_t> block;
    std::string note;
};

/// `plan` has no sides.
ServerForecast forecast_of(const Workload& workload, Plan plan, const ServerFlags& flags,
                           const Server& server, Side side) {
    const Trace& trace = workload.trace;
    const std::uint32_t post = findings_of(server, side).overhead.post;
    const Overhead around = served_overhead(server, side);
    ServerForecast made{std::move(plan), known_block(flags, findings_of(server, side)), {}};
    if (post != made.plan.post_tokens) {
        made.plan = expect_cached(trace, post, std::move(made.plan));
    }
    if (!made.block || workload.waiting) {  // the latter are forecast in the run
        return made;
    }
    auto cached = expect_server_cached(trace, {around.pre, around.post}, *made.block, made.plan);
    if (cached) {
        made.plan.server_cached = std::move(*cached);
    } else {
        made.block.reset();
        made.note = "more than " + std::to_string(server_forecast_ids_max) +
                    " block ids: hits are not forecast in the server's blocks";
    }
    return made;
}

/// Blocks of one size are named where both servers have it.
ServedWorkload forecast_both(ServedWorkload served, const ServerFlags& flags, const Server& server,
                             std::uint64_t seed) {
    Workload& workload = served.workload;
    const auto of_side = [&](Side side) {
        return forecast_of(workload, plan_of_side(workload.trace, workload.plan, side), flags,
                           server, side);
    };
    ServerForecast a = of_side(Side::a);
    ServerForecast b = of_side(Side::b);
    Result<Plan> plan = dual_plan(workload.trace, a.plan, b.plan, seed);
    CHECK(plan);  // it was made once before
    workload.plan = std::move(plan).value();
    served.server_block = a.block == b.block ? a.block : std::nullopt;
    served.forecast_note = a.note;
    return served;
}

}  // namespace

ServedWorkload forecast(ServedWorkload served, const ReplayOptions& options, const Server& server) {
    if (served.workload.plan.dual) {
        return forecast_both(std::move(served), options.server, server, options.workload.plan.seed);
    }
    ServerForecast made = forecast_of(served.workload, std::move(served.workload.plan),
                                      options.server, server, Side::none);
    served.workload.plan = std::move(made.plan);
    served.server_block = made.block;
    served.forecast_note = std::move(made.note);
    return served;
}

}  // namespace driftless
