/// HostDriver: what the drivers of this host share, however completions come to them: the
/// operations in flight, the clocks, the kernel's stamps, and what is done to sockets at once,
/// without an operation. UringDriver and EpollDriver are made of it; it moves no byte itself.
#pragma once

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

class HostDriver : public Driver {
  public:
    Instant now() final { return HostClocks::now(); }
    Result<Socket> open_socket(const Address& address) final { return make_stream_socket(address); }
    Result<Socket> listen(const Address& address, int backlog) final {
        return make_listening_socket(address, backlog);
    }
    Result<Address> local_address(Socket socket) final { return local_address_of(socket); }
    void shutdown(Socket socket) final;
    void close(Socket socket) override;
    StampSupport switch_on_stamps(Socket socket) final;
    bool stamps_waiting(Instant now) final;
    std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first) final;
    ClockSample sample_clock() final;
    std::int64_t suspended_ns() final { return clocks_.suspended_ns(); }
    /// By TCP_INFO: `tcpi_total_retrans`, `tcpi_unacked` and `tcpi_dsack_dups` (Linux 4.19).
    std::optional<ResendCounts> resent(Socket socket) final;
    void warm_send() final;
    std::uint32_t in_flight() const final { return slots_.in_flight(); }

  protected:
    HostDriver() = default;
    /// Whether a stamp or the warm pair is there, the facts say.
    void open_parts(const DriverOptions& options);

    /// Takes the operation. False where that was all: transmit stamps have ways of their own.
    bool take(Op& op);
    /// Completions have become visible: reads the clock that stamps them, before any byte is looked
    /// at.
    void stamp_batch();
    /// What all completions of a batch say; `is_cut`: more bytes may be behind those that it
    /// brings.
    Completion completion_of(const Op& op, std::int32_t result, bool is_cut) const;
    /// Features that every driver has follow those of `facts`.
    void add_facts(DriverFacts& facts) const;
    static std::string yes_no(bool yes) { return yes ? "yes" : "no"; }

    /// What spins does not fight its sibling for the core.
    static void pause_core() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    OpSlots slots_;
    HostClocks clocks_;
    TransmitStamps transmit_stamps_;
    UnreadWatch unread_;
    Instant stamp_;            ///< of the batch of completions that is told
    std::uint32_t batch_ = 0;  ///< its number
    DriverCounters counters_;

  private:
    StampSupport stamps_wanted_;
    Fd stamp_keeper_;
    WarmPair warm_pair_;
    Instant clock_set_{INT64_MIN};  ///< when we last saw that the kernel's clock had been set
    std::uint64_t clock_steps_ = 0;
};

}  // namespace driftless
