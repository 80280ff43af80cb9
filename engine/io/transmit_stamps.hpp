/// TransmitStamps: how transmit stamps come from the kernel to the driver, in one of two ways.
///
/// - ring: a small io_uring of its own, with 32-byte completions, on which one multishot command
///   per socket gives each stamp as a completion (Linux 6.17; found by trying). A ring of its own,
///   so that stamps never stand between a turn and its completions.
/// - error queue: `recvmsg(MSG_ERRQUEUE)`, once per request, at a moment that the caller chooses
///   (any kernel).
///
/// Sockets and commands are known by the driver's user_data. Owned by the UringDriver, and of its
/// thread. Nothing here allocates after `open`, waits, or is called between a due instant and its
/// send.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

class TransmitStamps {
  public:
    enum class Way : std::uint8_t { none, ring, error_queue };

    /// A stamp, or the end of a socket's command (`more` false), or the end of a cancel.
    struct Entry {
        std::uint64_t user_data = 0;
        std::int32_t result = 0;  ///< 0, or -errno where it ended
        bool more = false;
        std::uint32_t key = 0;
        std::int64_t realtime_ns = 0;  ///< 0: no stamp
    };

    TransmitStamps() = default;
    TransmitStamps(const TransmitStamps&) = delete;
    TransmitStamps& operator=(const TransmitStamps&) = delete;

    /// Finds the way. `ring` is tried first where `may_use_ring`; the error queue always works.
    /// `entries`: completions that the ring holds, a power of two.
    void open(std::uint32_t sockets_max, bool may_use_ring, std::uint32_t entries = 16'384);
    Way way() const { return way_; }

    void arm(std::uint64_t user_data, Socket socket);
    /// Ends `target`; both end by an entry: that of the cancel has -ENOENT where the target had
    /// ended already, or is `OpSlots::nobody`.
    void cancel(std::uint64_t target, std::uint64_t user_data);
    /// Something that wants a stamp is being sent on the socket of this command.
    void expect(std::uint64_t user_data, Instant now);

    /// `look` may find something. No system call.
    bool waiting(Instant now) const;
    /// Fetches what there is, at most one system call by the ring, or one per socket by the error
    /// queues: at most `sockets_max`, beginning with `first` (a user_data, 0: none).
    void look(Instant now, std::uint32_t sockets_max, std::uint64_t first);
    /// The next entry that was fetched.
    bool next(Entry& entry);

    std::uint64_t system_calls() const { return ring_.enters() + queue_reads_; }
    /// Places of the ring that the kernel passed over (`next`).
    std::uint64_t passed_over() const { return passed_over_; }

    /// A stamp that an error queue does not have yet is asked for again, for 0.2 s in all.
    static constexpr std::uint32_t tries_max = 200;
    static constexpr Duration pause = milliseconds(1);

  private:
    /// A socket's command, by the slot in its user_data.
    struct Armed {
        std::uint64_t user_data = 0;  ///< 0: none
        Socket socket;
        bool queued = false;  ///< has a place in `expecting_`, perhaps from an earlier owner
        std::uint32_t tries = tries_max;  ///< tries_max: wants nothing
        Instant due;                      ///< of the next look at its error queue
    };

    bool open_ring(std::uint32_t entries);
    io_uring_cqe& completion_at(unsigned position);
    bool ring_works();
    void read_queue_of(Armed& armed, Instant now);
    Armed* armed_of(std::uint64_t user_data);
    void queue(std::uint32_t slot);

    Way way_ = Way::none;
    IoRing ring_;
    std::uint64_t passed_over_ = 0;

    // By the error queues.
    std::uint64_t queue_reads_ = 0;
    std::vector<Armed> armed_;              ///< [slots]
    std::vector<std::uint32_t> expecting_;  ///< slots, a ring of as many as there can be
    std::size_t expecting_first_ = 0;
    std::size_t expecting_count_ = 0;
    std::vector<Entry> found_;  ///< fetched, not yet asked for
    std::size_t found_next_ = 0;
};

/// "no", "io_uring", "error queue".
const char* name_of(TransmitStamps::Way way);

}  // namespace driftless
