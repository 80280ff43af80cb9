#include "cmd/replay/workload.hpp"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/guard.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/synth.hpp"
#include "cmd/replay/pacing.hpp"
#include "cmd/report/lines.hpp"
#include "engine/plan/forecast.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "engine/plan/waits.hpp"
#include "engine/prompt/load_tokenizer.hpp"
#include "engine/prompt/row_fields.hpp"
#include "engine/server/findings.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::size_t models_shown = 8;

void print_notes(const char* topic, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        print_line("%s: %s", topic, note.c_str());
    }
}

/// As `print_notes`; then they are behind `all`.
void add_notes(const char* topic, const std::vector<std::string>& notes,
               std::vector<std::string>& all) {
    print_notes(topic, notes);
    all.insert(all.end(), notes.begin(), notes.end());
}

/// A trace, and what was said of it.
struct NotedTrace {
    Trace trace;
    std::vector<std::string> notes;
};

OrExit<NotedTrace> read_noted(const TraceFiles& files) {
    InputErrors errors;
    NotedTrace read;
    int code = exit_done;
    if (names_made_trace(files.paths)) {
        code = read_made_trace(files, read.trace, errors, read.notes);
    } else if (!read_trace(files, read.trace, errors, read.notes)) {
        code = exit_input;
    }
    print_notes("trace", read.notes);
    if (code != exit_done) {
        print_errors(errors);
        return code;
    }
    return read;
}

OrExit<LoadedTrace> loaded(const LoadOptions& options, Trace trace) {
    Result<LoadedTrace> load = apply_load(options, std::move(trace));
    if (!load) {
        complain("driftless: %s", load_refusal(load.error()));
        return exit_input;
    }
    return std::move(load).value();
}

/// What goes by sessions has nothing to go by where there are none.
std::vector<std::string> session_notes(const SendingFlags& sending, const Trace& trace) {
    const bool sticky = sending.connection == ConnectionRule::sticky;
    if (!trace.sessions.empty() || (!sticky && sending.balance != Balance::session)) {
        return {};
    }
    return {std::string("no row names a session: ") +
            (sticky ? "--connection sticky" : "--balance session") + " has no effect"};
}

OrExit<Plan> plan_of(const WorkloadFlags& flags, const Trace& trace) {
    PlanOptions options = flags.plan;
    if (flags.arrivals) {
        options.duration_ns.reset();  // of arrivals, which are not known yet
    }
    Result<Plan> plan = make_plan(trace, options);
    if (!plan && plan.error().code == ErrorCode::out_of_range) {
        complain(
            "driftless: --speed %s: the last selected row would be due after more than 73 "
            "years; give a higher speed, or select less with --end, --limit or "
            "--duration",
            flags.speed_text.c_str());
        return exit_input;
    }
    if (!plan) {
        complain("driftless: %s, --limit or --duration", nothing_selected(trace).c_str());
        return exit_input;
    }
    return std::move(plan).value();
}

OrExit<RowModels> named_models(const std::optional<FieldTemplate>& row_model, const Trace& trace,
                               const Plan& plan) {
    if (!row_model) {
        return RowModels();
    }
    if (trace.recorded) {
        complain(
            "driftless: --model with a column cannot be used with recorded requests; give "
            "one model for all of them");
        return exit_input;
    }
    InputErrors errors;
    RowModels models(*row_model, trace, plan, errors);
    print_errors(errors);
    if (!errors.empty()) {
        return exit_input;
    }
    print_line("models: %zu, named by the rows (%s)", models.names().size(),
               list_first(models.names(), models_shown).c_str());
    return models;
}

/// A trace that is ready to be played, and what was settled about rows that wait.
struct Timed {
    Trace trace;
    Plan plan;
    std::optional<Waiting> waiting;
    std::vector<std::string> notes;
};

/// Turns wait for what of their tree had ended, where the user says so.
OrExit<BarredTrace> barred(const UserRules& users, const Plan& plan, Trace trace) {
    if (!users.tree_barrier) {
        return BarredTrace{std::move(trace), {}};
    }
    const bool ends_known = std::any_of(trace.answers_ns.begin(), trace.answers_ns.end(),
                                        [](std::int64_t length_ns) { return length_ns > 0; });
    if (!ends_known) {
        complain(
            "driftless: --barrier tree: the trace does not say when answers ended; use "
            "--barrier stream");
        return exit_input;
    }
    return add_barriers(plan, std::move(trace));
}

