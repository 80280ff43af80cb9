/// MockCore: the mock without sockets and clock. Bytes in, bytes out, told the time.
///
/// The host (the server of server.hpp, or a simulator) keeps one MockConnection per connection:
///
///     MockConnection& connection = core.open(now);      // accepted
///     connection.receive(bytes, now);                   // for every read
///     connection.next_deadline()                        // when there is something to send
///     connection.produce(now, out);                     // then: appends what is due to `out`
///     connection.next_action()                          // after that has been sent
///     core.close(connection, now);                      // the peer left, or the action was done
///
/// After each of these calls the host asks `core.next_woken()` for other connections whose deadline
/// has changed, until there is none. `now` never goes back. What `produce` appends is sent before
/// it is called again: a token counts as sent at the `now` under which it was produced, so read the
/// clock right before.
///
/// Owned by one thread. Connections are pooled: references stay good until `close`.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/mock/answer_text.hpp"
#include "cmd/mock/asked.hpp"
#include "cmd/mock/behaviour.hpp"
#include "cmd/mock/body_reader.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prefix_cache.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/request_log.hpp"
#include "cmd/mock/text_tokens.hpp"
#include "cmd/mock/voice.hpp"
#include "cmd/mock/word_rules.hpp"
#include "engine/time/instant.hpp"
#include "proto/http/request_parser.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

/// When answers tell their cached tokens: vLLM's only where there are any, and only if asked to at
/// its start.
enum class CachedReported : std::uint8_t { always, hits, never };

/// The pretended server. The values of the command line that the core needs.
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
    std::uint32_t keep_alive_requests = 0;  ///< answers per connection; 0: without limit
    Duration keep_alive_timeout{0};         ///< a connection idle for so long is closed; 0: never
    bool announce_keep_alive = true;        ///< both limits are sent in `Keep-Alive`
    std::vector<FaultRule> faults;
    MetricNames metric_names;
    std::string pod;  ///< named in every answer; empty: none
    std::uint64_t seed = 0;
    std::int64_t utc_offset_ns = 0;  ///< Unix time minus the host's clock
    bool keep_log = false;           ///< collect a RequestLog of every completion request
};

/// Bytes that a connection may send ahead of its turn (pipelining) before it is dropped.
inline constexpr std::size_t pipelined_bytes_max = 64 * 1024;
/// Tokens that are due at once leave in portions of about this many bytes.
inline constexpr std::size_t produce_bytes_max = 64 * 1024;
/// Bytes that Fault::slow sends one by one.
inline constexpr std::uint32_t slow_bytes = 200;

class MockCore;

class MockConnection {
  public:
    explicit MockConnection(MockCore& core) : core_(core) {}
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
        page,     ///< a whole response stands in `ready_`
        queued,   ///< waits for a slot
        whole,    ///< makes an answer that is sent at its end
        stream,   ///< makes an answer token by token
        stalled,  ///< Fault::stall: silent until the peer leaves
        over,     ///< the action is all that is left
    };
    enum class Route : std::uint8_t { generate, tokenize, apply_template, other };

    void open(std::uint64_t number, Instant now);
    void abandon(Instant now);
    void take(std::string_view bytes, Instant now);
    void take_head(Instant now);
    void take_request(Instant now);
    void answer_page(Instant now);
    Route route_of(std::string_view path);
    PromptKeys prompt_keys() const;
    TemplateTokens template_now();
    void answer_tokenize(Instant now);
    void answer_template(Instant now);
    void open_answer(Instant now);
    void answer_completion(Instant now);
    void refuse(const Refusal& refusal, Instant now, std::string_view extra_fields = {});
    void start_making(Instant now);
    AnswerFacts facts(Instant now) const;
    void produce_stream(Instant now, std::string& out);
    bool produce_fault(Instant now, std::string& out);
    void produce_chunk(Instant now, std::string& out);
    void produce_whole(Instant now, std::string& out);
    void send_head(std::string& out);
    void trickle(std::string& out);
    void end_answer(Instant now, Ending ending);
    void end_exchange(Instant now);
    std::uint32_t chunk_tokens() const;
    bool last_on_connection() const;
    void now_idle(Instant now);
    bool idle_for_too_long(Instant now) const;
    Reply reply() const;

    MockCore& core_;
    std::uint64_t number_ = 0;
    Phase phase_ = Phase::reading;
    Action action_ = Action::keep;
    bool has_slot_ = false;
    bool head_sent_ = false;

    // The request.
    RequestParser parser_;
    BodyReader body_;
    PromptCount prompt_;
    Route route_ = Route::other;
    const Voice* voice_ = nullptr;  ///< of Route::generate
    bool body_refused_ = false;
    bool bad_http_ = false;
    std::string pipelined_;  ///< bytes behind the request that is being answered
    Asked asked_;
    RequestLog log_;

    // The answer.
    Fault fault_ = Fault::none;
    std::uint32_t fault_at_ = 0;  ///< tokens before a fault of the middle strikes
    std::uint32_t made_ = 0;      ///< tokens sent
    std::uint64_t seed_ = 0;
    AnswerSchedule schedule_;
    AnswerText text_;
    std::string ready_;  ///< leaves at the next produce, before all else
    std::string slow_;   ///< Fault::slow: generated, leaving byte by byte
    std::uint32_t slow_left_ = 0;
    std::uint32_t answered_ = 0;  ///< on this connection
    Instant idle_ends_ = never;   ///< it is closed then, unless it has been asked something
};

class MockCore {
  public:
    explicit MockCore(const CoreOptions& options);

    /// A connection was accepted. Its first action may be `reset` at once (Fault::refuse).
    MockConnection& open(Instant now);
    /// The connection is gone; an answer in the making is aborted.
    void close(MockConnection& connection, Instant now);

    /// Another connection whose deadline has changed by the last call; nullptr: none is left.
    MockConnection* next_woken();

    /// The oldest finished log entry, where `keep_log`. False: none.
    bool take_finished(RequestLog& entry);

    /// Completion requests that have ended, in whichever way.
    std::uint64_t ended() const { return ended_; }
    Metrics metrics() const;
    const CoreOptions& options() const { return options_; }

  private:
    friend class MockConnection;

    bool take_slot(MockConnection& connection);
    void leave_queue(MockConnection& connection);
    void give_slot(Instant now);
    std::uint32_t look_up(const PromptCount& prompt);
    Crowd crowd() const { return {static_cast<std::uint32_t>(metrics_.running), prefill_.ends()}; }
    std::int64_t utc_seconds(Instant now) const;

    CoreOptions options_;
    PrefixCache cache_;
    Prefill prefill_;
    std::optional<TextTokens> texts_;
    JsonDocument document_;
    Metrics metrics_;
    std::uint64_t opened_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t ended_ = 0;
    std::vector<std::unique_ptr<MockConnection>> connections_;
    std::vector<MockConnection*> free_;
    std::deque<MockConnection*> queue_;  ///< wait for a slot, in order of arrival
    std::vector<MockConnection*> woken_;
    std::deque<RequestLog> finished_;
};

}  // namespace driftless::mock
