/// The mock without sockets and clock: an answer in the making, the truth about its request as the
/// server saw it, connections, and what they share. Bytes in, bytes out, told the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/mock/engine_model.hpp"
#include "cmd/mock/faults.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/request_reader.hpp"
#include "cmd/mock/voice.hpp"
#include "engine/base/time.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

// CoreOptions: the pretended server. The values of the command line that the core needs.

/// When answers tell their cached tokens: vLLM's only where there are any, and only if asked to at
/// its start.
enum class CachedReported : std::uint8_t { always, hits, never };

/// Whose endpoint empties the cache: POST /reset_prefix_cache of vLLM, POST /flush_cache of SGLang.
/// `pretended`: both answer 200, as vLLM's does while a request holds blocks, and keep the cache.
enum class CacheReset : std::uint8_t { both, vllm, sglang, none, pretended };

struct CoreOptions {
    ModelLimits model;
    Pace pace;
    std::uint32_t slots = 0;                 ///< answers made at once; more wait, FIFO. 0: all
    std::uint32_t cache_block_tokens = 512;  ///< 0: no prefix cache
    std::size_t cache_blocks_max = 0;        ///< 0: without limit
    TemplateTokens overhead;                 ///< around every text prompt
    std::uint32_t overhead_varies = 0;       ///< up to so many more, by the order of requests
    Tokenizer* tokenizer = nullptr;          ///< outlives the core; nullptr: words are tokens
    WordRules words;                         ///< words that are not one token each
    TokenizeForm tokenize = TokenizeForm::vllm;
    std::optional<TemplateTokens> tokenize_overhead;  ///< what /tokenize counts; else what is true
    std::uint32_t reasoning_tokens = 0;               ///< first tokens of a chat answer
    bool incremental = false;                         ///< SGLang's --incremental-streaming-output
    bool early_headers = true;  ///< the head leaves before the first token, as vLLM's
    bool usage = true;          ///< false: include_usage is ignored
    CachedReported cached_reported = CachedReported::always;
    CacheReset cache_reset = CacheReset::both;
    std::uint32_t keep_alive_requests = 0;  ///< answers per connection; 0: without limit
    Duration keep_alive_timeout{0};         ///< a connection idle for so long is closed; 0: never
    bool announce_keep_alive = true;        ///< both limits are sent in `Keep-Alive`
    std::vector<FaultRule> faults;
    MetricNames metric_names;
    std::string pod;  ///< named in every answer; empty: none
    std::uint64_t seed = 0;
    std::int64_t utc_offset_ns = 0;  ///< Unix time minus the host's clock
    bool keep_log = false;           ///< collect a RequestLog of every completion request
    /// Header fields that say whose request it is; the log has those that came. The first of them
    /// is the session for `check_history`.
    std::vector<std::string> session_headers{
        // Of MLPerf Endpoints, kv-cache-tester, AIPerf, Dynamo and SGLang's router.
        "X-Session-ID",        "X-Correlation-ID",
        "X-Dynamo-Session-ID", "X-Dynamo-Parent-Session-ID",
        "X-Session-Affinity",  "X-SMG-Routing-Key",
    };
    std::uint32_t check_history = 0;  ///< replies that are remembered; 0: no check
};

// RequestLog: the truth about one completion request, as the server saw it.
//
// All instants are readings of the server's clock in ns; 0: it never happened.

/// How an exchange ended for the server.
enum class Ending : std::uint8_t {
    complete,  ///< everything that was meant to be sent was handed to the kernel
    faulted,   ///< cut short on purpose
    aborted,   ///< the peer left before
};

}  // namespace driftless::mock

namespace driftless {
template <>
inline constexpr auto closed_list<mock::Ending> = name_list("complete", "faulted", "aborted");
}  // namespace driftless

namespace driftless::mock {

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

    /// The head of a completion request has come, and its id and row are in the log: its fault
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

/// KeepAlive: how long a connection is kept: for how many answers, and how long it may be idle.
class KeepAlive {
  public:
    /// The limits are those of the options, which outlive this.
    explicit KeepAlive(const CoreOptions& options) : options_(options) {}

    /// A new connection.
    void open(Instant now) {
        answered_ = 0;
        begin_idle(now);
    }
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
    bool is_last() const {
        const std::uint32_t limit = options_.keep_alive_requests;
        return limit != 0 && answered_ + 1 >= limit;
    }
    /// Writes the limits into a reply, where they are announced.
    void announce(Reply& reply) const;

  private:
    const CoreOptions& options_;
    std::uint32_t answered_ = 0;
    Instant idle_ends_ = never;
};

// Outgoing: bytes of a connection on their way out.
//
// Those that are ready leave before what is produced; under Fault::slow the first bytes of an
// answer leave one by one, a byte for each produce, and the rest as it comes. Knows nothing of
// time.

/// Bytes that Fault::slow sends one by one.
inline constexpr std::uint32_t slow_bytes = 200;

class Outgoing {
  public:
    /// What is appended here leaves at the next produce, before all else.
    std::string& ready() { return ready_; }
    /// An answer follows, whose first bytes leave one by one or do not.
    void begin_answer(bool slow) { slow_left_ = slow ? slow_bytes : 0; }

