#include "cmd/replay/workload.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/load_values.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/prompt/row_fields.hpp"

namespace driftless {

namespace {

/// What goes by sessions has nothing to go by where there are none.
void note_sessions(const ReplayOptions& options, Workload& workload) {
    const bool sticky = options.connection == ConnectionRule::sticky;
    if (!workload.trace.sessions.empty() || (!sticky && options.balance != Balance::session)) {
        return;
    }
    const std::string note = std::string("no row names a session: ") +
                             (sticky ? "--connection sticky" : "--balance session") +
                             " has no effect";
    std::printf("trace: %s\n", note.c_str());
    workload.notes.push_back(note);
}

}  // namespace

int load_workload(const ReplayOptions& options, Workload& workload) {
    InputErrors errors;
    const bool read = read_trace(options.files, workload.trace, errors, workload.notes);
    for (const std::string& note : workload.notes) {
        std::printf("trace: %s\n", note.c_str());
    }
    if (!read) {
        print_errors(errors);
        return exit_input;
    }
    const Result<LoadFigures> load = apply_load(options.load, workload.trace);
    if (!load) {
        std::fprintf(stderr, "driftless: %s\n", load_refusal(load.error()));
        return exit_input;
    }
    workload.load = load.value();
    for (const std::string& note : load_notes(workload.load)) {
        std::printf("load: %s\n", note.c_str());
        workload.notes.push_back(note);
    }
    note_sessions(options, workload);
    Result<Plan> plan = make_plan(workload.trace, options.plan);
    if (!plan) {
        std::fprintf(stderr,
                     "driftless: no row of the trace is selected; widen --start, --end, --limit or "
                     "--duration\n");
        return exit_input;
    }
    workload.plan = std::move(plan).value();
    (void)::malloc_trim(0);  // what planning used stays resident otherwise
    return exit_done;
}

int check_row_headers(const ReplayOptions& options, const Workload& workload) {
    InputErrors errors;
    const RowFields fields(options.row_headers, workload.trace, workload.plan, errors);
    print_errors(errors);
    return errors.empty() ? exit_done : exit_input;
}

std::int64_t longest_row(const Trace& trace, const Plan& plan) {
    std::int64_t longest = 0;
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        longest = std::max(longest, std::int64_t{row.input_length} + row.output_length);
    }
    return longest;
}

int check_context(const Workload& workload, std::int64_t max_model_len) {
    const std::int64_t longest = longest_row(workload.trace, workload.plan);
    if (max_model_len < 0) {
        std::printf("server: its context is not known; the longest row needs %lld tokens\n",
                    static_cast<long long>(longest));
        return exit_done;
    }
    if (longest <= max_model_len) {
        std::printf("server: the longest row needs %lld tokens of its context\n",
                    static_cast<long long>(longest));
        return exit_done;
    }
    const auto too_long = [&](const Planned& planned) {
        const TraceRow& row = workload.trace.rows[planned.row];
        return std::int64_t{row.input_length} + row.output_length > max_model_len;
    };
    const auto& rows = workload.plan.rows;
    const auto count = std::count_if(rows.begin(), rows.end(), too_long);
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
