#include "cmd/replay/workload.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/synth_values.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/base/time.hpp"
#include "engine/plan/forecast.hpp"
#include "engine/plan/trees.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "engine/server/findings.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::size_t models_shown = 8;

static void print_notes(const char* topic, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        print_line("%s: %s", topic, note.c_str());
    }
}

/// As `print_notes`; then they are behind `all`.
static void add_notes(const char* topic, const std::vector<std::string>& notes,
                      std::vector<std::string>& all) {
    print_notes(topic, notes);
    all.insert(all.end(), notes.begin(), notes.end());
}

static int read_rows(const TraceFiles& files, Workload& workload) {
    InputErrors errors;
    int code = exit_done;
    if (names_made_trace(files.paths)) {
        code = read_made_trace(files, workload.trace, errors, workload.notes);
    } else if (!read_trace(files, workload.trace, errors, workload.notes)) {
        code = exit_input;
    }
    print_notes("trace", workload.notes);
    if (code != exit_done) {
        print_errors(errors);
    }
    return code;
}

/// `--load` and its kin: which rows there are at all.
static int shape_load(const LoadOptions& options, Workload& workload) {
    const Result<LoadFigures> load = apply_load(options, workload.trace);
    if (!load) {
        return refuse(exit_input, "driftless: %s", load_refusal(load.error()));
    }
    workload.load = load.value();
    add_notes("load", load_notes(workload.load), workload.notes);
    return exit_done;
}

/// What goes by sessions has nothing to go by where there are none.
static std::vector<std::string> session_notes(const SendingFlags& sending, const Trace& trace) {
    const bool sticky = sending.connection == ConnectionRule::sticky;
    if (!trace.sessions.empty() || (!sticky && sending.balance != Balance::session)) {
        return {};
    }
    return {std::string("no row names a session: ") +
            (sticky ? "--connection sticky" : "--balance session") + " has no effect"};
}

static int plan_rows(const WorkloadFlags& flags, Workload& workload) {
    PlanOptions options = flags.plan;
    if (flags.arrivals) {
        options.duration_ns.reset();  // of arrivals, which are not known yet
    }
    Result<Plan> plan = make_plan(workload.trace, options);
    if (!plan && plan.error().code == ErrorCode::out_of_range) {
        return refuse(
            exit_input,
            "driftless: --speed %s: the last selected row would be due after more than 73 "
            "years; give a higher speed, or select less with --end, --limit or "
            "--duration",
            flags.speed_text.c_str());
    }
    if (!plan) {
        return refuse(exit_input, "driftless: %s, --limit or --duration",
                      nothing_selected(workload.trace).c_str());
    }
    workload.plan = std::move(plan).value();
    return exit_done;
}

static int name_models(const std::optional<FieldTemplate>& row_model, Workload& workload) {
    if (!row_model) {
        return exit_done;
    }
    if (workload.trace.recorded) {
        return refuse(
            exit_input,
            "driftless: --model with a column cannot be used with recorded requests; give "
            "one model for all of them");
    }
    InputErrors errors;
    workload.models = RowModels(*row_model, workload.trace, workload.plan, errors);
    print_errors(errors);
    if (!errors.empty()) {
        return exit_input;
    }
    const std::vector<std::string>& names = workload.models.names();
    print_line("models: %zu, named by the rows (%s)", names.size(),
               list_first(names, models_shown).c_str());
    return exit_done;
}

/// The first blocks that passes share, where the user says so.
static int share_blocks(Workload& workload) {
    if (!workload.users.shares_system) {
        return exit_done;
    }
    SystemBlocks found = system_blocks(workload.trace, workload.plan);
    if (found.rows == 0) {
        return refuse(exit_input,
                      "driftless: --recycle-share system: no conversation of the trace has a whole "
                      "block of system or tool tokens, and no first requests of trees share a "
                      "block; use --recycle-share none");
    }
    add_notes("users",
              {"passes share up to " + counted(found.most, "block", "blocks") + " of " +
               counted(found.rows, "row", "rows") + ", of system and tools"},
              workload.notes);
    workload.shared_blocks = std::move(found.blocks);
    return exit_done;
}

