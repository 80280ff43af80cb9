#include "engine/replay/token_budgets.hpp"

#include "proto/core/check.hpp"

namespace driftless {

// It is above 0 while less than a period is missing until it is full: from one nanosecond behind
// the instant that lies a period before that.
void TokenBucket::take(std::uint64_t tokens, Instant at) {
    if (rate_.tokens == 0) {
        return;
    }
    CHECK(opens_ <= at);
    const Instant empty_if_full = at - rate_.period + Duration{1};  // nothing was missing
    if (opens_ < empty_if_full) {
        opens_ = empty_if_full;
        part_ = 0;
    }
    const auto period = static_cast<unsigned __int128>(rate_.period.ns);
    const unsigned __int128 parts = tokens * period + part_;
    const unsigned __int128 ns = parts / rate_.tokens;
    const auto most = static_cast<unsigned __int128>((never - opens_).ns);
    opens_ = ns < most ? opens_ + Duration{static_cast<std::int64_t>(ns)} : never;
    part_ = static_cast<std::uint64_t>(parts % rate_.tokens);
}

void TokenBudgets::take(std::uint32_t input, std::uint32_t cached, std::uint32_t output,
                        Instant at) {
    input_.take(rules_.uncached ? input - std::min(input, cached) : input, at);
    output_.take(output, at);
}

}  // namespace driftless
