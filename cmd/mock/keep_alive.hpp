/// KeepAlive: how long a connection is kept: for how many answers, and how long it may be idle.
#pragma once

#include <cstdint>

#include "cmd/mock/core_options.hpp"
#include "cmd/mock/pages.hpp"
#include "engine/time/instant.hpp"

namespace driftless::mock {

class KeepAlive {
  public:
    /// The limits are those of the options, which outlive this.
    explicit KeepAlive(const CoreOptions& options) : options_(options) {}

    /// A new connection.
    void open(Instant now);
    /// From here on the connection is idle, for as long as the limit allows.
    void begin_idle(Instant now);
    /// The peer has begun to ask something.
    void end_idle() { idle_ends_ = never; }
    /// The connection is closed then, unless it has been asked something.
    Instant idle_ends() const { return idle_ends_; }

    void count_answer() { ++answered_; }
    /// Answers on this connection.
    std::uint32_t answered() const { return answered_; }
    /// Whether the next answer is the last one, if the peer does not end the connection.
    bool is_last() const;
    /// Writes the limits into a reply, where they are announced.
    void announce(Reply& reply) const;

  private:
    const CoreOptions& options_;
    std::uint32_t answered_ = 0;
    Instant idle_ends_ = never;
};

}  // namespace driftless::mock