    bool is_waiting() const { return !ready_.empty() || !slow_.empty(); }

    /// Around each produce: `begin` gives the place for what is produced, behind what was ready;
    /// `finish` appends what may leave of it to `out`, the same string.
    std::string& begin(std::string& out);
    void finish(std::string& out);

  private:
    std::string ready_;
    std::string slow_;  ///< produced, leaving byte by byte
    std::uint32_t slow_left_ = 0;
    bool is_slow_ = false;  ///< what is produced goes through `slow_`
};

// MockConnection: one connection of the mock: requests one after another, each with its answer.
//
// It keeps the order: what comes while an answer is made waits, an answer waits for its slot, and
// the connection ends when it should. Reading is RequestReader's, the answer MockAnswer's, limits
// KeepAlive's, bytes on their way Outgoing's. Made, pooled and owned by MockCore.

/// Bytes that a connection may send ahead of its turn (pipelining) before it is dropped.
inline constexpr std::size_t pipelined_bytes_max = 64 * 1024;

class MockConnection {
  public:
    explicit MockConnection(MockCore& core);
    MockConnection(const MockConnection&) = delete;
    MockConnection& operator=(const MockConnection&) = delete;

    /// Takes bytes of the peer. Those behind a complete request wait until it is answered.
    void receive(std::string_view bytes, Instant now);

    /// When `produce` will have something: in the past where it has now, `never` where it depends
    /// on the peer or on other connections.
    Instant next_deadline() const;

    /// Appends all that is due at `now`, up to about `produce_bytes_max`.
    void produce(Instant now, std::string& out);

    enum class Action : std::uint8_t {
        keep,   ///< nothing to do
        close,  ///< once everything produced is sent: end the connection in good order
        reset,  ///< once everything produced is sent: reset it
    };
    /// What the host has to do while `next_deadline` is never.
    Action next_action() const { return action_; }

    /// For the host: what it keeps beside this connection. The core never reads it.
    void* host = nullptr;

  private:
    friend class MockCore;

    enum class Phase : std::uint8_t {
        reading,  ///< of a request
        page,     ///< a whole response is ready
        queued,   ///< waits for a slot
        making,   ///< of an answer
        stalled,  ///< Fault::stall: silent until the peer leaves
        over,     ///< the action is all that is left
    };

    // For the core: a new peer, a peer that has left, a slot that is free.
    void open(std::uint64_t number, Instant now);
    void abandon(Instant now);
    void start_making(Instant now);

    void take(std::string_view bytes, Instant now);
    void take_head();
    void take_session();
    void take_request(Instant now);
    void answer_tokenize(Instant now);
    void answer_template(Instant now);
    void answer_completion(Instant now);
    void open_answer(Instant now);
    void refuse(const Refusal& refusal, Instant now, std::string_view extra_fields = {});
    void follow(MockAnswer::State state, Instant now);
    void end_answer(Instant now, Ending ending);
    void end_exchange(Instant now);
    void end_connection(Action action) {
        phase_ = Phase::over;
        action_ = action;
    }
    bool idle_for_too_long(Instant now) const;
    bool last_on_connection() const {
        return !request_.head().keep_alive() || keep_alive_.is_last();
    }
    Reply reply() const;

    MockCore& core_;
    std::uint64_t number_ = 0;
    Phase phase_ = Phase::reading;
    Action action_ = Action::keep;
    bool has_slot_ = false;
    bool bad_http_ = false;
    std::string pipelined_;  ///< bytes behind the request that is being answered
    RequestLog log_;         ///< of the request at hand
    RequestReader request_;
    MockAnswer answer_;
    KeepAlive keep_alive_;
    Outgoing outgoing_;
};

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

    /// True where the connection may begin at once; else it is in the queue.
    bool take_slot(MockConnection& connection);
    void leave_queue(MockConnection& connection) { std::erase(queue_, &connection); }
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
    void reset_cache() { cache_ = PrefixCache(options_.cache_blocks_max); }

    /// Where histories are checked: what of one was sent before goes into the log, and what is sent
    /// now is remembered.
    void check_history(RequestLog& log, std::span<const std::uint64_t> replies);
    void note_reply(const RequestLog& log, std::string_view text);

    /// Requests before this one that had a prompt counted.
    std::uint64_t count_request() { return requests_++; }
    /// A completion request has ended. Where `keep_log`, the entry is taken and left empty.
    void count_end(RequestLog& entry);

    std::int64_t utc_seconds(Instant now) const {
        return (now.ns + options_.utc_offset_ns) / 1'000'000'000;
    }
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
