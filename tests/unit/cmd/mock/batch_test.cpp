#include "cmd/mock/batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace driftless::mock {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// A step of one answer takes 10 ms, of n (10 + 2.5 (n - 1)) ms; 1,000 prompt tokens take 50 ms.
Pace gpu() {
    Pace pace;
    pace.between = milliseconds(10);
    pace.batch_slowdown = 0.25;
    pace.prefill_tokens_per_s = 20'000;
    return pace;
}

Seat seat(std::int64_t ready_ns, std::uint32_t prompt, std::uint32_t tokens) {
    Seat made;
    made.ready = {ready_ns};
    made.prompt_left = prompt;
    made.steps = tokens;
    made.wanted = tokens;
    return made;
}

/// Lets all of it happen, and gives the seats in the order in which they were done.
std::vector<Seat*> run(Batch& batch) {
    std::vector<Seat*> reached;
    while (batch.next() < never) {
        batch.advance(batch.next(), reached);
    }
    return reached;
}

// The law in closed form: eight equal requests at once. One step computes all prompts and makes the
// first tokens; each later one makes a token of each.
TEST(Batch, EightEqualRequestsAtOnce) {
    Batch batch(gpu(), 0, 1);
    std::array<Seat, 8> seats;
    for (Seat& one : seats) {
        one = seat(7, 500, 4);
        batch.join(one);
    }
    EXPECT_EQ(batch.waiting(), 8u);
    EXPECT_EQ(batch.next(), Instant{7});
    EXPECT_EQ(run(batch).size(), 8u);
    const std::int64_t itl = 10 * ms + 7 * 10 * ms / 4;
    for (const Seat& one : seats) {
        EXPECT_EQ(one.begun.ns, 7);
        EXPECT_EQ(one.first.ns, 7 + itl + 8 * 500 * ms / 20);
        EXPECT_EQ(one.latest.ns, one.first.ns + 3 * itl);
        EXPECT_EQ(one.place, Seat::Place::out);
    }
    EXPECT_EQ(batch.running() + batch.waiting(), 0u);
}

// The same eight over two slots: pairs, one behind the other, in the order in which they joined.
TEST(Batch, SlotsAreGivenInOrderOfArrival) {
    Batch batch(gpu(), 2, 1);
    std::array<Seat, 8> seats;
    for (Seat& one : seats) {
        one = seat(0, 500, 4);
        batch.join(one);
    }
    (void)run(batch);
    const std::int64_t itl = 12 * ms + ms / 2;
    const std::int64_t pair = 4 * itl + 2 * 25 * ms;
    for (std::int64_t i = 0; i < 8; ++i) {
        const Seat& one = seats[static_cast<std::size_t>(i)];
        EXPECT_EQ(one.begun.ns, i / 2 * pair) << i;
        EXPECT_EQ(one.latest.ns, (i / 2 + 1) * pair) << i;
    }
}

// A prompt that comes makes the tokens of others wait: without a budget by its whole length at
// once, with one a part in each step.
TEST(Batch, PromptsTakeTheTimeOfTheOthersTokens) {
    for (const std::uint32_t budget : {0u, 401u}) {
        Pace pace = gpu();
        pace.step_tokens = budget;
        Batch batch(pace, 0, 1);
        Seat one = seat(0, 20, 10);
        Seat other = seat(15 * ms, 1000, 2);
        batch.join(one);
        batch.join(other);
        (void)run(batch);
        // Steps of the first alone end at 11 and 21 ms. Then the other's prompt: 1,000 tokens are
        // 50 ms; 400, 400 and 200 are 20, 20 and 10 ms, each beside a token of the first.
        const std::int64_t both = 12 * ms + ms / 2;
        EXPECT_EQ(other.begun.ns, 21 * ms);
        const int steps = budget == 0 ? 1 : 3;
        EXPECT_EQ(other.first.ns, 21 * ms + 50 * ms + steps * both) << budget;
        EXPECT_EQ(other.latest.ns, other.first.ns + both);
        const int alone = 10 - 2 - steps - 1;
        EXPECT_EQ(one.latest.ns, other.latest.ns + alone * 10 * ms) << budget;
    }
}

// Tokens go before prompts, whatever the budget: a prompt waits until they leave room for it.
TEST(Batch, ABudgetBelowTheBatchLeavesPromptsWaiting) {
    Pace pace = gpu();
    pace.step_tokens = 2;
    Batch batch(pace, 0, 1);
    Seat one = seat(0, 1, 4);
    Seat two = seat(0, 1, 4);
    Seat late = seat(1 * ms, 1, 1);
    batch.join(one);
    batch.join(two);
    batch.join(late);
    (void)run(batch);
    EXPECT_EQ(one.latest, two.latest);
    EXPECT_EQ(late.begun, one.latest);
}

