/// IdleLimit: how long a server lets a connection stand idle, as it says in its answers
/// (`Keep-Alive: timeout=`) or as its closes have shown. A value; one per URL. It closes nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/time/instant.hpp"
#include "proto/core/check.hpp"
#include "proto/http/keep_alive.hpp"

namespace driftless {

struct IdleLimit {
    Duration limit{INT64_MAX};  ///< the smallest that was said or seen

    bool known() const { return limit.ns != INT64_MAX; }

    void hear(const KeepAliveLimits& said) {
        if (said.timeout_s && *said.timeout_s > 0) {  // 0: this one is not used again, that is all
            limit = std::min(limit, seconds(*said.timeout_s));
        }
    }
    /// The server ended a connection that had been idle for so long. An idle timer does so again
    /// and again: one close, or many at one instant, may be those of a restart, and sooner than
    /// `seen_min` no server's timer ends.
    void see_close(Duration idle, Instant now) {
        if (idle < seen_min || idle >= limit) {
            return;
        }
        const auto [least, most] = std::minmax(idle.ns, close_idle_.ns);
        if (most - least > most / 4) {  // nothing that was seen before says the same
            close_idle_ = idle;
            close_at_ = now;
            return;
        }
        CHECK(least >= seen_min.ns);
        close_idle_.ns = least;
        if (now - close_at_ >= apart_min) {
            limit.ns = least;
        }
    }

    /// A connection that has been idle for so long is to be replaced: its close may cross what is
    /// sent on it. Clients of servers with 5 s (uvicorn, Node, llama-server) take 4 s.
    Duration replaced_after() const { return limit - room(); }
    /// ... and carries nothing more from here on.
    Duration closed_after() const { return limit - Duration{room().ns / 2}; }

    static constexpr Duration seen_min = milliseconds(500);
    static constexpr Duration apart_min = milliseconds(500);  ///< two closes that count as two

  private:
    Duration close_idle_{0};  ///< shortest idle time of the closes that agree
    Instant close_at_;        ///< the first of them

    Duration room() const {
        return known() ? Duration{std::min(seconds(1).ns, limit.ns / 4)} : Duration{0};
    }
};

}  // namespace driftless
