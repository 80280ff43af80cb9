#include "cmd/replay/parts.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/replay/host_choice.hpp"
#include "cmd/replay/replay.hpp"
#include "engine/host/host.hpp"
#include "engine/plan/forecast.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The members of `--extra-body` ask for several answers to each request.
static bool asks_for_several(const std::string& extra_body) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(extra_body);
    return extra && extra.value().find("n").as_u64().value_or(1) > 1;
}

/// Why a run with these options cannot put its own answers into later prompts; empty: it can.
static std::string problem_of(const ReplayOptions& options, const Trace& trace) {
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

/// As the user says; else live where the trace holds no answers.
static Assistant assistant_of(const RequestFlags& request, const Trace& trace) {
    return request.assistant.value_or(trace.deltas ? Assistant::live : Assistant::recorded);
}

int check_live(Replay& run) {
    const ReplayOptions& options = run.options();
    const Trace& trace = run.workload.trace;
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
    return refuse(
        exit_usage, "driftless: %s: %s",
        options.request.assistant ? "--assistant live" : "the trace has only new messages",
        problem.c_str());
}

/// Tokens of the server's cache blocks, by flag or by preflight.
static std::optional<std::uint32_t> known_block(const ServerFlags& flags,
                                                const PreflightFindings& found) {
    if (flags.server_block || found.server_block <= 0) {
        return flags.server_block;
    }
    return static_cast<std::uint32_t>(found.server_block);
}

/// Bodies that are whole name a model.
static int check_one_body(const Trace& trace, const Server& server) {
    const bool is_whole = trace.recorded || !trace.body_ends.empty();
    if (!server.against || !is_whole || server.against->model == server.body.model) {
        return exit_done;
    }
    return refuse(exit_preflight,
                  "driftless: --against: the trace has whole requests, which both servers get "
                  "unchanged, but --url has model \"%s\" and --against \"%s\"; serve the same "
                  "model, or name one that both know with --model",
                  server.body.model.c_str(), server.against->model.c_str());
}

int make_bodies(Replay& run) {
    Workload& workload = run.workload;
    const RequestFlags& request = run.options().request;
    if (const int code = check_one_body(workload.trace, run.server); code != exit_done) {
        return code;
    }
    if (!workload.trace.recorded) {
        return exit_done;
    }
    InputErrors errors;
    const Assistant assistant = assistant_of(request, workload.trace);
    std::optional<TraceWithBodies> made = make_recorded_bodies(
        workload.plan, *request.dialect, run.server.body, assistant, std::move(workload.trace),
        errors, request.row_body ? &*request.row_body : nullptr);
    if (!made) {
        print_errors(errors);
        return exit_input;
    }
    workload.trace = std::move(made->trace);
    std::vector<std::string> notes = recorded_notes(made->figures);
    if (made->live) {
        for (std::string& note : live_notes(made->live->figures)) {
            notes.push_back(std::move(note));
        }
    }
    for (const std::string& note : notes) {
        print_line("requests: %s", note.c_str());
        workload.notes.push_back(note);
    }
    workload.recorded = made->figures;
    workload.live = std::move(made->live);
    return exit_done;
}

Overhead served_overhead(const Server& server, Side side) {
    return server.prompt == PromptKind::ids ? Overhead{} : findings_of(server, side).overhead;
}

/// What the cache of a side's server should hold of each row in its own blocks, if their size is
/// known: that size. Rows that wait are forecast in the run.
static std::optional<std::uint32_t> forecast_blocks(const Workload& workload,
                                                    const ServerFlags& flags, const Server& server,
                                                    Side side, std::vector<std::uint32_t>& cached) {
    const std::optional<std::uint32_t> block = known_block(flags, findings_of(server, side));
    if (!block || workload.waiting) {
        return block;
    }
    const Overhead around = served_overhead(server, side);
    auto made =
        expect_server_cached(workload.trace, {around.pre, around.post}, *block, workload.plan);
    if (!made) {
        return {};
    }
    cached = std::move(*made);
    return block;
}

int forecast_hits(Replay& run) {
    Workload& workload = run.workload;
    const ServerFlags& flags = run.options().server;
    Plan& plan = workload.plan;
    PostTokens post{run.server.findings.overhead.post, 0};
    if (plan.dual) {
        post.against = findings_of(run.server, Side::b).overhead.post;
    }
    if (post != plan.post) {
        plan = expect_cached(workload.trace, post, std::move(plan));
    }
    workload.server_block =
        forecast_blocks(workload, flags, run.server, Side::a, plan.server_cached);
    if (!workload.server_block && known_block(flags, run.server.findings)) {
        print_line("plan: more than %llu block ids: hits are not forecast in the server's blocks",
                   static_cast<unsigned long long>(server_forecast_ids_max));
    }
    // Blocks of one size are named where both servers have it.
    if (plan.dual && forecast_blocks(workload, flags, run.server, Side::b, plan.against_cached) !=
                         workload.server_block) {
        workload.server_block.reset();
    }
    return exit_done;
}

std::int64_t longest_row(const Trace& trace, const Plan& plan) {
    std::int64_t longest = 0;
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        const bool is_known = row.input_length > 0;  // else a recorded request, in words
        longest = std::max(longest, is_known ? std::int64_t{row.input_length} + row.output_length
                                             : std::int64_t{0});
    }
    return longest;
}

