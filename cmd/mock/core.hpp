/// MockCore: the mock without sockets and clock. Bytes in, bytes out, told the time.
///
/// The host (the server of server.hpp, or a simulator) keeps one MockConnection per connection:
///
///     MockConnection& connection = core.open(now);      // accepted
///     connection.receive(bytes, now);                   // for every read
///     connection.next_deadline()                        // when there is something to send
///     connection.produce(now, out);                     // then: appends what is due to `out`
///     connection.next_action()                          // after that has been sent
///     core.next_deadline()                              // where answers are made in steps
///     core.advance(now)                                 // then
///     core.close(connection, now);                      // the peer left, or the action was done
///
/// After each of these calls the host asks `core.next_woken()` for other connections whose deadline
/// has changed, until there is none. `now` never goes back. What `produce` appends is sent before
/// it is called again: a token counts as sent at the `now` under which it was produced, so read the
/// clock right before.
///
/// Owned by one thread. Connections are pooled: references stay valid until `close`.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cmd/mock/batch.hpp"
#include "cmd/mock/behaviour.hpp"
#include "cmd/mock/connection.hpp"
#include "cmd/mock/core_options.hpp"
#include "cmd/mock/history.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prefix_cache.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/request_log.hpp"
#include "cmd/mock/text_tokens.hpp"
#include "engine/time/instant.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

class MockCore {
  public:
    explicit MockCore(const CoreOptions& options);

    /// A connection was accepted. Its first action may be `reset` at once (Fault::refuse).
    MockConnection& open(Instant now);
    /// The connection is gone; an answer in the making is aborted.
    void close(MockConnection& connection, Instant now);

    /// When `advance` has something to do: a step of the batch ends. `never` where none is going
    /// on, and always where answers are not made in steps (Pace::in_steps).
    Instant next_deadline() const { return batch_ ? batch_->next() : never; }
    /// Lets the batch go on up to `now`: the connections whose tokens are made by then are woken.
    void advance(Instant now);

    /// Another connection whose deadline has changed by the last call; nullptr: none is left.
    MockConnection* next_woken();

    /// The oldest finished log entry, where `keep_log`. False: none.
    bool take_finished(RequestLog& entry);

    /// Completion requests that have ended, in whichever way.
    std::uint64_t ended() const { return ended_; }
    Metrics metrics() const;
    /// The assistant's messages of all requests so far, where histories are checked.
    const HistoryCount& history() const { return history_; }
    const CoreOptions& options() const { return options_; }

    // What follows is for the connections: what all of them share.

    /// True where the connection may begin at once; else it stands in the queue.
    bool take_slot(MockConnection& connection);
    void leave_queue(MockConnection& connection);
    /// An answer has ended: the oldest waiting one begins.
    void give_slot(Instant now);

    /// Answers are made in the steps of a batch, which has slots of its own.
    bool in_steps() const { return batch_.has_value(); }
    /// For `in_steps`. The owner of the seat is the connection.
    void join(Seat& seat) { batch_->join(seat); }
    /// The answer is given up; nothing where its seat is out already.
    void leave(Seat& seat, Instant now);

    /// Tokens of the prompt that the cache holds; its blocks are entered. At least one token is
    /// always computed, as the server needs its logits.
    std::uint32_t look_up(const PromptCount& prompt);

    /// Every block is forgotten.
    void reset_cache();

    /// Where histories are checked: what of one was sent before goes into the log, and what is sent
    /// now is remembered.
    void check_history(RequestLog& log, std::span<const std::uint64_t> replies);
    void note_reply(const RequestLog& log, std::string_view text);

    /// Requests before this one that had a prompt counted.
    std::uint64_t count_request() { return requests_++; }
    /// A completion request has ended. Where `keep_log`, the entry is taken and left empty.
    void count_end(RequestLog& entry);

    std::int64_t utc_seconds(Instant now) const;
    /// What encodes texts; nullptr: words are tokens.
    TextTokens* texts() { return texts_ ? &*texts_ : nullptr; }
    JsonDocument& document() { return document_; }

  private:
    CoreOptions options_;
    PrefixCache cache_;
    std::optional<Batch> batch_;  ///< where answers are made in steps
    std::vector<Seat*> reached_;  ///< scratch
    std::optional<TextTokens> texts_;
    JsonDocument document_;
    Metrics metrics_;
    std::optional<SentReplies> sent_;  ///< where histories are checked
    HistoryCount history_;             ///< of all requests
    std::uint64_t opened_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t ended_ = 0;
    std::vector<std::unique_ptr<MockConnection>> connections_;
    std::vector<MockConnection*> free_;
    std::deque<MockConnection*> queue_;  ///< wait for a slot, in order of arrival
    std::deque<MockConnection*> woken_;
    std::deque<RequestLog> finished_;
};

}  // namespace driftless::mock