/// What will be sent, as two lines: rows, wall time and pace; tokens.
static std::string selection_text(const Workload& workload, const WorkloadFlags& flags) {
    const Trace& trace = workload.trace;
    const Plan& plan = workload.plan;
    const std::optional<Waiting>& waiting = workload.waiting;
    const double seconds = static_cast<double>(last_due_ns(waiting, plan)) / 1e9;
    const std::string rate =
        seconds > 0 && !waiting
            ? fmt::format(" ({:.2f}/s)", static_cast<double>(plan.rows.size()) / seconds)
            : "";
    const std::string when = flags.users.single_rows ? "sent in a closed loop"
                             : flags.users.users > 0
                                 ? "sent by users"
                                 : (waiting ? "those that wait for none " : "") +
                                       fmt::format("sent within {:.3f} s", seconds) + rate;
    return "selected: " + grouped(plan.rows.size()) + " of " + grouped(trace.rows.size()) +
           " rows, " + when + " at speed " + flags.speed_text +
           "\nselected: " + grouped_sum(plan.input_tokens, plan.inputs_unknown == 0) +
           " input and " + grouped_sum(plan.output_tokens, plan.outputs_unknown == 0) +
           " output tokens";
}

/// `--against`: each row twice, for both servers.
static int plan_for_both(std::uint64_t seed, Workload& workload) {
    Result<Plan> dual = dual_plan(workload.trace, std::move(workload.plan), seed);
    if (!dual) {
        return refuse(exit_input, "driftless: --against: cannot %s", dual.error().doing);
    }
    workload.plan = std::move(dual).value();
    std::size_t a_first = 0;
    const std::vector<Planned>& rows = workload.plan.rows;
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        a_first += rows[i].side == Side::a ? 1 : 0;
    }
    add_notes(
        "dual",
        {"each row goes to --url (a) and to --against (b) at one instant, " + grouped(a_first) +
         " to a first and " + grouped(workload.plan.rows_once() - a_first) +
         " to b: " + counted(rows.size(), "request", "requests")},
        workload.notes);
    return exit_done;
}

/// Says what was selected. `gaps`: of gaps and barriers.
static void tell_selection(const WorkloadFlags& flags, const std::vector<std::string>& gaps,
                           Workload& workload) {
    const Plan& plan = workload.plan;
    std::puts(selection_text(workload, flags).c_str());  // two lines of numbers
    if (flags.arrivals) {
        add_notes("rate", arrival_notes(flags, workload.trace, plan), workload.notes);
    }
    add_notes("sessions", waiting_notes(workload.waiting, plan, flags.users), workload.notes);
    add_notes("gaps", gaps, workload.notes);
    if (flags.users.users > 0) {
        add_notes("users", user_notes(flags.users, workload.waiting->trees, plan), workload.notes);
    }
}

int load_workload(Replay& run) {
    const ReplayOptions& options = run.options();
    const WorkloadFlags& flags = options.workload;
    Workload& workload = run.workload;
    workload.users = flags.users;
    int code = read_rows(flags.files, workload);
    if (code == exit_done) {
        code = shape_load(flags.load, workload);
    }
    if (code != exit_done) {
        return code;
    }
    add_notes("trace", session_notes(options.sending, workload.trace), workload.notes);
    std::vector<std::string> gaps;
    code = plan_rows(flags, workload);
    if (code == exit_done) {
        code = time_rows(flags, workload, gaps);
    }
    if (code != exit_done) {
        return code;
    }
    tell_selection(flags, gaps, workload);
    (void)::malloc_trim(0);  // what planning used stays resident otherwise
    code = name_models(options.request.row_model, workload);
    if (code == exit_done) {
        code = share_blocks(workload);
    }
    if (code == exit_done && options.server.dual) {
        code = plan_for_both(flags.plan.seed, workload);
    }
    return code;
}

int check_row_templates(Replay& run) {
    const RequestFlags& request = run.options().request;
    const Workload& workload = run.workload;
    const bool is_numbered = request.row_body && (request.row_body->has(Placeholder::pass) ||
                                                  request.row_body->has(Placeholder::user));
    if (is_numbered && !workload.trace.body_ends.empty()) {
        return refuse(
            exit_usage,
            "driftless: --extra-body: {pass} and {user} are known only during the run, but "
            "the trace has whole requests, which are made before it; remove them, or use "
            "--header");
    }
    InputErrors errors;
    const RowFields fields(request.row_headers, workload.trace, workload.plan, errors);
    BodySpec body = body_spec(request);
    body.model = "m";  // it may not be known yet
    const RowBodies bodies({*request.dialect, body, request.row_body}, workload.trace,
                           workload.plan, errors);
    print_errors(errors);
    return errors.empty() ? exit_done : exit_input;
}