namespace {

/// What a model takes, in tokens; -1: not known.
struct ModelRoom {
    std::int64_t context = -1;  ///< prompt and output together
    std::int64_t input = -1;    ///< the prompt alone
};

}  // namespace

/// Refuses rows that do not fit the model, before anything is sent; if its room is unknown, it
/// refuses nothing. Prints what the longest row needs.
static int check_context(const Workload& workload, ModelRoom room) {
    const std::int64_t longest = longest_row(workload.trace, workload.plan);
    const auto too_long = [&](const Planned& planned) {
        const TraceRow& row = workload.trace.rows[planned.row];
        const bool is_long = (room.context >= 0 &&
                              std::int64_t{row.input_length} + row.output_length > room.context) ||
                             (room.input >= 0 && row.input_length > room.input);
        return is_long && !planned.is_to_second();
    };
    const std::vector<Planned>& rows = workload.plan.rows;
    const auto count = std::count_if(rows.begin(), rows.end(), too_long);
    if (count == 0) {
        const bool known = room.context >= 0 || room.input >= 0;
        if (longest == 0) {
            print_line(
                "server: no length of a row is known, so none is held against the model's "
                "context");
            return exit_done;
        }
        std::printf(known
                        ? "server: the longest row needs %lld tokens of the model's context\n"
                        : "server: the model's context length is not known; the longest row needs "
                          "%lld tokens\n",
                    static_cast<long long>(longest));
        return exit_done;
    }
    const TraceRow& first =
        workload.trace.rows[std::find_if(rows.begin(), rows.end(), too_long)->row];
    const bool by_input =
        room.context < 0 || std::int64_t{first.input_length} + first.output_length <= room.context;
    return refuse(exit_input,
                  "driftless: %lld rows do not fit the model's %s of %lld tokens, the first at "
                  "line %u (%u in, %u out); serve a longer context, or %s",
                  static_cast<long long>(count), by_input ? "longest prompt" : "context",
                  static_cast<long long>(by_input ? room.input : room.context), first.line,
                  first.input_length, first.output_length,
                  by_input ? "select other rows with --start, --end and --limit"
                           : ("leave their session trees out with --max-context " +
                              std::to_string(room.context))
                                 .c_str());
}

/// What a server that refuses shorter answers than `least` tokens means for the rows; empty:
/// nothing.
static std::string short_answers_warning(OutputRule output, const Workload& workload,
                                         std::uint32_t least) {
    const std::vector<Planned>& rows = workload.plan.rows;
    const auto asks_for_less = [&](const Planned& planned) {
        const std::uint32_t asked = workload.trace.rows[planned.row].output_length;
        return asked > 0 && asked < least && !planned.is_to_second();
    };
    const auto count =
        output == OutputRule::free ? 0 : std::count_if(rows.begin(), rows.end(), asks_for_less);
    return count == 0 ? ""
                      : std::to_string(count) + " of " + std::to_string(workload.plan.rows_once()) +
                            " rows ask for fewer than the " + std::to_string(least) +
                            " tokens that the server accepted in the preflight, and may be "
                            "refused; --output free asks for no length";
}

/// What is lost if `overhead` tokens are assumed to be all in front of the prompt and are not: one
/// line, with the flag that sets the split; empty: nothing.
static std::string split_warning(const Workload& workload, const Overhead& overhead,
                                 bool templated) {
    const std::vector<Planned>& rows = workload.plan.rows;
    const auto sharing = std::count_if(rows.begin(), rows.end(), [](const Planned& planned) {
        return planned.expected_cached_tokens > 0 && !planned.is_to_second();
    });
    if (sharing == 0) {
        return "";
    }
    const std::uint32_t around = overhead.pre + overhead.post;
    const std::string tokens = std::to_string(around);
    const std::string in_front = overhead.post > 0 ? std::to_string(overhead.pre) + " are"
                                 : around == 1     ? "it is"
                                                   : "all " + tokens + " are";
    return "the server counts " + tokens + (templated ? " template" : "") +
           (around == 1 ? " token" : " tokens") +
           " around a prompt and does not show how many of them come first; " + in_front +
           " assumed to come first, so cache blocks may be shifted by up to " +
           counted(around, "token", "tokens") + ", and each of the " + std::to_string(sharing) +
           " rows (of " + std::to_string(workload.plan.rows_once()) +
           ") that share a prefix may miss one; --overhead PRE,POST with PRE+POST = " + tokens +
           " sets the split" +
           (templated ? "; --tokenizer with the model's folder finds it if the chat template there "
                        "is a common one"
                      : "");
}