/// [row index] the first blocks that passes share, where the user says so.
OrExit<std::vector<std::uint32_t>> shared_blocks(const UserRules& users, const Trace& trace,
                                                 const Plan& plan,
                                                 std::vector<std::string>& notes) {
    if (!users.shares_system) {
        return std::vector<std::uint32_t>();
    }
    SystemBlocks found = system_blocks(trace, plan);
    if (found.rows == 0) {
        complain(
            "driftless: --recycle-share system: no conversation of the trace has a whole "
            "block of system or tool tokens, and no first requests of trees share a "
            "block; use --recycle-share none");
        return exit_input;
    }
    add_notes("users",
              {"passes share up to " + counted(found.most, "block", "blocks") + " of " +
               counted(found.rows, "row", "rows") + ", of system and tools"},
              notes);
    return std::move(found.blocks);
}

std::string barrier_note(const BarrierFigures& figures) {
    std::string note = "barrier: " + counted(figures.rows, "row waits", "rows wait") + " for " +
                       counted(figures.waits, "row", "rows") +
                       " of other sessions of their trees that had ended before";
    if (figures.trees_out_of_order > 0) {
        note += "; not in " +
                counted(figures.trees_out_of_order, "tree that is", "trees that are") +
                " not in the order of their times";
    }
    return note;
}

OrExit<Timed> loop_rows(const UserRules& users, Trace trace, Plan plan) {
    lay_out_loop(trace, plan);
    plan = plan_of_waits(trace, std::move(plan), Speed(), users);
    const auto rows = static_cast<std::uint32_t>(plan.rows.size());
    if (const int code = check_users(users, true, rows, trace, plan); code != exit_done) {
        return code;
    }
    Waiting waiting = waiting_of(trace, plan, Speed(), users, {});
    waiting.trees = rows;
    return Timed{std::move(trace), std::move(plan), std::move(waiting), {}};
}

/// Closed sessions: gaps by the rules, and a plan whose digest tells of them.
OrExit<Timed> close_sessions(const WorkloadFlags& flags, Trace trace, Plan recorded) {
    const GapRules rules{flags.gap.value_or(GapRule::end_to_start), flags.gap_cap_ns};
    const UserRules& users = flags.users;
    if (const int code = check_waits(trace, rules, users.users > 0); code != exit_done) {
        return code;
    }
    RetimedTrace retimed = retime(rules, recorded, std::move(trace));
    OrExit<BarredTrace> bars = barred(users, recorded, std::move(retimed.trace));
    if (!bars) {
        return bars.exit_code();
    }
    retimed.trace = std::move(bars.value().trace);
    const Speed speed = flags.plan.speed;
    OrExit<Plan> at_rate = arrive_at_rate(flags, retimed.trace, std::move(recorded));
    if (!at_rate) {
        return at_rate.exit_code();
    }
    Plan plan = plan_of_waits(retimed.trace, std::move(at_rate).value(), speed, users);
    const std::uint32_t trees = users.users > 0 ? RowTrees(retimed.trace, plan).count() : 0;
    const UserCount& count = flags.user_count;
    const bool is_bound = count.is_bound || count.first < count.most;
    const int code =
        users.users > 0 ? check_users(users, is_bound, trees, retimed.trace, plan) : exit_done;
    if (code != exit_done) {
        return code;
    }
    Waiting waiting = waiting_of(retimed.trace, plan, speed, users, retimed.figures);
    waiting.trees = trees;
    std::vector<std::string> notes;
    if (!retimed.trace.dependencies.empty()) {
        notes.push_back(gap_note(rules, retimed.figures));
    }
    if (users.tree_barrier) {
        notes.push_back(barrier_note(bars.value().figures));
    }
    return Timed{std::move(retimed.trace), std::move(plan), std::move(waiting), std::move(notes)};
}

OrExit<Timed> timed(const WorkloadFlags& flags, Trace trace, Plan recorded) {
    if (flags.users.single_rows) {
        return loop_rows(flags.users, std::move(trace), std::move(recorded));
    }
    if (flags.files.sessions != Sessions::closed) {
        OrExit<Plan> plan = arrive_at_rate(flags, trace, std::move(recorded));
        return plan ? OrExit<Timed>(Timed{std::move(trace), std::move(plan).value(), {}, {}})
                    : plan.exit_code();
    }
    return close_sessions(flags, std::move(trace), std::move(recorded));
}

