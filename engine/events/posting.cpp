#include "engine/events/posting.hpp"

#include <utility>

namespace driftless {

Task<void> Posting::ask() {
    Result<Reply> answer =
        co_await inquiry_.ask(event_.address, event_.tls, event_.request, AskLimits(limit_));
    answer_.emplace(std::move(answer));
}

}  // namespace driftless
