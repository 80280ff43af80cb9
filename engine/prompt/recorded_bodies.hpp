/// Bodies of recorded requests: made of every selected row's words before time 0; and live answers:
/// what the run's own answers said, on the way from the writer to the engine's next prompts.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/wait_graph.hpp"
#include "proto/api/request_body.hpp"
#include "proto/core/lists.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Bodies of recorded requests: once a run knows its model and its rules, before time 0, every
// selected row's recorded request becomes the body that is sent.
//
// Takes the trace with the requests, gives one with the bodies; needs room for both forms at once.
// No clock, no socket.

struct RecordedFigures {
    std::uint64_t requests = 0;  ///< bodies made
    /// Of these, answers whose length the trace does not say: their own limits hold.
    std::uint64_t unbounded = 0;
    RecordedFixes fixes;
};

/// A trace whose bodies were made, and how.
struct TraceWithBodies {
    Trace trace;
    RecordedFigures figures;
    std::optional<LiveTurns> live;  ///< `Assistant::live`
};

/// `--assistant`: whose words the history of a conversation holds.
enum class Assistant : std::uint8_t {
    recorded,  ///< those of the trace
    live,      ///< the server's own, of this run
};

/// Makes the bodies of the plan's rows; those of other rows are dropped. Nothing where some cannot
/// be sent with this dialect, and `errors` names them by file and line.
///
/// Live: a row that waits for the answer to another row of its session, and that repeats the
/// messages of that row, then an answer, keeps the messages behind that answer alone
/// (wait_graph.hpp).
/// `members`: those of `--extra-body` that rows fill, in place of the spec's.
std::optional<TraceWithBodies> make_recorded_bodies(const Plan& plan, const Dialect& dialect,
                                                    const BodySpec& spec, Assistant assistant,
                                                    Trace trace, InputErrors& errors,
                                                    const BodyTemplate* members = nullptr);

/// What was fixed, a line each, as a person reads it.
std::vector<std::string> recorded_notes(const RecordedFigures& figures);
std::vector<std::string> live_notes(const LiveFigures& figures);

// Live assistants: what a run's own answers said, on the way from the writer, who reads them, to
// the engine, whose next prompts hold them.

/// TurnReply: the end of a turn as its followers need it: all that had been said then, as JSON
/// messages with commas between them. The writer makes it and keeps its bytes until
/// the followers have ended; the engine copies them into the next prompt.
struct TurnReply {
    const char* history = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t request = 0;  ///< whose answer was the last (plan.hpp)
    std::uint32_t pass = 0;
    /// Tokens that the next prompt lacks of its recorded length; 0: none, or not known.
    std::int32_t short_by = 0;
    std::uint8_t attempt = 0;
    bool goes_on = false;  ///< there is a history that the next prompt can hold
};
static_assert(sizeof(TurnReply) == 32);  // the engine keeps one of each request

/// ReplyRing: the second lock-free ring, from the writer back to the engine: words of answers that
/// go into later prompts. One producer, one consumer; nothing blocks, nothing allocates once it is
/// made. A full ring is a handled outcome: the writer keeps the reply and tries again.
class ReplyRing {
  public:
    /// Room for `replies`, at least 1, rounded up to a power of two.
    explicit ReplyRing(std::size_t replies) : cells_(std::bit_ceil(replies)) {}
    ReplyRing(const ReplyRing&) = delete;
    ReplyRing& operator=(const ReplyRing&) = delete;

    /// The writer's side. False where the ring is full.
    bool push(const TurnReply& reply) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == cells_.size()) {
            return false;
        }
        cells_[tail & (cells_.size() - 1)] = reply;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    /// The engine's side. False where the ring is empty.
    bool pop(TurnReply& reply) {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) {
            return false;
        }
        reply = cells_[head & (cells_.size() - 1)];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

  private:
    std::vector<TurnReply> cells_;
    alignas(64) std::atomic<std::uint64_t> head_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};
};

/// Replies: the engine's side of live assistants: what has come back from the writer, by the
/// request that it is an answer to, and the body of a request that goes on behind one, in pieces.
/// Owned by the engine thread; memory is taken when it is made, 32 bytes a request.
class Replies {
  public:
    /// `requests`: their numbers are below. All of it outlives this.
    Replies(const Trace& trace, const LiveTurns& live, ReplyRing& ring, std::size_t requests)
        : trace_(trace), live_(live), ring_(ring), by_request_(requests) {}