/// What will be sent, as two lines: rows, wall time and pace; tokens.
std::string selection_text(const Trace& trace, const Plan& plan,
                           const std::optional<Waiting>& waiting, const WorkloadFlags& flags) {
    const double seconds = static_cast<double>(last_due_ns(waiting, plan)) / 1e9;
    char rate[64] = "";
    if (seconds > 0 && !waiting) {
        (void)std::snprintf(rate, sizeof rate, " (%.2f/s)",
                            static_cast<double>(plan.rows.size()) / seconds);
    }
    char wall[64];
    (void)std::snprintf(wall, sizeof wall, "%.3f s", seconds);
    const std::string when = flags.users.single_rows ? "sent in a closed loop"
                             : flags.users.users > 0
                                 ? "sent by users"
                                 : (waiting ? "those that wait for none " : "") +
                                       std::string("sent within ") + wall + rate;
    return "selected: " + grouped(plan.rows.size()) + " of " + grouped(trace.rows.size()) +
           " rows, " + when + " at speed " + flags.speed_text +
           "\nselected: " + grouped_sum(plan.input_tokens, plan.inputs_unknown == 0) +
           " input and " + grouped_sum(plan.output_tokens, plan.outputs_unknown == 0) +
           " output tokens";
}

/// `--against`: each row twice, for both servers.
OrExit<Plan> for_both(const ReplayOptions& options, const Trace& trace, Plan plan,
                      std::vector<std::string>& notes) {
    if (!options.server.dual) {
        return plan;
    }
    const std::size_t rows_once = plan.rows.size();
    Result<Plan> dual = dual_plan(trace, std::move(plan), options.workload.plan.seed);
    if (!dual) {
        complain("driftless: --against: cannot %s", dual.error().doing);
        return exit_input;
    }
    std::size_t a_first = 0;
    const std::vector<Planned>& rows = dual.value().rows;
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        a_first += rows[i].side == Side::a ? 1 : 0;
    }
    add_notes("dual",
              {"each row goes to --url (a) and to --against (b) at one instant, " +
               grouped(a_first) + " to a first and " + grouped(rows_once - a_first) +
               " to b: " + counted(rows.size(), "request", "requests")},
              notes);
    return std::move(dual).value();
}

}  // namespace

OrExit<Workload> load_workload(const ReplayOptions& options) {
    const WorkloadFlags& flags = options.workload;
    OrExit<NotedTrace> read = read_noted(flags.files);
    if (!read) {
        return read.exit_code();
    }
    std::vector<std::string> notes = std::move(read.value().notes);
    OrExit<LoadedTrace> load = loaded(flags.load, std::move(read.value().trace));
    if (!load) {
        return load.exit_code();
    }
    add_notes("load", load_notes(load.value().figures), notes);
    add_notes("trace", session_notes(options.sending, load.value().trace), notes);
    OrExit<Plan> recorded = plan_of(flags, load.value().trace);
    if (!recorded) {
        return recorded.exit_code();
    }
    OrExit<Timed> ready = timed(flags, std::move(load.value().trace), std::move(recorded).value());
    if (!ready) {
        return ready.exit_code();
    }
    auto& [trace, plan, waiting, gaps] = ready.value();
    std::puts(selection_text(trace, plan, waiting, flags).c_str());  // two lines of numbers
    if (flags.arrivals) {
        add_notes("rate", arrival_notes(flags, trace, plan), notes);
    }
    add_notes("sessions", waiting_notes(waiting, plan, flags.users), notes);
    add_notes("gaps", gaps, notes);
    if (flags.users.users > 0) {
        add_notes("users", user_notes(flags.users, waiting->trees, plan), notes);
    }
    (void)::malloc_trim(0);  // what planning used stays resident otherwise
    OrExit<RowModels> models = named_models(options.request.row_model, trace, plan);
    if (!models) {
        return models.exit_code();
    }
    OrExit<std::vector<std::uint32_t>> shared = shared_blocks(flags.users, trace, plan, notes);
    if (!shared) {
        return shared.exit_code();
    }
    OrExit<Plan> sent = for_both(options, trace, std::move(plan), notes);
    if (!sent) {
        return sent.exit_code();
    }
    return Workload{std::move(trace),
                    load.value().figures,
                    std::move(sent).value(),
                    std::move(waiting),
                    flags.users,
                    std::move(models).value(),
                    std::move(notes),
                    std::move(shared).value(),
                    {}};
}

