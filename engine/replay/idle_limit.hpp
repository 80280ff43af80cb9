/// IdleLimit: how long a server lets a connection stand idle, as it says in its answers
/// (`Keep-Alive: timeout=`) or as its closes have shown. A value; one per URL. It closes nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/time/instant.hpp"
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
    /// The server ended a connection that had been idle for so long. Sooner than `seen_min` it was
    /// no idle timer: such a server is restarted, or overloaded.
    void see_close(Duration idle) {
        if (idle >= seen_min) {
            limit = std::min(limit, idle);
        }
    }

    /// A connection that has been idle for so long is to be replaced: its close may cross what is
    /// sent on it. Clients of servers with 5 s (uvicorn, Node, llama-server) take 4 s.
    Duration replaced_after() const { return limit - room(); }
    /// ... and carries nothing more from here on.
    Duration closed_after() const { return limit - Duration{room().ns / 2}; }

    static constexpr Duration seen_min = milliseconds(500);

  private:
    Duration room() const {
        return known() ? Duration{std::min(seconds(1).ns, limit.ns / 4)} : Duration{0};
    }
};

}  // namespace driftless
