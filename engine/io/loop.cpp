#include "engine/io/loop.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {
// A turn of a plain loop does a bounded amount of each kind of work before it looks at the clock.
constexpr std::size_t resumes_max = 256;
constexpr std::size_t timers_max = 256;
}  // namespace

bool Loop::turn(Instant until, Wait wait) {
    jobs_.reap();
    const std::size_t resumed = ready_.run(resumes_max);
    const std::size_t expired = timers_.expire(driver_.now(), timers_max);
    const bool busy = resumed + expired > 0 || !ready_.empty();
    Turn turn;
    turn.until = std::min(until, timers_.next());
    turn.wait = busy ? Wait::none : wait;
    const TurnResult result = driver_.turn(turn);
    CHECK(result.completions <= turn.completions_max);
    return busy || result.completions > 0;
}

}  // namespace driftless
