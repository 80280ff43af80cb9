/// An answer of the mock in the making, and the truth about its request as the server saw it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/mock/behaviour.hpp"
#include "cmd/mock/core_options.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/request_reader.hpp"
#include "cmd/mock/voice.hpp"
#include "engine/base/time.hpp"

namespace driftless::mock {

// RequestLog: the truth about one completion request, as the server saw it.
//
// All instants are readings of the server's clock in ns; 0: it never happened.

/// How an exchange ended for the server.
enum class Ending : std::uint8_t {
    complete,  ///< everything that was meant to be sent was handed to the kernel
    faulted,   ///< cut short on purpose
    aborted,   ///< the peer left before
};

/// A header field that says whose request it is.
struct SessionField {
    std::string name;
    std::string value;
};

struct RequestLog {
    std::string request_id;
    std::optional<std::uint64_t> row;
    std::string traceparent;              ///< as it came; empty: none
    std::vector<SessionField> session;    ///< those header fields that came, as they are asked for
    std::optional<HistoryCount> history;  ///< where histories are checked
    std::uint64_t connection = 0;         ///< count of accepts, from 0
    const char* api = "";                 ///< the dialect that was spoken
    bool stream = true;
    Ending ending = Ending::complete;
    int status = 0;
    Fault fault = Fault::none;
    std::int64_t start_ns = 0;      ///< first byte of the request was read
    std::int64_t last_byte_ns = 0;  ///< last byte of it
    std::int64_t begin_ns = 0;      ///< its slot was free and its answer began to be made
    std::int64_t due_ns = 0;        ///< the schedule's instant of the first token
    std::int64_t end_ns = 0;
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t asked_tokens = 0;
    std::uint32_t output_tokens = 0;     ///< sent
    std::uint32_t tokens_per_chunk = 1;  ///< at most; less in the last chunk, and before a turn
    /// Read right before the send of each chunk with tokens was handed over. One entry for an
    /// answer that was not streamed.
    std::vector<std::int64_t> token_ns;

    /// What the first of its session fields says; empty: none came.
    std::string_view session_value() const {
        return session.empty() ? std::string_view() : session.front().value;
    }
};

/// Appends one line of JSON, line end included.
void append_log_line(std::string& out, const RequestLog& entry);

// MockAnswer: an answer in the making: when its tokens are due, what leaves then, and the fault
// that strikes in its middle.
//
// It writes tokens, heads and bodies, and says how far it is; the connection decides what follows.
// One per connection, reused from answer to answer.

/// Tokens that are due at once leave in portions of about this many bytes.
inline constexpr std::size_t produce_bytes_max = 64 * 1024;

class MockConnection;
class MockCore;

class MockAnswer {
  public:
    /// `request` is what it answers, `log` the entry that it fills. All outlive this.
    MockAnswer(MockCore& core, const RequestReader& request, RequestLog& log)
        : core_(core), request_(request), log_(log) {}

    /// The head of a completion request has come, and its id and row stand in the log: its fault
    /// and all that is drawn follow from them.
    void plan();
    Fault fault() const { return fault_; }

    /// The request is good: its prompt goes through the cache. Appends the head where that leaves
    /// early. `reply` is good until the answer ends.
    void begin(const Reply& reply, Instant now, std::string& out);
    /// A slot is free. From here on the schedule runs.
    void start(Instant now);
    /// Instead of waiting for a slot, where answers are made in steps: it joins the batch, which
    /// wakes `connection` when tokens are made.
    void join(MockConnection& connection, Instant now);
    /// When more of it leaves; `never`: when the batch says so.
    Instant due() const;
    /// The answer has ended, in whichever way: it leaves the batch, the log gets its last facts,
    /// and what was sent may be found in histories.
    void end(Instant now);

    /// How far it is after a produce.
    enum class State : std::uint8_t {
        going,      ///< the rest is due later
        complete,   ///< its last byte has been produced
        error_end,  ///< the same; Fault::error ended it in the middle
        stalled,    ///< no more of it is ever sent
        cut,        ///< broken off: the connection is closed
        reset,      ///< broken off: the connection is reset
    };
    /// Appends what is due at `now`, up to about `produce_bytes_max`.
    State produce(Instant now, std::string& out);

    /// Tokens sent.
    std::uint32_t made() const { return made_; }

  private:
    AnswerFacts facts(Instant now) const;
    State strike(std::string& out);
    State produce_chunk(Instant now, std::string& out);
    State produce_whole(Instant now, std::string& out);
    void send_head(std::string& out);
    void note_sent(Instant now);
    std::uint32_t chunk_tokens() const;
    void plan_next_chunk();

    MockCore& core_;
    const RequestReader& request_;
    RequestLog& log_;
    Reply reply_;
    Fault fault_ = Fault::none;
    std::uint32_t fault_at_ = 0;  ///< tokens before a fault of the middle strikes
    std::uint32_t made_ = 0;
    std::uint64_t seed_ = 0;
    bool head_sent_ = false;
    AnswerSchedule schedule_;  ///< in steps: only when it is ready for the batch
    Seat seat_;                ///< in steps
    AnswerText text_;
};

}  // namespace driftless::mock
