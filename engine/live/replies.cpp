#include "engine/live/replies.hpp"

#include "proto/core/check.hpp"

namespace driftless {

const TurnReply* Replies::take() {
    TurnReply reply;
    if (!ring_.pop(reply)) {
        return nullptr;
    }
    CHECK(reply.request < by_request_.size());
    by_request_[reply.request] = reply;
    return &by_request_[reply.request];
}

const TurnReply& Replies::behind(const Due& due) const {
    const std::uint32_t back = live_.of(due.row).back;
    CHECK(goes_on(due) && due.request >= back);
    const TurnReply& reply = by_request_[due.request - back];
    CHECK(reply.history != nullptr && reply.pass == due.pass);
    return reply;
}

std::size_t Replies::added_bytes(const Due& due) const {
    const TurnReply& reply = behind(due);
    return reply.bytes + 1 + live_.pad_word.size() * live_.words_for(due.row, reply.short_by);
}

Spliced Replies::body_of(const Due& due) const {
    const TurnReply& reply = behind(due);
    const LiveTurn& turn = live_.of(due.row);
    const std::string_view body = trace_.body_of(trace_.rows[due.row]);
    Spliced whole(body.substr(0, turn.before_at));
    whole.add({reply.history, reply.bytes});
    whole.add(",");
    whole.add(live_.own_messages(due.row, body, live_.words_for(due.row, reply.short_by)));
    whole.add(body.substr(turn.messages_end));
    return whole;
}

}  // namespace driftless
