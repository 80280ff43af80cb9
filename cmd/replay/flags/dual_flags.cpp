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
        return "--connect-to would connect both servers to the same address; put the address into "
               "--url or --against instead";
    }
    if (options.sending.connection == ConnectionRule::sticky) {
        return "--connection sticky gives each session one connection, but --against needs two; "
               "remove one of the flags";
    }
    if (!options.prompts.save_prompts.empty()) {
        return "--save-prompts saves one body per row, but --against makes two; save them without "
               "--against";
    }
    if (!options.request.against_model.empty() &&
        options.request.model.find('{') != std::string::npos) {
        return "--model with a column already names each row's model for both servers; remove "
               "--against-model";
    }
    return "";
}

}  // namespace

std::string dual_contradiction(const TypedServer& server, const ReplayOptions& options) {
    if (!server.against) {
        return options.request.against_model.empty() ? ""
                                                     : "--against-model needs --against; give both";
    }
    if (!options.server.dual) {
        return options.server.targets.empty()
                   ? "--against is the second server; give the first with --url"
                   : "--against sends each row to two servers, while several --url split the rows; "
                     "give only one --url";
    }
    if (const std::string flag = loop_flag(options); !flag.empty()) {
        return "--against sends each row to both servers at one instant, but with " + flag +
               " the answers of one server decide when rows are sent; remove one of the flags";
    }
    return other_contradiction(options);
}

}  // namespace driftless
