/// TokenBudgets: how many tokens may leave in a time (--budget-input, --budget-output).
///
/// Each is a bucket of the tokens of one period, full at the begin, refilled evenly. A request may
/// leave while every bucket is above 0, and takes its tokens when it leaves; that may leave a
/// bucket below 0, so that a request of any size passes, and those behind it wait for as long as
/// its tokens take. In any time T no more leaves than the bucket, what T refills, and what the last
/// request has of its own.
///
/// Plain values, owned by the lanes' parts. They read no clock and hold nobody back: the pacer
/// asks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/replay/settings.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

/// One bucket, by the instant at which it is full again: exact to the nanosecond, however many
/// requests take of it.
class TokenBucket {
  public:
    explicit TokenBucket(const TokenRate& rate) : rate_(rate) {}

    /// It is above 0 from here on; before this it is not. The past where it has no bound.
    Instant opens() const { return rate_.tokens == 0 ? Instant{INT64_MIN / 2} : opens_; }
    void take(std::uint64_t tokens, Instant at);
    /// It is full from here on, if nobody takes any: what would come then is lost.
    Instant overflows() const { return opens() + rate_.period; }

  private:
    const TokenRate rate_;
    Instant opens_{INT64_MIN / 2};
    std::uint64_t part_ = 0;  ///< of a nanosecond: so many `rate_.tokens`-ths of it are to be added
};

class TokenBudgets {
  public:
    explicit TokenBudgets(const BudgetRules& rules)
        : rules_(rules), input_(rules.input), output_(rules.output) {}

    bool any() const { return rules_.any(); }

    /// What is asked of them from here on is meant of this instant.
    void look(Instant now) { now_ = now; }
    /// A request may leave.
    bool open() const { return opens() <= now_; }
    /// When it may, if none leaves before.
    Instant opens() const { return std::max(input_.opens(), output_.opens()); }

    /// When the bucket that has to be waited for is full.
    Instant overflows() const {
        return input_.opens() > output_.opens() ? input_.overflows() : output_.overflows();
    }

    /// A request of so many tokens leaves; of its input an unlimited prefix cache holds `cached`.
    void take(std::uint32_t input, std::uint32_t cached, std::uint32_t output, Instant at);

  private:
    const BudgetRules rules_;
    TokenBucket input_;
    TokenBucket output_;
    Instant now_;
};

}  // namespace driftless
