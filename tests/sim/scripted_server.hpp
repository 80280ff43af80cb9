/// What ScriptedServers say: every golden case of the chat API, and answers that no file could
/// hold: endless, huge, or dripping.
#pragma once

#include "engine/base/time.hpp"
#include "proto/http/parsers.hpp"
#include "proto/run/record.hpp"
#include "tests/std.hpp"

namespace driftless::sim {

// ScriptedServer: a server of one connection that reads requests properly and answers each with
// canned bytes, whatever these are: the golden files, and answers that have no end. It owns no
// socket and no clock; the simulator asks it for what it says next.

/// One answer: its bytes, then `again` for ever, each `pause` later; or silence; or the end.
struct CannedAnswer {
    std::string name;
    std::string wire;
    std::string again;  ///< empty: nothing
    Duration pause = milliseconds(1);
    bool closes = false;  ///< ends the connection after `wire`; else it stays open
    bool early = false;   ///< begins when the request's head is there
    /// What becomes of a row that asked for `canned_tokens` and got it in fair weather.
    Outcome outcome = Outcome::ok;
    Outcome or_else = outcome;  ///< of the other reading, where there are two
};

/// The output length for which a canned answer has its outcome.
inline constexpr std::uint32_t canned_tokens = 2;

/// Which connections are scripted, and what they say.
struct Script {
    const std::vector<CannedAnswer>* answers = nullptr;  ///< outlives the driver; null: none
    double share = 0;                                    ///< of connections
    std::uint64_t seed = 0;                              ///< with the row, picks the answer
    bool in_turn =
        false;  ///< a preflight's request N, from 1 on, gets answer N, then from the first
};

class ScriptedServer {
  public:
    explicit ScriptedServer(const Script& script) : script_(script) {}

    /// Takes bytes of the client. What is no HTTP is not answered.
    void receive(std::string_view bytes);
    /// What is said now, maybe no byte; nullopt where it listens. Valid until the next call.
    std::optional<std::string_view> say();
    /// After `say`: the connection ends here.
    bool closes() const { return answer_ != nullptr && answer_->closes; }
    /// After `say`: it goes on after this; nullopt where it waits for the client.
    std::optional<Duration> goes_on_after() const;
    /// The row that was answered last.
    std::optional<std::uint32_t> row() const { return row_; }

  private:
    enum class Phase : std::uint8_t { listening, due, going_on };
    void choose();
    std::uint64_t pick(std::string_view request_id) const;

    Script script_;
    RequestParser parser_;
    Phase phase_ = Phase::listening;
    const CannedAnswer* answer_ = nullptr;  ///< to the latest request
    std::optional<std::uint32_t> row_;
};

/// All of them.
const std::vector<CannedAnswer>& canned_answers();
/// Without those of more than 64 KiB: what a swarm can afford in every run.
const std::vector<CannedAnswer>& light_answers();

}  // namespace driftless::sim
