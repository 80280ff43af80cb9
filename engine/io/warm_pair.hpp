/// WarmPair: a private pair of TCP sockets over loopback. A byte sent through it brings the
/// kernel's sending path into the caches shortly before a fire that would find it cold. Nobody else
/// sees it.
#pragma once

#include <cstdint>

#include "engine/io/op.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class WarmPair {
  public:
    WarmPair() = default;
    ~WarmPair();
    WarmPair(const WarmPair&) = delete;
    WarmPair& operator=(const WarmPair&) = delete;

    /// Errors: exhausted (descriptors or ports), denied, io_failed.
    Result<void> open();
    bool is_open() const { return sender_.open(); }
    /// One byte there: 5 to 15 us, never blocks. Now and then what has arrived is thrown away.
    /// CHECK: the pair is open.
    void send();
    std::uint64_t sends() const { return sends_; }
    /// Bytes that wait at the other end.
    std::uint64_t unread() const;

    static constexpr std::uint64_t drain_every = 256;

  private:
    Result<void> connect_to(Socket listener);

    Socket sender_;
    Socket receiver_;
    std::uint64_t sends_ = 0;
};

}  // namespace driftless
