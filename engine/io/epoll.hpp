/// EpollDriver: the Driver over epoll, for hosts that forbid io_uring. One epoll set, made, used
/// and destroyed on one thread.
///
/// epoll tells that a socket can be read, io_uring what was read from it. So a look reads what can
/// be read into buffers of its own, `batch_max` pieces at most, and then reads the clock once: the
/// bytes of a batch were all there when it was stamped, however long the handlers of those before
/// take. Sockets that are left over keep their place in a line, and theirs is a later stamp.
///
/// Descriptors are watched edge-triggered. A transmit stamp on an error queue, which epoll reports
/// as long as it lies there (EPOLLERR), thus ends one sleep at most; TransmitStamps fetches it. A
/// socket is registered for what an operation waits for: a send for room only after it found none.
/// Reading goes on as long as the kernel has more, the end of a stream included, so that none of
/// its edges is lost, and `find_ends` has nothing to look for.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/host_driver.hpp"

namespace driftless {

class EpollDriver final : public HostDriver {
  public:
    /// Errors: denied (by a filter), exhausted (memory or descriptor limits), io_failed.
    /// `why_not_ring`: for the facts.
    /// CHECK at its end: no operation is in flight.
    static Result<std::unique_ptr<EpollDriver>> make(const DriverOptions& options,
                                                     std::optional<Error> why_not_ring = {});

    /// CHECK: no operation of ours on it is in flight.
    void close(Socket socket) override;
    void submit(Op& op) override;
    /// Sends what the sockets take at once.
    bool flush() override;
    TurnResult turn(const Turn& turn) override;
    void find_ends(std::span<const QuietReceive>) override {}
    Instant unread_since(Instant now) override;
    DriverCounters counters() const override { return counters_; }
    DriverFacts facts() const override;

    /// Pieces that one look reads: some 15 us, by which the first of them may be stamped late.
    static constexpr std::uint32_t batch_max = 16;

  private:
    /// A descriptor that operations are in flight on, or were.
    struct Watched {
        Op* reader = nullptr;  ///< a receive or an accept
        Op* writer = nullptr;  ///< a connect, or a send that waits for room
        bool registered = false;
        bool ended = false;  ///< the other end sends no more: reads go on to the end of the stream
        bool in_line = false;
        int next_in_line = -1;
    };
    /// What became of an operation; its owner has not been told.
    struct Outcome {
        Op* op = nullptr;
        std::int32_t result = 0;
        bool more = false;
        bool is_cut = false;  ///< the kernel has more of the stream, or its end
        const char* bytes = nullptr;
        std::int64_t realtime_ns = 0;  ///< the kernel's receive stamp; 0: none
    };

    EpollDriver() = default;
    Result<void> open(const DriverOptions& options);

    Watched& watched(Socket socket);
    void begin(Op& op);
    void begin_connect(Op& op);
    void cancel(Op& op);
    void try_send(Op& op);
    void wait_for(Op& op, Op* Watched::* role);
    bool watch(Socket socket, Watched& w);
    void finish(Op& op, std::int32_t result);

    void look(const Turn& turn, TurnResult& result);
    void sleep(Instant until);
    bool fetch(int timeout_ms, Instant asked);
    bool note_event(std::uint32_t events, int number);
    void note_room(Op& op);
    void line_up(Watched& w, int number);
    void read_batch();
    void accept_one(Op& op, Watched& w);
    void receive_one(Op& op, Watched& w);
    void tell(const Outcome& outcome);
    /// Something has come that no completion has told of, or may have.
    bool any_untold() const {
        return told_ != outcomes_.size() || first_in_line_ >= 0 || !taken_.empty();
    }

    Fd epoll_;
    Fd timer_;
    Instant timer_set_;          ///< for when
    bool looked_ahead_ = false;  ///< `unread_since` has found what the next look reads
    std::optional<Error> why_not_ring_;

    std::vector<Watched> watched_;  ///< [descriptor]
    int first_in_line_ = -1;        ///< of descriptors that can be read
    int last_in_line_ = -1;
    std::vector<Op*> taken_;         ///< submitted, not begun
    std::vector<Outcome> outcomes_;  ///< in the order in which they will be told
    std::size_t told_ = 0;           ///< ... of them
    std::size_t batch_end_ = 0;      ///< those before it have the stamp of the batch
    std::vector<char> buffers_;      ///< of one batch
    std::uint32_t buffer_bytes_ = 0;
    std::uint32_t reads_max_ = 0;  ///< of one batch
    std::uint32_t buffers_used_ = 0;
};

}  // namespace driftless
