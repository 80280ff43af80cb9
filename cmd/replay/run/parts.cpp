#include "cmd/replay/run/parts.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "cmd/folders.hpp"
#include "cmd/replay/run/needs.hpp"
#include "engine/host/host.hpp"
#include "proto/core/check.hpp"

namespace driftless {

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

namespace {

/// Of an answer whose length the trace does not say, for the memory of those behind it.
constexpr std::uint32_t tokens_unknown = 2048;

/// Of rows with models of their own it goes on behind the opening of each.
Result<BodyFrame> frame_of(const Dialect& dialect, const Workload& workload, const BodySpec& body) {
    Result<BodyFrame> frame = dialect.frame(body);
    if (frame && !workload.models.empty()) {
        const std::string opening = RowModels::opening(body.model);
        CHECK(frame.value().before.starts_with(opening));
        frame.value().before.erase(0, opening.size());
    }
    return frame;
}

std::vector<RequestHead> heads_of(const Invocation& invocation) {
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

PromptOptions prompts_of(const Workload& workload, PromptOptions options) {
    options.shared_blocks = workload.shared_blocks;
    return options;
}

RowFields row_fields_of(const RequestFlags& request, const Workload& workload, ShardPlace place) {
    InputErrors errors;
    RowFields fields(request.row_headers, workload.trace, workload.plan, errors, place);
    CHECK(errors.empty());  // check_row_templates would have stopped us
    return fields;
}

RowBodies row_bodies_of(const RequestFlags& request, const Workload& workload,
                        const BodySpec& body) {
    InputErrors errors;
    const std::string opening =
        workload.models.empty() ? std::string() : RowModels::opening(body.model);
    RowBodies bodies({*request.dialect, body, request.row_body, opening}, workload.trace,
                     workload.plan, errors);
    CHECK(errors.empty());
    return bodies;
}

}  // namespace

OrExit<std::unique_ptr<ReplayParts>> ReplayParts::make(const Invocation& invocation,
                                                       const ServedWorkload& served,
                                                       const Server& server, ShardPlace engine) {
    Result<BodyFrame> frame =
        frame_of(*invocation.options.request.dialect, served.workload, server.body);
    Result<BodyFrame> against = !server.against
                                    ? Result<BodyFrame>(BodyFrame())
                                    : frame_of(*invocation.options.request.dialect, served.workload,
                                               body_of(server, Side::b));
    if (!frame || !against) {
        return fail_host("bodies", frame ? against.error() : frame.error());
    }
    return std::unique_ptr<ReplayParts>(new ReplayParts(
        invocation, served, server, engine, std::move(frame).value(), std::move(against).value()));
}

ReplayParts::ReplayParts(const Invocation& invocation, const ServedWorkload& served,
                         const Server& server, ShardPlace engine, BodyFrame frame,
                         BodyFrame against_frame)
    : invocation_(invocation),
      served_(served),
      server_(server),
      words_(&words_for(server, invocation.options.prompts.ids_from, ids_)),
      prompts_(served.workload.trace, *words_,
               prompts_of(served.workload, prompt_options(invocation, server))),
      heads_(heads_of(invocation)),
      frame_(std::move(frame)),
      against_frame_(std::move(against_frame)),
      place_(engine.within(served.workload.share ? served.workload.share->place : ShardPlace())),
      row_fields_(row_fields_of(invocation.options.request, served.workload, place_)),
      row_bodies_(row_bodies_of(invocation.options.request, served.workload, server.body)) {
    if (server.against) {
        against_row_bodies_ =
            row_bodies_of(invocation.options.request, served.workload, body_of(server, Side::b));
    }
    if (server.against && server.against->findings.overhead != server.findings.overhead) {
        against_prompts_.emplace(
            served.workload.trace, *words_,
            prompts_of(served.workload, prompt_options(invocation, server, Side::b)));
    }
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
        history = history_room(workload.trace, *parts_.served().live, tokens_unknown);
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
        // Answers may be longer than anybody has recorded.
        const std::size_t wanted = replies != nullptr ? body_bytes_max : all;
        const std::size_t kept = std::max(largest, std::min(body_bytes_max, wanted));
        // No more bodies are held than rows may be in flight; rows that wait for others have no
        // due instant yet.
        if (!workload.waiting) {
            const std::uint64_t most = options.sending.inflight_max.value_or(UINT32_MAX);
            shortage_ = bodies_warning(
                std::min(bytes_within(plan_, rooms, bodies_turnover_ns), most * largest), kept);
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
