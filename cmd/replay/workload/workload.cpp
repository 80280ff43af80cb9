#include "cmd/replay/workload/workload.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/load_values.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/screen/plots.hpp"
#include "cmd/trace_errors.hpp"
#include "engine/preflight/hints.hpp"
#include "engine/prompt/row_fields.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr std::size_t models_shown = 8;

/// What goes by sessions has nothing to go by where there are none.
void note_sessions(const ReplayOptions& options, Workload& workload) {
    const bool sticky = options.sending.connection == ConnectionRule::sticky;
    if (!workload.trace.sessions.empty() ||
        (!sticky && options.sending.balance != Balance::session)) {
        return;
    }
    const std::string note = std::string("no row names a session: ") +
                             (sticky ? "--connection sticky" : "--balance session") +
                             " has no effect";
    std::printf("trace: %s\n", note.c_str());
    workload.notes.push_back(note);
}

int name_models(const ReplayOptions& options, Workload& workload) {
    if (!options.request.row_model) {
        return exit_done;
    }
    if (workload.trace.recorded) {
        std::fprintf(stderr,
                     "driftless: --model with a column does not go with recorded requests: give "
                     "one model for all of them\n");
        return exit_input;
    }
    InputErrors errors;
    workload.models = RowModels(*options.request.row_model, workload.trace, workload.plan, errors);
    print_errors(errors);
    if (!errors.empty()) {
        return exit_input;
    }
    const std::vector<std::string>& names = workload.models.names();
    std::printf("models: %zu of the rows' own (%s)\n", names.size(),
                list_first(names, models_shown).c_str());
    return exit_done;
}

}  // namespace

int load_workload(const ReplayOptions& options, Workload& workload) {
    InputErrors errors;
    const bool read = read_trace(options.workload.files, workload.trace, errors, workload.notes);
    for (const std::string& note : workload.notes) {
        std::printf("trace: %s\n", note.c_str());
    }
    if (!read) {
        print_errors(errors);
        return exit_input;
    }
    const Result<LoadFigures> load = apply_load(options.workload.load, workload.trace);
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
    Result<Plan> plan = make_plan(workload.trace, options.workload.plan);
    if (!plan) {
        std::fprintf(stderr, "driftless: %s, --limit or --duration\n",
                     nothing_selected(workload.trace).c_str());
        return exit_input;
    }
    workload.plan = std::move(plan).value();
    if (const int code = close_workload(options, workload); code != exit_done) {
        return code;
    }
    std::printf("%s\n", selection_text(workload, options.workload.speed_text).c_str());
    for (const std::string& note : waiting_notes(workload)) {
        std::printf("sessions: %s\n", note.c_str());
        workload.notes.push_back(note);
    }
    (void)::malloc_trim(0);  // what planning used stays resident otherwise
    return name_models(options, workload);
}

std::string selection_text(const Workload& workload, const std::string& speed) {
    const Plan& plan = workload.plan;
    const double seconds = static_cast<double>(last_due_ns(workload, plan)) / 1e9;
    char rate[64] = "";
    if (seconds > 0 && !workload.closed) {
        (void)std::snprintf(rate, sizeof rate, " (%.2f/s)",
                            static_cast<double>(plan.rows.size()) / seconds);
    }
    char wall[64];
    (void)std::snprintf(wall, sizeof wall, "%.3f s", seconds);
    return "selected: " + grouped(plan.rows.size()) + " of " + grouped(workload.trace.rows.size()) +
           " rows, " + (workload.closed ? "those that wait for none " : "") + "sent within " +
           wall + rate + " at speed " + speed + "\nselected: " + grouped(plan.input_tokens) +
           " input and " + grouped(plan.output_tokens) + " output tokens";
}

int check_row_headers(const ReplayOptions& options, const Workload& workload) {
    InputErrors errors;
    const RowFields fields(options.request.row_headers, workload.trace, workload.plan, errors);
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

int check_context(const Workload& workload, ModelRoom room) {
    const std::int64_t longest = longest_row(workload.trace, workload.plan);
    const auto too_long = [&](const Planned& planned) {
        const TraceRow& row = workload.trace.rows[planned.row];
        return (room.context >= 0 &&
                std::int64_t{row.input_length} + row.output_length > room.context) ||
               (room.input >= 0 && row.input_length > room.input);
    };
    const auto& rows = workload.plan.rows;
    const auto count = std::count_if(rows.begin(), rows.end(), too_long);
    if (count == 0) {
        const bool known = room.context >= 0 || room.input >= 0;
        std::printf(known
                        ? "server: the longest row needs %lld tokens of the model's context\n"
                        : "server: the model's context length is not known; the longest row needs "
                          "%lld tokens\n",
                    static_cast<long long>(longest));
        return exit_done;
    }
    const TraceRow& first =
        workload.trace.rows[std::find_if(rows.begin(), rows.end(), too_long)->row];
    const bool by_input = room.context < 0;
    std::fprintf(stderr,
                 "driftless: %lld rows do not fit the model's %s of %lld tokens, the first at "
                 "line %u (%u in, %u out); serve a longer context, or select other rows with "
                 "--start, --end and --limit\n",
                 static_cast<long long>(count), by_input ? "longest prompt" : "context",
                 static_cast<long long>(by_input ? room.input : room.context), first.line,
                 first.input_length, first.output_length);
    return exit_input;
}

std::string short_answers_warning(const ReplayOptions& options, const Workload& workload,
                                  std::uint32_t least) {
    const auto& rows = workload.plan.rows;
    const auto asks_for_less = [&](const Planned& planned) {
        const std::uint32_t asked = workload.trace.rows[planned.row].output_length;
        return asked > 0 && asked < least;
    };
    const auto count = options.request.output == OutputRule::free
                           ? 0
                           : std::count_if(rows.begin(), rows.end(), asks_for_less);
    return count == 0 ? ""
                      : std::to_string(count) + " of " + std::to_string(rows.size()) +
                            " rows ask for fewer than the " + std::to_string(least) +
                            " tokens that the server was seen to accept, and may be refused; "
                            "--output free asks for no length";
}

std::string split_warning(const Workload& workload, const Overhead& overhead, bool templated) {
    const auto& rows = workload.plan.rows;
    const auto sharing = std::count_if(rows.begin(), rows.end(), [](const Planned& planned) {
        return planned.expected_cached_tokens > 0;
    });
    const std::uint32_t around = overhead.pre + overhead.post;
    const std::string tokens = std::to_string(around);
    const std::string in_front = overhead.post > 0 ? std::to_string(overhead.pre) + " are"
                                 : around == 1     ? "it is"
                                                   : "all " + tokens + " are";
    return "the server counts " + tokens + (templated ? " template" : "") +
           (around == 1 ? " token" : " tokens") +
           " around a prompt and does not show how many of them stand in front; " + in_front +
           " assumed to, so cache blocks may be shifted by up to " +
           counted(around, "token", "tokens") + ", and each of the " + std::to_string(sharing) +
           " rows (of " + std::to_string(rows.size()) +
           ") that share a prefix may miss one; --overhead PRE,POST with PRE+POST = " + tokens +
           " sets the split" +
           (templated ? "; --tokenizer with the model's folder shows it where the chat template "
                        "there is a common one"
                      : "");
}

}  // namespace driftless