int check_rows(Replay& run) {
    if (!run.options().server.preflight) {
        return exit_done;
    }
    const RequestFlags& request = run.options().request;
    const PreflightFindings& found = run.server.findings;
    if (const int code = check_context(run.workload, {found.max_model_len, found.max_input_tokens});
        code != exit_done) {
        return code;
    }
    const auto warn = [&run](const char* where, const std::string& text) {
        if (!text.empty()) {
            complain("driftless: warning: %s", (where + text).c_str());
            run.warnings.push_back("warning: " + (where + text));
        }
    };
    const auto warn_of_split = [&](const PreflightFindings& of, const char* where) {
        if (split_unknown(of)) {
            warn(where, split_warning(run.workload, of.overhead, request.dialect->templated));
        }
    };
    warn_of_split(found, "");
    if (run.server.against) {
        warn_of_split(*run.server.against, "--against: ");
    }
    warn("", short_answers_warning(request.output, run.workload, found.least_answer));
    return exit_done;
}

PromptOptions prompt_options(const Invocation& invocation, const Server& server, Side side) {
    const ReplayOptions& options = invocation.options;
    PromptOptions prompt;
    prompt.seed = options.workload.plan.seed;
    prompt.cache_salt = invocation.cache_salt;
    prompt.kind = server.prompt;
    prompt.overhead = findings_of(server, side).overhead;
    prompt.ids_from = options.prompts.ids_from;
    prompt.block_cache_bytes = options.prompts.block_cache_bytes;
    prompt.corpus = server.words.text ? &server.words.text->corpus : nullptr;
    return prompt;
}

/// Of an answer whose length the trace does not say, for the memory of those behind it.
static constexpr std::uint32_t tokens_unknown = 2048;

/// Of rows with models of their own it goes on behind the opening of each.
static Result<BodyFrame> frame_of(const Dialect& dialect, const Workload& workload,
                                  const BodySpec& body) {
    Result<BodyFrame> frame = dialect.frame(body);
    if (frame && !workload.models.empty()) {
        const std::string opening = RowModels::opening(body.model);
        CHECK(frame.value().before.starts_with(opening));
        frame.value().before.erase(0, opening.size());
    }
    return frame;
}

static std::vector<RequestHead> heads_of(const Invocation& invocation) {
    const RequestFlags& request = invocation.options.request;
    std::vector<RequestHead> heads;
    for (const ReplayTarget& target : invocation.options.server.targets) {
        RequestHeadSpec spec;
        spec.target = target.api_path;
        spec.host = host_header(target.url);
        spec.headers = invocation.credentials.headers;
        heads.emplace_back(spec);
    }
    if (heads.empty()) {  // a dry run without a server
        RequestHeadSpec spec;
        spec.target = path_of(*request.dialect, request.stream);
        spec.host = "localhost";
        heads.emplace_back(spec);
    }
    return heads;
}

static PromptOptions prompts_of(const Workload& workload, PromptOptions options) {
    options.shared_blocks = workload.shared_blocks;
    return options;
}

static RowFields row_fields_of(const RequestFlags& request, const Workload& workload,
                               ShardPlace place) {
    InputErrors errors;
    RowFields fields(request.row_headers, workload.trace, workload.plan, errors, place);
    CHECK(errors.empty());  // check_row_templates would have stopped us
    return fields;
}

static RowBodies row_bodies_of(const RequestFlags& request, const Workload& workload,
                               const BodySpec& body) {
    InputErrors errors;
    const std::string opening =
        workload.models.empty() ? std::string() : RowModels::opening(body.model);
    RowBodies bodies({*request.dialect, body, request.row_body, opening}, workload.trace,
                     workload.plan, errors);
    CHECK(errors.empty());
    return bodies;
}

OrExit<std::unique_ptr<ReplayParts>> ReplayParts::make(const Invocation& invocation,
                                                       const Workload& workload,
                                                       const Server& server, ShardPlace engine) {
    Result<BodyFrame> frame = frame_of(*invocation.options.request.dialect, workload, server.body);
    Result<BodyFrame> against = !server.against ? Result<BodyFrame>(BodyFrame())
                                                : frame_of(*invocation.options.request.dialect,
                                                           workload, body_of(server, Side::b));
    if (!frame || !against) {
        return fail_host("bodies", frame ? against.error() : frame.error());
    }
    return std::unique_ptr<ReplayParts>(new ReplayParts(invocation, workload, server, engine,
                                                        std::move(frame).value(),
                                                        std::move(against).value()));
}

