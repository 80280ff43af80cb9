#include "cmd/mock/batch.hpp"

#include <algorithm>
#include <limits>

#include "proto/core/check.hpp"

namespace driftless::mock {

namespace {

constexpr std::uint64_t step_stream = 0x7374657073000000ULL;

/// What a step still has room for, and what it holds.
struct StepPlan {
    std::uint64_t tokens_left;
    std::uint64_t answers = 0;
    std::uint64_t prompt_tokens = 0;

    void add_prompt_of(Seat& seat) {
        const std::uint64_t part = std::min<std::uint64_t>(seat.prompt_left, tokens_left);
        seat.part = static_cast<std::uint32_t>(part);
        tokens_left -= part;
        prompt_tokens += part;
        answers += part > 0 ? 1 : 0;
    }
};

}  // namespace

Batch::Batch(const Pace& pace, std::uint32_t slots, std::uint64_t seed)
    : pace_(pace), slots_(slots), random_(mix64(seed ^ step_stream)) {}

void Batch::join(Seat& seat) {
    CHECK(seat.place == Seat::Place::out && seat.prompt_left > 0 && seat.steps > 0);
    seat.place = Seat::Place::coming;
    seat.part = seat.done = 0;
    seat.begun = seat.first = seat.latest = {0};
    coming_.emplace(seat.ready, &seat);
}

void Batch::leave(Seat& seat) {
    switch (seat.place) {
        case Seat::Place::out:
            break;
        case Seat::Place::coming: {
            auto [at, end] = coming_.equal_range(seat.ready);
            at = std::find_if(at, end, [&](const auto& entry) { return entry.second == &seat; });
            coming_.erase(at);
            break;
        }
        case Seat::Place::waiting:
            std::erase(waiting_, &seat);
            break;
        case Seat::Place::running:
            std::erase(running_, &seat);
            break;
    }
    seat.place = Seat::Place::out;
}

Instant Batch::next() const {
    if (step_ends_ < never || coming_.empty()) {
        return step_ends_;
    }
    return std::max(coming_.begin()->first, last_end_);
}

void Batch::advance(Instant now, std::vector<Seat*>& reached) {
    for (Instant at = next(); at <= now; at = next()) {  // each step takes `step_min` at least
        if (step_ends_ < never) {
            end_step(reached);
        }
        begin_step(at);
    }
}

void Batch::begin_step(Instant at) {
    while (!coming_.empty() && coming_.begin()->first <= at) {
        Seat* const seat = coming_.begin()->second;
        coming_.erase(coming_.begin());
        seat->place = Seat::Place::waiting;
        waiting_.push_back(seat);
    }
    StepPlan plan{std::numeric_limits<std::uint64_t>::max()};
    for (const Seat* seat : running_) {
        plan.answers += seat->prompt_left == 0 ? 1 : 0;
    }
    if (pace_.step_tokens != 0) {
        plan.tokens_left =
            pace_.step_tokens - std::min<std::uint64_t>(pace_.step_tokens, plan.answers);
    }
    for (Seat* seat : running_) {
        plan.add_prompt_of(*seat);
    }
    while (!waiting_.empty() && plan.tokens_left > 0 && (slots_ == 0 || running_.size() < slots_)) {
        Seat* const seat = waiting_.front();
        waiting_.pop_front();
        seat->place = Seat::Place::running;
        seat->begun = at;
        running_.push_back(seat);
        plan.add_prompt_of(*seat);
    }
    if (plan.answers > 0) {
        step_ends_ = at + step_time(plan.answers, plan.prompt_tokens);
    }
}

void Batch::end_step(std::vector<Seat*>& reached) {
    last_end_ = step_ends_;
    step_ends_ = never;
    std::erase_if(running_, [&](Seat* seat) { return finish_step_of(*seat, reached); });
}

/// Its part of the step that has ended. True: it has all its tokens.
bool Batch::finish_step_of(Seat& seat, std::vector<Seat*>& reached) const {
    seat.prompt_left -= seat.part;
    seat.part = 0;
    if (seat.prompt_left > 0) {
        return false;
    }
    seat.first = seat.done == 0 ? last_end_ : seat.first;
    seat.latest = last_end_;
    if (++seat.done == seat.wanted) {
        reached.push_back(&seat);
    }
    const bool all = seat.done == seat.steps;
    seat.place = all ? Seat::Place::out : seat.place;
    return all;
}

Duration Batch::step_time(std::uint64_t answers, std::uint64_t prompt_tokens) {
    const std::int64_t alone = pace_.between.ns;
    const double others = static_cast<double>(answers - 1);
    const auto slower =
        static_cast<std::int64_t>(pace_.batch_slowdown * others * static_cast<double>(alone));
    const std::uint64_t rate = pace_.prefill_tokens_per_s;
    const std::uint64_t prompts = rate == 0 ? 0 : prompt_tokens * 1'000'000'000 / rate;
    const Duration step{alone + slower + static_cast<std::int64_t>(prompts)};
    return std::max(stretched(step, pace_.jitter, random_), step_min);
}

}  // namespace driftless::mock