int check_row_templates(const RequestFlags& request, const Workload& workload) {
    const bool is_numbered = request.row_body && (request.row_body->has(Placeholder::pass) ||
                                                  request.row_body->has(Placeholder::user));
    if (is_numbered && !workload.trace.body_ends.empty()) {
        complain(
            "driftless: --extra-body: {pass} and {user} are known only during the run, but "
            "the trace has whole requests, which are made before it; remove them, or use "
            "--header");
        return exit_usage;
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

namespace {

double monotonic_seconds() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void print_text(const std::string& dataset, const LoadedCorpus& text, double seconds) {
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

int refuse(const std::string& dataset, const TraceRow& row, const std::string& why) {
    complain("driftless: --dataset %s: the row at line %u %s", dataset.c_str(), row.line,
             why.c_str());
    return exit_input;
}

}  // namespace

OrExit<LoadedCorpus> choose_text(const PromptFlags& prompts, Tokenizer& tokenizer,
                                 const WordTable& words) {
    std::string why;
    const double begin = monotonic_seconds();
    Result<LoadedCorpus> loaded =
        load_corpus(prompts.dataset, prompts.dataset_column, tokenizer, words.word(0), why);
    if (!loaded) {
        complain("driftless: --dataset %s", why.c_str());
        return exit_input;
    }
    print_text(prompts.dataset, loaded.value(), monotonic_seconds() - begin);
    return std::move(loaded).value();
}

int check_text(const std::string& dataset, const Workload& workload,
               const std::optional<LoadedCorpus>& text) {
    if (!text) {
        return exit_done;
    }
    const std::uint32_t tokens = text->corpus.tokens();
    for (const Planned& planned : workload.plan.rows) {
        const TraceRow& row = workload.trace.rows[planned.row];
        if (row.ids_count > 0) {
            return refuse(dataset, row,
                          "has block ids, but --dataset is for rows without; remove --dataset");
        }
        if (row.input_length > tokens && workload.trace.body_of(row).empty()) {
            return refuse(dataset, row,
                          "asks for " + std::to_string(row.input_length) +
                              " tokens, but the dataset has " + std::to_string(tokens) +
                              "; use a longer dataset, or exclude such rows");
        }
    }
    return exit_done;
}

void write_text(JsonWriter& json, const std::string& dataset,
                const std::optional<LoadedCorpus>& text) {
    json.key("dataset");
    if (!text) {
        json.null();
        return;
    }
    const CorpusFigures& figures = text->figures;
    char digest[17];
    std::snprintf(digest, sizeof(digest), "%016llx",
                  static_cast<unsigned long long>(text->corpus.digest()));
    json.begin_object();
    json.key("file").string(dataset);
    json.key("column");
    text->column.empty() ? json.null() : json.string(text->column);
    json.key("whole").boolean(text->is_whole);
    json.key("texts").unsigned_integer(figures.texts);
    json.key("empty_texts").unsigned_integer(figures.empty_texts);
    json.key("bytes").unsigned_integer(figures.bytes);
    json.key("bytes_left_out").unsigned_integer(figures.left_out_bytes);
    json.key("sections_left_out").unsigned_integer(figures.sections_left_out);
    json.key("words_put_in").unsigned_integer(figures.words_put_in);
    json.key("pieces").unsigned_integer(text->corpus.pieces());
    json.key("tokens").unsigned_integer(text->corpus.tokens());
    json.key("digest").string(digest);
    json.end_object();
}

OrExit<ChosenWords> choose_words(const PromptFlags& prompts) {
    if (prompts.tokenizer.empty()) {
        return ChosenWords();
    }
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(prompts.tokenizer, why);
    Result<SelectedWords> selected =
        tokenizer ? select_words(tokenizer.value(), prompts.tokenizer, why) : tokenizer.error();
    if (!selected) {
        complain("driftless: --tokenizer %s%s", why.c_str(),
                 selected.error().code == ErrorCode::not_found
                     ? ""
                     : "; without --tokenizer, built-in words are used and checked on the "
                       "server before the run");
        return exit_input;
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

}  // namespace driftless