ReplayParts::ReplayParts(const Invocation& invocation, const Workload& workload,
                         const Server& server, ShardPlace engine, BodyFrame frame,
                         BodyFrame against_frame)
    : invocation_(invocation),
      workload_(workload),
      server_(server),
      words_(&words_for(server, invocation.options.prompts.ids_from, ids_)),
      prompts_(workload.trace, *words_, prompts_of(workload, prompt_options(invocation, server))),
      heads_(heads_of(invocation)),
      frame_(std::move(frame)),
      against_frame_(std::move(against_frame)),
      place_(engine.within(workload.share ? workload.share->place : ShardPlace())),
      row_fields_(row_fields_of(invocation.options.request, workload, place_)),
      row_bodies_(row_bodies_of(invocation.options.request, workload, server.body)) {
    if (server.against) {
        against_row_bodies_ =
            row_bodies_of(invocation.options.request, workload, body_of(server, Side::b));
    }
    if (server.against && server.against->overhead != server.findings.overhead) {
        against_prompts_.emplace(workload.trace, *words_,
                                 prompts_of(workload, prompt_options(invocation, server, Side::b)));
    }
}

int make_parts(Replay& run) {
    return keep(ReplayParts::make(run.invocation, run.workload, run.server), run.parts);
}

AgainstForm ReplayParts::against() {
    if (!server_.against) {
        return {};
    }
    return {against_prompts_ ? &*against_prompts_ : &prompts_, &against_frame_,
            against_row_bodies_.empty() ? nullptr : &against_row_bodies_};
}

Result<void> RequestPass::open(const Replies* replies) {
    const ReplayOptions& options = parts_.invocation().options;
    const Workload& workload = parts_.workload();
    ArmerOptions arm;
    arm.run_id = run_id_;
    arm.targets = parts_.heads().size();
    arm.balance = options.sending.balance;
    arm.positions = positions_;
    arm.traceparent = options.request.traceparent;
    arm.row_models = workload.models.empty() ? nullptr : &workload.models;
    arm.row_fields = &parts_.row_fields();
    arm.row_bodies = parts_.row_bodies();
    arm.place = parts_.place();
    arm.replies = replies;
    arm.against = parts_.against();
    for (const ReplayTarget& target : options.server.targets) {
        arm.for_tls = arm.for_tls || target.url.tls;
    }
    const std::size_t rows = plan_.rows.size();
    if (options.sending.arm_ahead.all) {
        arm.armed_max = static_cast<std::uint32_t>(std::bit_ceil(rows));
    }
    armer_.emplace(workload.trace, schedule_, parts_.prompts(), bodies_, parts_.heads(),
                   parts_.frame(), arm);
    std::vector<std::size_t> history(workload.trace.rows.size(), 0);
    if (replies != nullptr) {
        history = history_room(workload.trace, *workload.live, tokens_unknown);
    }
    std::size_t largest = 0;
    std::size_t all = 0;
    std::vector<std::size_t> rooms(rows);
    for (std::uint32_t planned = 0; planned < rows; ++planned) {
        const std::uint32_t row = plan_.rows[planned].row;
        const std::size_t own = armer_->room_of(row);
        // What was said before may take half of all memory, and the rest of a body the other half.
        const std::size_t room = replies == nullptr ? own : 2 * std::max(own, history[row]);
        largest = std::max(largest, room);
        rooms[planned] = std::bit_ceil(std::max(room, BodyPool::leaf_bytes));
        all += rooms[planned];
    }
    if (!options.sending.arm_ahead.all) {
        // Answers may be longer than recorded ones.
        const std::size_t wanted = replies != nullptr ? body_bytes_max : all;
        const std::size_t kept = std::max(largest, std::min(body_bytes_max, wanted));
        // No more bodies are held than rows may be in flight; rows that wait for others have no
        // due instant yet.
        if (!workload.waiting) {
            const std::uint64_t most = options.sending.inflight_max.value_or(UINT32_MAX);
            shortage_ = bodies_warning(
                std::min(most_within(plan_, rooms, bodies_turnover_ns), most * largest), kept);
        }
        return bodies_.open(kept, largest);
    }
    if (all > available_memory() / 2) {
        return Error{ErrorCode::too_large, 0,
                     "hold all bodies in half of the free memory; remove --arm-ahead all"};
    }
    return bodies_.open(all, largest);
}

}  // namespace driftless
