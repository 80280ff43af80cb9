#include "cmd/replay/workload/live.hpp"

#include <cstdio>
#include <string>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

/// The members of `--extra-body` ask for several answers to each request.
bool asks_for_several(const std::string& extra_body) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(extra_body);
    return extra && extra.value().find("n").as_u64().value_or(1) > 1;
}

/// Why a run with these options cannot put its own answers into later prompts; empty: it can.
std::string problem_of(const ReplayOptions& options, const Trace& trace) {
    const StartRules& start = options.workload.users.start;
    if (!trace.recorded) {
        return "the trace has no messages; use a trace of conversations, or remove --assistant";
    }
    if (options.request.dialect->api != Api::openai_chat) {
        return "only --api openai-chat supports it; remove --api";
    }
    if (options.workload.files.sessions != Sessions::closed) {
        return "each turn must wait for the answer before it; add --sessions closed or --users N";
    }
    if (asks_for_several(options.request.extra_body)) {
        return "a conversation continues from one answer; remove \"n\" from --extra-body";
    }
    if (start.is_inside() || start.warms_up()) {
        return "conversations must begin at their first turn; remove --start-within and "
               "--warmup-requests";
    }
    if (!options.prompts.save_prompts.empty()) {
        return "prompts are known only during the run; remove --save-prompts";
    }
    if (!options.again.resume.empty()) {
        return "the answers were lost when the run was killed; run it again with --from";
    }
    return "";
}

}  // namespace

Assistant assistant_of(const RequestFlags& request, const Trace& trace) {
    return request.assistant.value_or(trace.deltas ? Assistant::live : Assistant::recorded);
}

int check_live(const ReplayOptions& options, const Trace& trace) {
    const Assistant assistant = assistant_of(options.request, trace);
    if (assistant == Assistant::recorded) {
        if (!trace.deltas && text_of(options.request.live_keep) != text_of(KeptWords())) {
            std::fputs("driftless: --live-keep applies to live answers; add --assistant live\n",
                       stderr);
            return exit_usage;
        }
        if (!trace.deltas) {
            return exit_done;
        }
        std::fputs("driftless: --assistant recorded: the trace has no answers; remove the flag\n",
                   stderr);
        return exit_usage;
    }
    const std::string problem = problem_of(options, trace);
    if (problem.empty()) {
        return exit_done;
    }
    complain("driftless: %s: %s",
             options.request.assistant ? "--assistant live" : "the trace has only new messages",
             problem.c_str());
    return exit_usage;
}

}  // namespace driftless