// Who is ready at the instant at which a step begins is part of it; who is later waits for its end.
TEST(Batch, StepsBeginWhereStepsEnd) {
    Batch batch(gpu(), 0, 1);
    Seat one = seat(0, 20, 3);  // 11, 21, ..
    Seat in_time = seat(11 * ms, 20, 1);
    Seat late = seat(11 * ms + 1, 20, 1);
    batch.join(late);
    batch.join(in_time);
    batch.join(one);
    (void)run(batch);
    EXPECT_EQ(in_time.begun.ns, 11 * ms);
    EXPECT_EQ(late.begun, in_time.first);
    // Empty again: the next step begins when somebody is ready, not before and not on a grid.
    Seat after = seat(400 * ms + 1, 20, 1);
    batch.join(after);
    EXPECT_EQ(batch.next(), after.ready);
    (void)run(batch);
    EXPECT_EQ(after.first.ns, 411 * ms + 1);
}

// A caller that comes late, and one that asks at every instant, get the same instants.
TEST(Batch, ALateCallerChangesNoInstant) {
    std::array<Seat, 40> prompt;
    std::array<Seat, 40> late;
    for (const bool is_late : {false, true}) {
        Pace pace = gpu();
        pace.jitter = 0.3;
        pace.step_tokens = 700;
        Batch batch(pace, 5, 9);
        Random random(4);
        std::vector<Seat*> reached;
        std::int64_t at = 0;
        for (Seat& one : is_late ? late : prompt) {
            at += static_cast<std::int64_t>(random.below(60 * ms));
            one = seat(at, 1 + static_cast<std::uint32_t>(random.below(2'000)),
                       1 + static_cast<std::uint32_t>(random.below(9)));
            while (!is_late && batch.next() < one.ready) {
                batch.advance(batch.next(), reached);
            }
            batch.join(one);
        }
        batch.advance({at + 100'000 * ms}, reached);
        EXPECT_EQ(reached.size(), 40u);
    }
    for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_EQ(prompt[i].begun, late[i].begun) << i;
        EXPECT_EQ(prompt[i].first, late[i].first) << i;
        EXPECT_EQ(prompt[i].latest, late[i].latest) << i;
    }
}

// Who leaves in the middle of a step does not shorten it, and its slot is free for the next one.
TEST(Batch, AnswersLeaveWhereverTheyAre) {
    Batch batch(gpu(), 1, 1);
    Seat running = seat(0, 20, 100);
    Seat waiting = seat(0, 20, 1);
    Seat coming = seat(5 * ms, 20, 1);
    Seat last = seat(5 * ms, 20, 1);
    std::vector<Seat*> reached;
    for (Seat* one : {&running, &waiting, &coming, &last}) {
        batch.join(*one);
    }
    batch.advance({4 * ms}, reached);
    EXPECT_EQ(batch.running(), 1u);
    EXPECT_EQ(batch.waiting(), 3u);
    batch.leave(coming);
    batch.leave(waiting);
    batch.leave(running);
    batch.leave(running);  // out already
    EXPECT_EQ(batch.running(), 0u);
    EXPECT_EQ(batch.waiting(), 1u);
    EXPECT_EQ(batch.next().ns, 11 * ms);
    EXPECT_EQ(run(batch), std::vector<Seat*>{&last});
    EXPECT_EQ(last.begun.ns, 11 * ms);
    EXPECT_EQ(running.done + waiting.done + coming.done, 0u);
}

// Owners are told once, at the count that they wanted.
TEST(Batch, TellsWhenSoManyAreMade) {
    Batch batch(gpu(), 0, 1);
    Seat one = seat(0, 20, 5);
    one.wanted = 2;
    batch.join(one);
    std::vector<Seat*> reached;
    for (int i = 0; i < 4; ++i) {
        batch.advance(batch.next(), reached);
    }
    EXPECT_EQ(reached.size(), 1u);
    EXPECT_EQ(one.done, 3u);
    one.wanted = 5;
    EXPECT_EQ(run(batch).size(), 1u);
}

// Without any delay time still goes on.
TEST(Batch, StepsTakeTimeAtLeast) {
    Pace pace;
    pace.between = {0};
    pace.step_tokens = 10;
    Batch batch(pace, 0, 1);
    Seat one = seat(0, 95, 5);
    batch.join(one);
    (void)run(batch);
    EXPECT_EQ(one.first.ns, 10 * step_min.ns);
    EXPECT_EQ(one.latest.ns, 14 * step_min.ns);
}

}  // namespace
}  // namespace driftless::mock
