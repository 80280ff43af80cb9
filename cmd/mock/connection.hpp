/// MockConnection: one connection of the mock: requests one after another, each with its answer.
///
/// It keeps the order: what comes while an answer is made waits, an answer waits for its slot, and
/// the connection ends when it should. Reading is RequestReader's, the answer MockAnswer's, limits
/// KeepAlive's, bytes on their way Outgoing's. Made, pooled and owned by MockCore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/mock/answer.hpp"
#include "cmd/mock/asked.hpp"
#include "cmd/mock/keep_alive.hpp"
#include "cmd/mock/outgoing.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/request_log.hpp"
#include "cmd/mock/request_reader.hpp"
#include "engine/time/instant.hpp"

namespace driftless::mock {

/// Bytes that a connection may send ahead of its turn (pipelining) before it is dropped.
inline constexpr std::size_t pipelined_bytes_max = 64 * 1024;

class MockCore;

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
    void end_connection(Action action);
    bool idle_for_too_long(Instant now) const;
    bool last_on_connection() const;
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

}  // namespace driftless::mock
