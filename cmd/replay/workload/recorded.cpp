#include "cmd/replay/workload/recorded.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/trace_errors.hpp"

namespace driftless {

int make_bodies(const ReplayOptions& options, const Server& server, Workload& workload,
                RunFile& file) {
    if (!workload.trace.recorded) {
        return exit_done;
    }
    file.recorded.emplace();
    InputErrors errors;
    if (!make_recorded_bodies(workload.plan, *options.request.dialect, server.body, workload.trace,
                              *file.recorded, errors)) {
        print_errors(errors);
        return exit_input;
    }
    for (const std::string& note : recorded_notes(*file.recorded)) {
        std::printf("requests: %s\n", note.c_str());
        file.notes.push_back(note);
    }
    return exit_done;
}

}  // namespace driftless
