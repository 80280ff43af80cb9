#include "cmd/replay/run/parts.hpp"

#include <algorithm>
#include <bit>

#include "cmd/replay/run/needs.hpp"
#include "engine/host/host.hpp"
#include "proto/core/check.hpp"

namespace driftless {

PromptOptions prompt_options(const ReplayOptions& options, const Server& server) {
    PromptOptions prompt;
    prompt.seed = options.plan.seed;
    prompt.cache_salt = options.cache_salt;
    prompt.kind = server.prompt;
    prompt.overhead = server.findings.overhead;
    prompt.ids_from = options.ids_from;
    prompt.block_cache_bytes = options.block_cache_bytes;
    prompt.corpus = server.text ? &server.text->corpus : nullptr;
    return prompt;
}

ReplayParts::ReplayParts(const ReplayOptions& options, const Workload& workload, const Plan& plan,
                         const Server& server, const std::string& run_id)
    : options_(options), workload_(workload), plan_(plan), server_(server), run_id_(run_id) {
    words_ = &words_for(server, options.ids_from, ids_);
    prompts_.emplace(workload.trace, *words_, prompt_options(options, server));
    for (const ReplayTarget& target : options.targets) {
        RequestHeadSpec spec;
        spec.target = target.api_path;
        spec.host = host_header(target.url);
        spec.headers = options.headers;
        heads_.emplace_back(spec);
    }
    if (heads_.empty()) {  // a dry run without a server
        RequestHeadSpec spec;
        spec.target = path_of(*options.dialect, options.stream);
        spec.host = "localhost";
        heads_.emplace_back(spec);
    }
}

Result<void> ReplayParts::open() {
    Result<BodyFrame> frame = options_.dialect->frame(server_.body);
    if (!frame) {
        return frame.error();
    }
    frame_ = std::move(frame).value();
    if (!workload_.models.empty()) {  // it goes on behind the opening of each row
        const std::string opening = RowModels::opening(server_.body.model);
        CHECK(frame_.before.starts_with(opening));
        frame_.before.erase(0, opening.size());
    }
    ArmerOptions arm;
    arm.run_id = run_id_;
    arm.targets = heads_.size();
    arm.balance = options_.balance;
    arm.traceparent = options_.traceparent;
    arm.row_models = workload_.models.empty() ? nullptr : &workload_.models;
    InputErrors errors;
    row_fields_ = RowFields(options_.row_headers, workload_.trace, plan_, errors);
    CHECK(errors.empty());  // check_row_headers would have stopped us
    arm.row_fields = &row_fields_;
    for (const ReplayTarget& target : options_.targets) {
        arm.for_tls = arm.for_tls || target.url.tls;
    }
    const std::size_t rows = plan_.rows.size();
    if (options_.arm_ahead.all) {
        arm.armed_max = static_cast<std::uint32_t>(std::bit_ceil(rows));
    }
    schedule_.emplace(plan_);
    armer_.emplace(workload_.trace, *schedule_, *prompts_, bodies_, heads_, frame_, arm);
    std::size_t largest = 0;
    std::size_t all = 0;
    std::vector<std::size_t> rooms(rows);
    for (std::uint32_t planned = 0; planned < rows; ++planned) {
        const std::size_t room = armer_->room_of(plan_.rows[planned].row);
        largest = std::max(largest, room);
        rooms[planned] = std::bit_ceil(std::max(room, BodyPool::leaf_bytes));
        all += rooms[planned];
    }
    if (!options_.arm_ahead.all) {
        const std::size_t kept = std::max(largest, std::min(body_bytes_max, all));
        shortage_ = bodies_warning(bytes_within(plan_, rooms, bodies_turnover_ns), kept);
        return bodies_.open(kept, largest);
    }
    if (all > available_memory() / 2) {
        return Error{ErrorCode::too_large, 0,
                     "hold all bodies in half of the free memory; leave --arm-ahead at its window"};
    }
    return bodies_.open(all, largest);
}

}  // namespace driftless