static void print_text(const std::string& dataset, const LoadedCorpus& text, double seconds) {
    const CorpusFigures& figures = text.figures;
    const double megabytes = static_cast<double>(figures.bytes) / 1e6;
    print_line("dataset: %llu texts of %s%s%s%s, %.1f MB: %u tokens (%.1f s, %.1f MB/s)",
               static_cast<unsigned long long>(figures.texts), dataset.c_str(),
               text.column.empty() ? "" : " (", text.column.c_str(), text.column.empty() ? "" : ")",
               megabytes, text.corpus.tokens(), seconds, megabytes / seconds);
    if (!text.is_whole) {
        print_line("dataset: only the first %zu MiB of text are used", Corpus::bytes_max >> 20);
    }
    const std::uint64_t left_out = figures.left_out_bytes;
    if (left_out > 0) {
        print_line(
            "dataset: %llu bytes are left out (special tokens, control characters, long "
            "runs of one character)",
            static_cast<unsigned long long>(left_out));
    }
    if (figures.words_put_in > 0) {
        print_line("dataset: %llu words were inserted where the text cannot be cut",
                   static_cast<unsigned long long>(figures.words_put_in));
    }
}

static int refuse_row(const std::string& dataset, const TraceRow& row, const std::string& why) {
    return refuse(exit_input, "driftless: --dataset %s: the row at line %u %s", dataset.c_str(),
                  row.line, why.c_str());
}

/// Reads and counts the dataset's text. Prints what it is, or what is wrong with it.
static OrExit<LoadedCorpus> choose_text(const PromptFlags& prompts, Tokenizer& tokenizer,
                                        const WordTable& words) {
    std::string why;
    const std::int64_t begin_ns = monotonic_ns();
    Result<LoadedCorpus> loaded =
        load_corpus(prompts.dataset, prompts.dataset_column, tokenizer, words.word(0), why);
    if (!loaded) {
        return refuse(exit_input, "driftless: --dataset %s", why.c_str());
    }
    print_text(prompts.dataset, loaded.value(),
               static_cast<double>(monotonic_ns() - begin_ns) / 1e9);
    return std::move(loaded).value();
}

/// Rows that ask for more text than there is, or for something that text cannot give. Prints what
/// is wrong; returns an exit code.
static int check_text(const std::string& dataset, const Workload& workload,
                      const std::optional<LoadedCorpus>& text) {
    if (!text) {
        return exit_done;
    }
    const std::uint32_t tokens = text->corpus.tokens();
    for (const Planned& planned : workload.plan.rows) {
        const TraceRow& row = workload.trace.rows[planned.row];
        if (row.ids_count > 0) {
            return refuse_row(dataset, row,
                              "has block ids, but --dataset is for rows without; remove --dataset");
        }
        if (row.input_length > tokens && workload.trace.body_of(row).empty()) {
            return refuse_row(dataset, row,
                              "asks for " + std::to_string(row.input_length) +
                                  " tokens, but the dataset has " + std::to_string(tokens) +
                                  "; use a longer dataset, or exclude such rows");
        }
    }
    return exit_done;
}

/// Prints what was chosen, or why none can be.
static OrExit<ChosenWords> words_of(const PromptFlags& prompts) {
    if (prompts.tokenizer.empty()) {
        return ChosenWords();
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(prompts.tokenizer, why);
    Result<SelectedWords> selected =
        tokenizer ? select_words(tokenizer.value(), prompts.tokenizer, why) : tokenizer.error();
    if (!selected) {
        return refuse(exit_input, "driftless: --tokenizer %s%s", why.c_str(),
                      selected.error().code == ErrorCode::not_found
                          ? ""
                          : "; without --tokenizer, built-in words are used and checked on the "
                            "server before the run");
    }
    const WordFigures& figures = selected.value().figures;
    print_line("words: the %zu shortest of %zu that are one token each in %s (%s, %zu tokens)",
               figures.words, figures.strict, prompts.tokenizer.c_str(), figures.kind.c_str(),
               figures.vocabulary);
    ChosenWords words;
    if (const auto chat = read_chat_template(tokenizer_file(prompts.tokenizer))) {
        words.template_splits =
            measure_guesses(guess_template(*chat), tokenizer.value(), selected.value().table);
    }
    if (!prompts.dataset.empty()) {
        OrExit<LoadedCorpus> text = choose_text(prompts, tokenizer.value(), selected.value().table);
        if (!text) {
            return text.exit_code();
        }
        words.text.emplace(std::move(text).value());
    }
    words.selected.emplace(std::move(selected).value());
    return words;
}

int choose_words(Replay& run) {
    const PromptFlags& prompts = run.options().prompts;
    int code = keep(words_of(prompts), run.server.words);
    if (code == exit_done) {
        code = check_text(prompts.dataset, run.workload, run.server.words.text);
    }
    if (code != exit_done) {
        return code;
    }
    if (prompts.cache_salt == "random" && !run.workload.trace.is_recorded_text()) {
        print_line("prompts: --cache-salt %s gives these prompts again",
                   run.invocation.cache_salt.c_str());
    }
    return exit_done;
}

}  // namespace driftless
