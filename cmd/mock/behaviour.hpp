/// When a server would make its tokens, and what it does wrong on purpose. Plain rules over plain
/// values: no clock, no global randomness; the same seed and request give the same instants.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/time/instant.hpp"
#include "proto/core/hash.hpp"

namespace driftless::mock {

/// The speed of the pretended model.
struct Pace {
    Duration first = milliseconds(5);     ///< to the first token, however short the prompt
    Duration per_uncached_token{0};       ///< added to it for each prompt token not in the cache
    Duration between = milliseconds(10);  ///< from token to token
    double jitter = 0;                    ///< each delay is stretched by a factor in 1 +- this
    std::uint32_t tokens_per_chunk = 1;   ///< tokens that leave together, as speculation does

    // Of a Batch. Where all three are 0, no answer delays another.
    double batch_slowdown = 0;  ///< a step grows by this share of `between` for each other answer
    std::uint64_t prefill_tokens_per_s = 0;  ///< uncached tokens, of all answers; 0: without limit
    std::uint32_t step_tokens = 0;  ///< computed in a step; prompts are split to fit. 0: no limit

    /// Answers are made in the steps of a Batch, and not each on a schedule of its own.
    bool in_steps() const {
        return batch_slowdown > 0 || prefill_tokens_per_s != 0 || step_tokens != 0;
    }
};

/// `delay` times a factor that is drawn from 1 +- `jitter`. Nothing is drawn where that is 0.
Duration stretched(Duration delay, double jitter, Random& random);

/// The instants of one answer. The first chunk is due a first-token delay after the start, every
/// further one its tokens' delays after the one before: what is sent late delays nothing else.
class AnswerSchedule {
  public:
    void start(const Pace& pace, Instant from, std::uint32_t uncached_tokens, std::uint64_t seed);
    /// When the next chunk is due.
    Instant next() const { return next_; }
    /// The chunk has left and the following one carries `tokens`.
    void advance(const Pace& pace, std::uint32_t tokens);

  private:
    Instant next_;
    Random random_{0};
};

enum class Fault : std::uint8_t {
    none,
    refuse,     ///< reset the connection: right after accepting it, or at the head of its row
    reset,      ///< reset it in the middle of the answer
    stall,      ///< send no more in the middle of the answer, keep the connection open
    truncate,   ///< close in good order in the middle of the answer, without its last chunk
    malformed,  ///< one event in the middle is broken JSON; the answer goes on
    error,      ///< an error object in the middle of the stream, then [DONE]
    http_429,   ///< 429 with Retry-After
    http_500,   ///< 500 with vLLM's body
    slow,       ///< the first bytes of the answer leave one by one
};

/// As the command line spells it ("429" for http_429), and back.
const char* name_of(Fault fault);
std::optional<Fault> find_fault(std::string_view name);
/// All names that find_fault knows, comma-separated. Static storage.
const char* fault_names();

struct FaultRule {
    Fault fault = Fault::none;
    double probability = 0;  ///< where there is no row
    std::optional<std::uint64_t> row;
};

/// The fault of one request: the first rule for its row, else one drawn from the probabilities by
/// `seed`. Refusal by probability belongs to connections and is left out.
Fault fault_of_request(const std::vector<FaultRule>& rules, std::optional<std::uint64_t> row,
                       std::uint64_t seed);
/// Whether a new connection is refused.
bool refuses_connection(const std::vector<FaultRule>& rules, std::uint64_t seed);

/// The row that a request id names: its digits after the last '-'. None for the probes of a
/// preflight (RequestName) and for ids that end otherwise.
std::optional<std::uint64_t> row_of_request_id(std::string_view id);

}  // namespace driftless::mock
