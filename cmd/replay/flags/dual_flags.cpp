#include "cmd/replay/flags/dual_flags.hpp"

namespace driftless {

namespace {

/// A flag under which the answers of one server decide when rows leave; empty: there is none.
std::string loop_flag(const ReplayOptions& options) {
    const WorkloadFlags& workload = options.workload;
    if (workload.concurrency || workload.users.single_rows) {
        return "--concurrency";
    }
    if (workload.users.users > 0) {
        return "--users";
    }
    if (workload.files.sessions == Sessions::closed) {
        return "--sessions closed";
    }
    if (options.request.assistant == Assistant::live) {
        return "--assistant live";
    }
    if (options.sending.budget_input) {
        return "--budget-input";
    }
    return options.sending.budget_output ? "--budget-output" : "";
}

std::string other_contradiction(const ReplayOptions& options) {
    if (options.server.connect_to) {
        return "--connect-to leads the connections of both servers to one place: put that place "
               "into --url or --against";
    }
    if (options.sending.connection == ConnectionRule::sticky) {
        return "--connection sticky gives a session one connection, and --against needs two: "
               "remove one";
    }
    if (!options.prompts.save_prompts.empty()) {
        return "--save-prompts saves one body a row, and --against makes two: save them without "
               "--against";
    }
    if (!options.request.against_model.empty() &&
        options.request.model.find('{') != std::string::npos) {
        return "--model with a column names the model of each row for both servers: remove "
               "--against-model";
    }
    return "";
}

}  // namespace

std::string dual_contradiction(const TypedServer& server, const ReplayOptions& options) {
    if (!server.against) {
        return options.request.against_model.empty()
                   ? ""
                   : "--against-model names the model of --against, which is missing: give it";
    }
    if (!options.server.dual) {
        return options.server.targets.empty()
                   ? "--against is the second of two servers: give the first in --url"
                   : "--against sends each row to two servers, and several --url share the rows "
                     "out: give one --url";
    }
    if (const std::string flag = loop_flag(options); !flag.empty()) {
        return "--against sends each row to both servers in one instant, and under " + flag +
               " the answers of one server decide when rows leave: remove one";
    }
    return other_contradiction(options);
}

}  // namespace driftless
