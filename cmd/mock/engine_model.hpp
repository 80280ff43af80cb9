/// The engine that the mock pretends: when it makes tokens, alone and in a batch, what its prefix
/// cache holds, what it has answered before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/time.hpp"
#include "proto/core/hash.hpp"

namespace driftless::mock {

// When a server would make its tokens. Plain rules over plain values: no clock, no global
// randomness; the same seed and request give the same instants.

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

// Batch: answers that are made together, step by step, as an inference engine makes them.
//
// A step gives each answer whose prompt is computed its next token, and computes prompts of the
// others. It takes
//
//     between + between x batch_slowdown x (answers in the step - 1)
//             + prompt tokens in the step / prefill_tokens_per_s
//
// so that more answers, and their prompts, slow all of them down. The last part of a prompt also
// gives the first token. At the beginning of a step:
//  1. every answer whose prompt is computed takes part, with one token;
//  2. unfinished prompts get what is left of `step_tokens`, in the order in which they began;
//  3. answers that wait begin, first come first served, while there are slots and tokens left.
// The next step begins where one ends. What becomes ready during a step waits for the next one;
// an empty batch begins a step as soon as an answer is ready. This is the scheduling rule of vLLM
// (v1/core/sched/scheduler.py) with running requests first and chunked prefill.
//
// All instants follow from those at which answers joined and left: a caller that is late changes
// none. Pure: no clock. A Seat is embedded in what it seats; the batch holds a pointer to it until
// it is `out`, and never owns it.

/// A step takes at least this long, so that time goes on where all delays are 0.
inline constexpr Duration step_min = microseconds(1);

/// One answer in the batch.
struct Seat {
    void* owner = nullptr;          ///< for whoever reads `reached`
    Instant ready{0};               ///< from here on it waits to be begun
    std::uint32_t prompt_left = 0;  ///< tokens of its prompt that are still to be computed; >= 1
    std::uint32_t steps = 0;   ///< that it takes once its prompt is computed, the first included
    std::uint32_t wanted = 0;  ///< its owner is told when so many of these are done

    // Written by the batch.
    enum class Place : std::uint8_t { out, coming, waiting, running } place = Place::out;
    std::uint32_t part = 0;  ///< prompt tokens of it in the current step
    std::uint32_t done = 0;  ///< of `steps`
    Instant begun{0};        ///< beginning of its first step; 0: not yet
    Instant first{0};        ///< end of the step that made its first token; 0: not yet
    Instant latest{0};       ///< the same of its latest token
};

class Batch {
  public:
    /// `slots` 0: without limit. Every step is stretched by the pace's jitter, drawn by `seed`.
    Batch(const Pace& pace, std::uint32_t slots, std::uint64_t seed);

    /// Takes a seat that is `out`, with its first five fields set. It must stay where it is.
    void join(Seat& seat);
    /// The answer is given up. A step that it is part of takes as long as it would have.
    void leave(Seat& seat);

    /// When `advance` has something to do: a step ends or begins. `never`: no answer is in it.
    Instant next() const;
    /// Ends and begins all steps up to `now`, that instant included. Appends to `reached` the seats
    /// that have done as many steps as was wanted; those that have done all of them are `out`.
    void advance(Instant now, std::vector<Seat*>& reached);

    std::size_t running() const { return running_.size(); }
    std::size_t waiting() const { return coming_.size() + waiting_.size(); }

  private:
    void begin_step(Instant at);
    void end_step(std::vector<Seat*>& reached);
    bool finish_step_of(Seat& seat, std::vector<Seat*>& reached) const;
    Duration step_time(std::uint64_t answers, std::uint64_t prompt_tokens);

    Pace pace_;
    std::uint32_t slots_;
    Random random_;
    std::multimap<Instant, Seat*> coming_;  ///< not ready yet, or not looked at; by instant
    std::deque<Seat*> waiting_;             ///< ready, without a slot
    std::vector<Seat*> running_;            ///< in the order in which they began
    Instant step_ends_ = never;             ///< `never`: no step is going on
    Instant last_end_{0};
};

/// PrefixCache: which prefix blocks the server would still hold, least recently used out first.
///
/// A block is named by the 64-bit value of PromptCount, which covers everything before it. Nothing
/// is stored but the names. Within one prompt the first blocks count as used last, so that a prefix
/// is forgotten from its end. Owned by the core; one thread.
class PrefixCache {
  public:
    /// `blocks_max` 0: without limit.
    explicit PrefixCache(std::size_t blocks_max);

    /// How many of the first blocks are present, counted up to the first one that is not.
    std::size_t longest_prefix(std::span<const std::uint64_t> blocks) const;

    /// Enters all blocks, or marks them as used now.
    void enter(std::span<const std::uint64_t> blocks);

    std::size_t size() const { return nodes_.size(); }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    struct Node {
        std::uint64_t block = 0;
        std::uint32_t newer = none;
        std::uint32_t older = none;
    };

    std::size_t cell_of(std::uint64_t block) const;
    void unlink(std::uint32_t node);
    void link_newest(std::uint32_t node);
    std::uint32_t add(std::uint64_t block);
    void empty_cell(std::size_t cell);
    void grow();

    std::size_t blocks_max_;
    std::uint32_t newest_ = none;
    std::uint32_t oldest_ = none;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> cells_;  ///< open addressing over nodes; a power of two, half empty
};

// Whether the history of a chat holds what the mock has answered before.
//
// A reply is named by a digest of its text. HistoryReader names the assistant's messages of a
// request while its body is read; SentReplies remembers the names of what was sent, and counts.
// Texts are compared as they are in the JSON: the mock's words need no escapes there. Nothing is
// held but names.

/// Names the assistant's messages of one request, in order. Reused from request to request.
class HistoryReader {
  public:
    void reset() { replies_.clear(); }

    void begin_message() {
        text_ = Digest();
        is_assistant_ = false;
    }
    /// A piece of the message's text. Further texts of the same message are added to it.
    void add_text(std::string_view bytes) { text_.add(bytes); }
    void set_assistant(bool is_assistant) { is_assistant_ = is_assistant; }
    void end_message() {
        if (std::exchange(is_assistant_, false)) {
            replies_.push_back(text_.value());
        }
    }

    std::span<const std::uint64_t> replies() const { return replies_; }

  private:
    Digest text_;
    bool is_assistant_ = false;
    std::vector<std::uint64_t> replies_;
};

/// The assistant's messages of one request.
struct HistoryCount {
    std::uint32_t known = 0;      ///< sent before as a reply of this session
    std::uint32_t elsewhere = 0;  ///< sent before, but only to other sessions
    std::uint32_t unknown = 0;    ///< never sent, or forgotten

    bool operator==(const HistoryCount&) const = default;
};

/// What was sent, least recently used out first.
class SentReplies {
  public:
    /// Remembers so many replies, at least 1: about 70 bytes each.
    explicit SentReplies(std::uint32_t replies_max)
        : anywhere_(replies_max), in_session_(replies_max) {}

    /// `text` has been sent as a reply. `session` may be empty.
    void enter(std::string_view session, std::string_view text);
    /// Those that are known count as used now.
    HistoryCount count(std::string_view session, std::span<const std::uint64_t> replies);

  private:
    // A name by itself is a prompt of one block.
    PrefixCache anywhere_;
    PrefixCache in_session_;  ///< of names that cover the session, too
};

}  // namespace driftless::mock
