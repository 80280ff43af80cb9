#include "engine/live/replies.hpp"

#include <algorithm>

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

std::uint32_t Replies::padding(const Due& due) const {
    const TurnReply& reply = behind(due);
    return live_.of(due.row).pad_at > 0 && reply.knows_length
               ? static_cast<std::uint32_t>(std::max(reply.short_by, 0))
               : 0;
}

std::size_t Replies::added_bytes(const Due& due) const {
    return behind(due).bytes + 1 + live_.pad_word.size() * padding(due);
}

Spliced Replies::body_of(const Due& due) const {
    const TurnReply& reply = behind(due);
    const LiveTurn& turn = live_.of(due.row);
    const std::string_view body = trace_.body_of(trace_.rows[due.row]);
    const std::size_t pad_at = turn.pad_at > 0 ? turn.pad_at : turn.messages_end;
    Spliced whole(body.substr(0, turn.before_at));
    whole.add({reply.history, reply.bytes});
    whole.add(",");
    whole.add(body.substr(turn.before_at, pad_at - turn.before_at));
    whole.add(live_.pad_word, padding(due));
    whole.add(body.substr(pad_at));
    return whole;
}

}  // namespace driftless
