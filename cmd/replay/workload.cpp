#include "cmd/replay/workload.hpp"

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "engine/input/trace_file.hpp"

namespace driftless {

namespace {

void print_errors(const InputErrors& errors) {
    for (const InputError& error : errors.list) {
        std::fprintf(stderr, "driftless: %s\n", to_text(error).c_str());
    }
    if (errors.count > errors.list.size()) {
        std::fprintf(stderr, "driftless: and %llu more errors\n",
                     static_cast<unsigned long long>(errors.count - errors.list.size()));
    }
}

}  // namespace

int load_workload(const ReplayOptions& options, Workload& workload) {
    TraceFiles files;
    files.paths = options.traces;
    files.format = options.format;
    files.time_unit = options.time_unit;
    files.block_size = options.block_size;
    files.lenient = options.lenient;
    files.keep = options.keep;
    InputErrors errors;
    const bool read = read_trace(files, workload.trace, errors, workload.notes);
    for (const std::string& note : workload.notes) {
        std::printf("trace: %s\n", note.c_str());
    }
    if (!read) {
        print_errors(errors);
        return exit_input;
    }
    Result<Plan> plan = make_plan(workload.trace, options.plan);
    if (!plan) {
        std::fprintf(stderr,
                     "driftless: no row of the trace is selected; widen --start, --end, --limit or "
                     "--duration\n");
        return exit_input;
    }
    workload.plan = std::move(plan).value();
    return exit_done;
}

int check_context(const Workload& workload, std::int64_t max_model_len) {
    if (max_model_len < 0) {
        return exit_done;
    }
    const auto too_long = [&](const Planned& planned) {
        const TraceRow& row = workload.trace.rows[planned.row];
        return std::int64_t{row.input_length} + row.output_length > max_model_len;
    };
    const auto& rows = workload.plan.rows;
    const auto count = std::count_if(rows.begin(), rows.end(), too_long);
    if (count == 0) {
        return exit_done;
    }
    const TraceRow& first =
        workload.trace.rows[std::find_if(rows.begin(), rows.end(), too_long)->row];
    std::fprintf(stderr,
                 "driftless: %lld rows do not fit the model's context of %lld tokens, the first at "
                 "line %u (%u in, %u out); serve a longer context, or select other rows with "
                 "--start, --end and --limit\n",
                 static_cast<long long>(count), static_cast<long long>(max_model_len), first.line,
                 first.input_length, first.output_length);
    return exit_input;
}

}  // namespace driftless
