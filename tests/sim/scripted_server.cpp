#include "tests/sim/scripted_server.hpp"

#include <charconv>

#include "cmd/mock/engine_model.hpp"
#include "proto/core/hash.hpp"

namespace driftless::sim {

void ScriptedServer::receive(std::string_view bytes) {
    while (true) {  // ends: every step consumes bytes or ends a request
        const RequestParser::Step step = parser_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        switch (step.piece) {
            case RequestPiece::need_more:
            case RequestPiece::error:
                return;
            case RequestPiece::head_done:
                choose();
                break;
            case RequestPiece::body:
                break;
            case RequestPiece::done:
                phase_ = answer_->early ? phase_ : Phase::due;
                parser_.reset();
                break;
        }
    }
}

void ScriptedServer::choose() {
    const std::string_view id = parser_.header("X-Request-Id");
    const std::optional<std::uint64_t> row = mock::row_of_request_id(id);
    row_ = row ? std::optional(static_cast<std::uint32_t>(*row)) : std::nullopt;
    answer_ = &(*script_.answers)[pick(id)];
    phase_ = answer_->early ? Phase::due : Phase::listening;
}

std::uint64_t ScriptedServer::pick(std::string_view request_id) const {
    const std::uint64_t answers = script_.answers->size();
    if (!script_.in_turn) {
        return Random(mix64(script_.seed ^ row_.value_or(0))).below(answers);
    }
    std::uint64_t number = 0;
    request_id.remove_prefix(request_id.rfind('-') + 1);
    (void)std::from_chars(request_id.data(), request_id.data() + request_id.size(), number);
    return (number + answers - 1) % answers;
}

std::optional<std::string_view> ScriptedServer::say() {
    switch (phase_) {
        case Phase::listening:
            return std::nullopt;
        case Phase::due:
            phase_ = answer_->again.empty() ? Phase::listening : Phase::going_on;
            return answer_->wire;
        case Phase::going_on:
            return answer_->again;
    }
    return std::nullopt;
}

std::optional<Duration> ScriptedServer::goes_on_after() const {
    return phase_ == Phase::going_on ? std::optional(answer_->pause) : std::nullopt;
}

}  // namespace driftless::sim
