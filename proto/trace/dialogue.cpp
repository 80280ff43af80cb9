#include "proto/trace/dialogue.hpp"

namespace driftless {

std::string_view order_problem(const Dialogue& dialogue, Speaker next) {
    const Speaker before = dialogue.speaker;
    if (before == Speaker::none) {
        return next == Speaker::user ? "" : "begins a conversation; only a user can";
    }
    if (before == Speaker::user) {
        return next == Speaker::assistant ? ""
                                          : "follows a user's row without an answer in between";
    }
    if (before == Speaker::tool) {
        return next == Speaker::tool ? "follows another row of tool results" : "";
    }
    if (next == Speaker::assistant) {
        return "follows another answer";
    }
    if (next == Speaker::tool) {
        return dialogue.calls_tools ? "" : "follows an answer that called no tool";
    }
    return dialogue.calls_tools ? "follows tool calls without their results" : "";
}

}  // namespace driftless
