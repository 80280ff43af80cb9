/// Batch: answers that are made together, step by step, as an inference engine makes them.
///
/// A step gives each answer whose prompt is computed its next token, and computes prompts of the
/// others. It takes
///
///     between + between x batch_slowdown x (answers in the step - 1)
///             + prompt tokens in the step / prefill_tokens_per_s
///
/// so that more answers, and their prompts, slow all of them down. The last part of a prompt also
/// gives the first token. At the beginning of a step:
///  1. every answer whose prompt is computed takes part, with one token;
///  2. unfinished prompts get what is left of `step_tokens`, in the order in which they began;
///  3. answers that wait begin, first come first served, while there are slots and tokens left.
/// The next step begins where one ends. What becomes ready during a step waits for the next one;
/// an empty batch begins a step as soon as an answer is ready. This is the scheduling rule of vLLM
/// (v1/core/sched/scheduler.py) with running requests first and chunked prefill.
///
/// All instants follow from those at which answers joined and left: a caller that is late changes
/// none. Pure: no clock. A Seat is embedded in what it seats; the batch holds a pointer to it until
/// it is `out`, and never owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "cmd/mock/behaviour.hpp"
#include "engine/time/instant.hpp"
#include "proto/core/hash.hpp"

namespace driftless::mock {

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

}  // namespace driftless::mock
