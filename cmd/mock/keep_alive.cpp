#include "cmd/mock/keep_alive.hpp"

namespace driftless::mock {

void KeepAlive::open(Instant now) {
    answered_ = 0;
    begin_idle(now);
}

void KeepAlive::begin_idle(Instant now) {
    const Duration limit = options_.keep_alive_timeout;
    idle_ends_ = limit.ns == 0 ? never : now + limit;
}

bool KeepAlive::is_last() const {
    const std::uint32_t limit = options_.keep_alive_requests;
    return limit != 0 && answered_ + 1 >= limit;
}

void KeepAlive::announce(Reply& reply) const {
    if (options_.announce_keep_alive) {
        reply.timeout_s =
            static_cast<std::uint32_t>(options_.keep_alive_timeout.ns / seconds(1).ns);
        reply.answers_max = options_.keep_alive_requests;
    }
}

}  // namespace driftless::mock
