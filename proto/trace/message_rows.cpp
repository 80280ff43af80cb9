#include "proto/trace/message_rows.hpp"

#include <algorithm>

namespace driftless {

MessageTail& MessageRows::tail(std::uint32_t session) {
    tails_.resize(std::max<std::size_t>(tails_.size(), std::size_t{session} + 1));
    return tails_[session];
}

std::string_view MessageRows::note(std::uint32_t session, RowWords words) {
    const bool delta = words == RowWords::delta;
    if (session != no_session) {
        MessageTail& last = tail(session);
        if (last.begun && last.deltas != delta) {
            return delta ? "comes after rows of its session that have more than new messages"
                         : "comes after rows of its session that have only new messages";
        }
        last.begun = true;
        last.deltas = delta;
        last.list_bytes = words == RowWords::none ? 0 : last.list_bytes;
    }
    if ((delta && histories_) || (deltas_ && words == RowWords::history)) {
        return delta ? "has only new messages, while other rows have whole conversations"
                     : "has a whole conversation, while other rows have only new messages";
    }
    histories_ = histories_ || words == RowWords::history;
    deltas_ = deltas_ || delta;
    return "";
}

}  // namespace driftless