    /// The next one that has come, each once; nullptr where there is none. Valid until the next
    /// answer to that request.
    const TurnReply* take();

    /// The request goes on behind an answer of this run.
    bool goes_on(const Due& due) const { return live_.goes_on(due.row); }
    /// Bytes that its body has more than the one in the trace. The reply that it waits for is here.
    std::size_t added_bytes(const Due& due) const;
    /// Its whole body. Valid until the request has ended.
    Spliced body_of(const Due& due) const;

  private:
    const TurnReply& behind(const Due& due) const;

    const Trace& trace_;
    const LiveTurns& live_;
    ReplyRing& ring_;
    std::vector<TurnReply> by_request_;
};

// Histories: the writer's side of live assistants: at the end of a turn that others follow, all
// that has been said in its conversation, which goes back to the engine.
//
// It keeps one history for each open conversation, and hands it on from turn to turn; where
// several rows follow one answer each has a copy. What the engine was given stays as it is until
// the request that needs it has ended. Owned by the writer's side; one thread.

struct LiveRules {
    KeptWords kept;
    /// Turns whose answer cannot be read are followed all the same (`--on-failure continue`).
    bool goes_on_unanswered = false;
};

/// What an answer has said.
struct SaidWords {
    std::string_view content;
    std::string_view reasoning;
    const std::vector<SaidCall>& calls;
    bool whole = false;  ///< nothing of it is missing
};

class Histories {
  public:
    /// `requests`: their numbers are below. All of it outlives this.
    Histories(const Trace& trace, const LiveTurns& live, const LiveRules& rules, ReplyRing& ring,
              std::size_t requests)
        : trace_(trace),
          live_(live),
          rules_(rules),
          ring_(ring),
          spoken_(requests),
          whys_(trace.rows.size()) {}

    /// Before anything has ended: what is longer, with the words that fill it up, is not sent.
    void bound(std::size_t bytes_max) { bytes_max_ = bytes_max; }

    /// Why nobody goes on behind the row, by its position; null: nothing is wrong with its answer.
    const char* why_ended(std::uint32_t row) const {
        return whys_[row] == Why::none     ? nullptr
               : whys_[row] == Why::unread ? "has an answer that cannot be continued"
                                           : "has more text than fits into a prompt";
    }

    /// The words of the row's answer are wanted.
    bool wants(std::uint32_t row) const { return live_.of(row).followers > 0; }

    /// A request has ended. Completes its record, and tells the engine what its followers need.
    void ended(const Due& due, const SaidWords& said, Record& record);
    /// Tells the engine what found the ring full.
    void flush();

  private:
    /// Why nobody goes on.
    enum class Why : std::uint8_t { none, unread, too_long };

    /// At the end of a request.
    struct Spoken {
        std::string history;
        std::uint32_t pass = 0;
        std::uint32_t turns = 0;  ///< answers of this run in it
        std::int32_t short_by = 0;
        bool knows_length = false;
        bool has_ended = false;
    };

    Spoken* before(const Due& due);
    void complete(const LiveTurn& turn, const Spoken& before, Record& record) const;
    /// Nobody else needs the history that the row went on from.
    bool is_last_user(const LiveTurn& turn, const SaidWords& said) const {
        return said.whole && live_.of(turn.behind).followers == 1;
    }
    void append_own(const Due& due, const Spoken* before, std::string& out) const;
    void tell(const Due& due, Spoken spoken);
    void note_length(const TraceRow& row, const Record& record, Spoken& spoken) const;

    const Trace& trace_;
    const LiveTurns& live_;
    const LiveRules rules_;
    ReplyRing& ring_;
    std::size_t bytes_max_ = SIZE_MAX;
    std::vector<Spoken> spoken_;    ///< [requests]
    std::vector<Why> whys_;         ///< [rows of the trace]
    std::deque<TurnReply> unsent_;  ///< at most one a request
};

/// LiveRun: the parts of a run whose prompts hold its own answers: the second ring, and who stands
/// at its two ends. They refer to each other, and outlive the loop and the writer.
struct LiveRun {
    /// Trace and turns outlive it. `requests`: their numbers are below.
    LiveRun(const Trace& trace, const LiveTurns& turns, const LiveRules& rules,
            std::size_t requests)
        : ring(replies_max),
          replies(trace, turns, ring, requests),
          histories(trace, turns, rules, ring, requests) {}
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;

    static constexpr std::size_t replies_max = 4096;
    ReplyRing ring;
    Replies replies;
    Histories histories;
};

}  // namespace driftless
