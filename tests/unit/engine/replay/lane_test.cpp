// Lanes, their parts and their servers' health.

#include "engine/replay/lane.hpp"

#include "engine/replay/health.hpp"
#include "engine/replay/lane_parts.hpp"
#include "tests/test.hpp"

namespace driftless {

// A kernel stamp against what must be true of it: inside the bounds it stands, a little outside it
// is moved in, else it is unknown. Bytes of a connection are counted modulo 2^32.

namespace {

// It is moved inside by the tolerance, and no further; none stays none.
TEST(KernelStamp, StandsInsideItsBounds) {
    expect_each([&](auto in) { return believable_stamp_ns(in, {1'000'000}, {2'000'000}); },
                gives(1'000'000, 1'000'000), gives(1'500'000, 1'500'000),
                gives(2'000'000, 2'000'000), gives(998'000, 1'000'000), gives(997'999, 0),
                gives(2'002'000, 2'000'000), gives(2'002'001, 0));
    EXPECT_EQ(believable_stamp_ns(0, {-10}, {10}), 0);
    // A connection that carries more than 4 GiB: the numbers wrap, inside a request and between
    // two.
    const std::uint32_t first = 0xFFFFFF00u;  // the last 256 bytes before the wrap
    EXPECT_TRUE(ends_in_request(0xFFFFFF00u, first, 1000));
    EXPECT_TRUE(ends_in_request(0xFFFFFFFFu, first, 1000) && ends_in_request(0, first, 1000));
    EXPECT_TRUE(ends_in_request(743, first, 1000));
    EXPECT_FALSE(ends_in_request(744, first, 1000));          // of the next request
    EXPECT_FALSE(ends_in_request(0xFFFFFEFFu, first, 1000));  // of the one before
    EXPECT_TRUE(ends_in_request(744, 744, 10));
    EXPECT_FALSE(ends_in_request(743, 744, 10));
}

struct Ending {
    Outcome outcome;
    std::int32_t sys_errno;
    bool operator==(const Ending&) const = default;
};

// The receive ends with `result` while `unsent` bytes of the request are still ours.
Ending end_of(std::int32_t result, std::size_t unsent, std::int32_t send_errno) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane{.state = LaneState::busy};
    const std::string request(100, 'x');
    lane.exchange.bytes = request;
    lane.exchange.accepted = 100 - unsent;
    lane.exchange.send_failed = send_errno != 0;
    lane.exchange.sys_errno = send_errno;
    read_answer(lane, {.result = result}, ring, counts, {});
    EXPECT_TRUE(lane.exchange.over && lane.broken);
    return {lane.exchange.outcome, lane.exchange.sys_errno};
}

TEST(AnswerEnd, ResetWhileSending) {
    EXPECT_EQ(end_of(-ECONNRESET, 10, 0), (Ending{Outcome::send_failed, ECONNRESET}));
    EXPECT_EQ(end_of(-ECONNRESET, 0, 0), (Ending{Outcome::truncated, ECONNRESET}));
    EXPECT_EQ(end_of(0, 10, 0), (Ending{Outcome::send_failed, 0}));
    // The kernel gives a socket's error once: the failed send had it, the receive sees an end.
    EXPECT_EQ(end_of(0, 10, EPIPE), (Ending{Outcome::send_failed, EPIPE}));
    EXPECT_EQ(end_of(-ECONNRESET, 10, EPIPE), (Ending{Outcome::send_failed, ECONNRESET}));
}

// How long the bytes of one read may have waited, by the record: fired at 100 us, read at 1,000 us.
std::int64_t waited_us(std::int64_t unread_since_us, std::int64_t kernel_us,
                       const HostSleep& sleep = {}) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane{.state = LaneState::busy,
              .exchange = {.limits = {100, 100'000}, .fired = Instant{100'000}}};
    Completion done{.bytes = "HTTP/1.1 200 OK\r\n"};
    done.result = static_cast<std::int32_t>(done.bytes.size());
    done.stamp = Instant{1'000'000};
    done.unread_since = Instant{unread_since_us * 1000};
    done.kernel_ns = kernel_us * 1000;
    read_answer(lane, done, ring, counts, sleep);
    EXPECT_FALSE(lane.exchange.over);
    EXPECT_EQ(counts.delay_max_ns, lane.exchange.waited.ns);
    return lane.exchange.waited.ns / 1000;
}

// From the kernel's stamp where the kernel was late itself; nothing came before the request left.
TEST(AnswerWait, CountsFromTheLastLookThatFoundNothing) {
    EXPECT_EQ(waited_us(400, 0), 600);
    EXPECT_EQ(waited_us(400, 990), 600);  // the stamp is that of the last packet only
    EXPECT_EQ(waited_us(400, 300), 700);
    // What was not read when the host slept has waited for all of the sleep, whatever came later
    // says.
    const HostSleep sleep{Instant{500'000}, milliseconds(7)};
    EXPECT_EQ(waited_us(400, 0, sleep), 7'600);
    EXPECT_EQ(waited_us(400, 300, sleep), 7'600);
    EXPECT_EQ(waited_us(501, 0, sleep), 499);
    EXPECT_EQ(waited_us(50, 0), 900);
    // An end that was seen late is a late stamp, too: a server may have given up on a client that
    // stood.
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane{.state = LaneState::busy, .exchange = {.fired = Instant{100'000}}};
    Completion done{
        .result = -ECONNRESET, .stamp = Instant{1'000'000}, .unread_since = Instant{200'000}};
    read_answer(lane, done, ring, counts, {});
    EXPECT_TRUE(lane.exchange.heard);
    EXPECT_EQ(lane.exchange.waited.ns, 800'000);
}

/// So many bytes that have waited for 2 ms, then some in time, 50 ms after the first look: how long
/// these may be late.
Duration late_behind(std::size_t bytes, std::size_t reads) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane{.state = LaneState::busy, .exchange = {.fired = Instant{100'000}}};
    lane.exchange.limits = {100, 1'000'000};
    const std::string blanks(bytes, '\n');
    Completion done{.bytes = blanks, .unread_since = Instant{} + milliseconds(10)};
    done.stamp = done.unread_since + milliseconds(2);
    done.result = static_cast<std::int32_t>(bytes);
    for (std::size_t i = 0; i < reads; ++i) {
        read_answer(lane, done, ring, counts, {});
    }
    lane.exchange.waited = {};
    done.stamp = Instant{} + milliseconds(60);
    done.unread_since = done.stamp - microseconds(50);
    done.kernel_ns = done.stamp.ns - 1000;
    done.stamps_last_byte = true;
    done.bytes = "\n";
    done.result = 1;
    read_answer(lane, done, ring, counts, {});
    EXPECT_FALSE(lane.exchange.over);
    return lane.exchange.waited;
}

// While so much waits, the window closes: what the server sends later is late, too.
TEST(AnswerWait, GoesOnWhereTheServerMayHaveHadToWait) {
    EXPECT_EQ(late_behind(8 * 1024, 2), milliseconds(50));
    EXPECT_EQ(late_behind(8 * 1024 - 1, 2), microseconds(50));
    EXPECT_EQ(late_behind(100, 1), microseconds(50));
}

// Counts as the kernel gives them for a connection, and what they say of one exchange.

TEST(ResendMeter, CountsWhatIsOfOneExchangeHoweverLate) {
    ResendMeter meter({2, 2});
    ResendMeter::Spent spent = meter.take({2, 2});
    EXPECT_EQ(spent.segments, 0u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({4, 4});  // in vain, and the server said so in time
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({6, 5});
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_TRUE(spent.lost);
    // The word of an exchange that is over hid the loss of the next one: it came before that was
    // sent, or in the middle of it.
    ResendMeter other_meter({0, 0});
    EXPECT_TRUE(other_meter.take({1, 0}).lost);  // the word is still under way
    const ResendMeter::Spent next = other_meter.take({2, 1});
    EXPECT_EQ(next.segments, 1u);
    EXPECT_TRUE(next.lost);
    EXPECT_FALSE(other_meter.take({2, 1}).lost);  // nothing was sent again
    EXPECT_FALSE(other_meter.take({3, 3}).lost);  // both words came, and that of its own
    // A loss is owed its word for ever.
    ResendMeter losing({0, 0});
    EXPECT_TRUE(losing.take({1, 0}).lost && losing.take({2, 1}).lost && losing.take({3, 2}).lost);
    // Copies that the network makes are said to be there twice, though nothing was sent again.
    ResendMeter copied({0, 0});
    EXPECT_FALSE(copied.take({1, 1}).copied);
    const ResendMeter::Spent other_spent = copied.take({2, 3});
    EXPECT_TRUE(other_spent.copied);
    EXPECT_EQ(other_spent.segments, 1u);
    EXPECT_FALSE(other_spent.lost);  // by that word, which may be a copy's
}

// How long a server keeps idle connections: what it says, and what its closes show.

Instant at(std::int64_t ms) {
    return Instant{} + milliseconds(ms);
}

TEST(IdleLimit, IsTheShortestThatIsSaidOrLearned) {
    IdleLimit limit;
    EXPECT_FALSE(limit.known());
    EXPECT_EQ(limit.closed_after().ns, INT64_MAX);
    KeepAliveLimits said;
    for (const std::uint32_t timeout : {75u, 5u, 60u, 0u}) {
        said.timeout_s = timeout;
        limit.hear(said);
    }
    EXPECT_EQ(limit.limit, seconds(5));
    EXPECT_EQ(limit.replaced_after(), seconds(4));
    EXPECT_EQ(limit.closed_after(), milliseconds(4500));
    // A timer closes again and again after the same time; the shortest is kept.
    IdleLimit learned;
    learned.see_close(milliseconds(5050), at(10'000));
    EXPECT_FALSE(learned.known());
    learned.see_close(milliseconds(5002), at(20'000));
    EXPECT_EQ(learned.limit, milliseconds(5002));
    learned.see_close(milliseconds(6000), at(30'000));
    EXPECT_EQ(learned.limit, milliseconds(5002));
    // A restart closes all at one instant, however long each has been idle.
    IdleLimit other_limit;
    for (int i = 0; i < 40; ++i) {
        other_limit.see_close(milliseconds(1700 + i % 2), at(9'000 + i));
        other_limit.see_close(milliseconds(700), at(9'000 + i));
    }
    EXPECT_FALSE(other_limit.known());
    other_limit.see_close(milliseconds(30'000), at(90'000));  // and another one, much later
    EXPECT_FALSE(other_limit.known());
    // Sooner than half a second no timer ends: such a server is overloaded, or wants no idle ones.
    IdleLimit momentary;
    for (int i = 0; i < 10; ++i) {
        momentary.see_close(IdleLimit::seen_min - Duration{1}, at(1'000 * i));
    }
    EXPECT_FALSE(momentary.known());
    momentary.see_close(IdleLimit::seen_min, at(20'000));
    momentary.see_close(IdleLimit::seen_min, at(21'000));
    EXPECT_EQ(momentary.limit, IdleLimit::seen_min);
}

// Which idle lane a row takes, whose connection it is, and when it has stood for too long.

constexpr Instant start{1'000'000'000};

class Shelf : public testing::Test {
  protected:
    /// An idle lane to target 0, whose last answer ended so long after the start.
    Lane& stand(Duration after, bool used = true) {
        lanes_.push_back(std::make_unique<Lane>());
        Lane& lane = *lanes_.back();
        lane.state = LaneState::idle;
        lane.used = used;
        lane.idle_since = start + after;
        shelf_.put(lane);
        return lane;
    }
    ConnectionState take(Lane& lane, const LaneWish& wish) {
        shelf_.remove(lane);
        return shelf_.claim(lane, wish).state;
    }
    void give_back(Lane& lane, Duration after) {
        lane.used = true;
        lane.idle_since = start + after;
        shelf_.put(lane);
    }

    std::vector<std::unique_ptr<Lane>> lanes_;
    LaneShelf shelf_{2, 4};
};

TEST_F(Shelf, GivesTheYoungest) {
    (void)stand(milliseconds(1));
    Lane& young = stand(milliseconds(2));
    EXPECT_EQ(shelf_.find(0, {}, start + seconds(1)), &young);
    EXPECT_EQ(shelf_.find(1, {}, start + seconds(1)), nullptr);
    EXPECT_EQ(std::tuple(shelf_.count(), shelf_.count(1)), std::tuple(2u, 0u));
}

// A retry wants a connection that nobody has used.
TEST_F(Shelf, GivesAFreshOneWhereItIsAskedFor) {
    Lane& fresh = stand(milliseconds(1), false);
    (void)stand(milliseconds(2));
    EXPECT_EQ(shelf_.find(0, {.fresh = true}, start + seconds(1)), &fresh);
    shelf_.remove(fresh);
    EXPECT_EQ(shelf_.find(0, {.fresh = true}, start + seconds(1)), nullptr);
}

// Of a server that closes after 4 s: replaced after 3 s, not used after 3.5 s, nor for a row that
// is due by then.
TEST_F(Shelf, LanesGrowOld) {
    shelf_.limit(0).hear({.timeout_s = 4, .max = {}});
    Lane& lane = stand(Duration{0});
    EXPECT_FALSE(shelf_.age(0, start + milliseconds(2999)));
    EXPECT_TRUE(shelf_.age(0, start + milliseconds(3000)));
    EXPECT_FALSE(shelf_.age(0, start + milliseconds(3000)));
    EXPECT_EQ(shelf_.oldest_ageing(0), &lane);
    EXPECT_EQ(std::tuple(shelf_.young(0), shelf_.ageing(0)), std::tuple(0u, 1u));
    EXPECT_EQ(shelf_.find(0, {}, start + milliseconds(3499)), &lane);
    EXPECT_EQ(shelf_.find(0, {.lead = milliseconds(1)}, start + milliseconds(3499)), nullptr);
    EXPECT_EQ(shelf_.over(0, start + milliseconds(3499)), nullptr);
    EXPECT_EQ(shelf_.find(0, {}, start + milliseconds(3500)), nullptr);
    EXPECT_EQ(shelf_.over(0, start + milliseconds(3500)), &lane);
}

// A session keeps its connection; others take it only where there is no other.
TEST_F(Shelf, ASessionHasAHome) {
    Lane& home = stand(milliseconds(1));
    EXPECT_EQ(take(home, {.session = 2}), ConnectionState::reused);
    give_back(home, milliseconds(10));
    Lane& other = stand(milliseconds(2));
    const Instant now = start + seconds(1);
    EXPECT_EQ(shelf_.find(0, {.session = 2}, now), &home);
    EXPECT_EQ(shelf_.find(0, {.session = 3}, now), &other);
    shelf_.remove(other);
    EXPECT_EQ(shelf_.find(0, {.session = 3}, now), &home);
    EXPECT_EQ(take(home, {.session = 2}), ConnectionState::sticky);
}

// Another session took it: the first one moves, and says so.
TEST_F(Shelf, ASessionThatLostItsHomeMoves) {
    Lane& home = stand(milliseconds(1));
    (void)take(home, {.session = 2});
    give_back(home, milliseconds(10));
    EXPECT_EQ(take(home, {.session = 3}), ConnectionState::reused);
    Lane& next = stand(milliseconds(2));
    EXPECT_EQ(take(next, {.session = 2}), ConnectionState::moved);
    give_back(next, milliseconds(20));
    EXPECT_EQ(shelf_.find(0, {.session = 2}, start + seconds(1)), &next);
}

// The last row of a session went elsewhere, because its home was busy at first: that waits for
// nobody now.
TEST_F(Shelf, AHomeThatNobodyWaitsForIsUnwanted) {
    Lane& home = stand(milliseconds(1));
    (void)take(home, {.session = 2});
    Lane& other = stand(milliseconds(2));
    shelf_.remove(other);
    give_back(home, milliseconds(10));
    const LaneShelf::Claim claim = shelf_.claim(other, {.session = 2, .last = true});
    EXPECT_EQ(std::tuple(claim.state, claim.unwanted), std::tuple(ConnectionState::moved, &home));
    EXPECT_EQ(home.session, no_session);
}

TEST_F(Shelf, SparesAgeingOnesFirstAndOwnedOnesLast) {
    shelf_.limit(0).hear({.timeout_s = 4, .max = {}});
    Lane& old = stand(Duration{0});
    Lane& owned = stand(seconds(1));
    (void)take(owned, {.session = 1});
    give_back(owned, seconds(1));
    Lane& young = stand(seconds(2));
    EXPECT_TRUE(shelf_.age(0, start + seconds(3)));
    EXPECT_EQ(shelf_.oldest(0), &old);
    shelf_.remove(old);
    EXPECT_EQ(shelf_.oldest(0), &young);
    shelf_.remove(young);
    EXPECT_EQ(shelf_.oldest(0), &owned);
}

// A lane that is closed opens again, and nothing else.
TEST(LaneState, FollowsThePicture) {
    for (const LaneState to : {LaneState::closed, LaneState::idle, LaneState::bound,
                               LaneState::busy, LaneState::closing}) {
        EXPECT_FALSE(may_follow(LaneState::closed, to) || may_follow(to, to));
    }
    EXPECT_TRUE(may_follow(LaneState::closed, LaneState::connecting));
    EXPECT_FALSE(may_follow(LaneState::connecting, LaneState::busy));
    EXPECT_FALSE(may_follow(LaneState::busy, LaneState::bound));
    EXPECT_FALSE(may_follow(LaneState::closing, LaneState::idle));
}

// Buckets of tokens: full at first, refilled evenly, and above 0 from the very nanosecond on.

constexpr Instant begin{5'000'000'000};

constexpr Instant at_ms(std::int64_t ms) {
    return begin + milliseconds(ms);
}

TEST(TokenBucket, HoldsThePeriodsTokens) {
    TokenBucket unbounded(TokenRate{});
    unbounded.take(UINT32_MAX, begin);
    EXPECT_LT(unbounded.opens(), Instant{});
    // 100 tokens a second: the last of them leaves at once, and then it is refilled by one in 10
    // ms.
    TokenBucket bucket(TokenRate{100, seconds(1)});
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(99, begin);
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(1, begin);
    EXPECT_EQ(bucket.opens(), begin + Duration{1});  // at 0 it is not above 0
    bucket.take(1, at_ms(5));                        // a half
    EXPECT_EQ(bucket.opens(), at_ms(10) + Duration{1});
    // Whatever its size it leaves on what there is, and those behind it wait for all of it.
    TokenBucket indebted(TokenRate{100, seconds(1)});
    indebted.take(1'000, begin);
    EXPECT_EQ(indebted.opens(), begin + seconds(9) + Duration{1});
    indebted.take(50, begin + seconds(30));  // full since long
    EXPECT_LT(indebted.opens(), begin + seconds(30));
    indebted.take(50, begin + seconds(30));
    EXPECT_EQ(indebted.opens(), begin + seconds(30) + Duration{1});
    // Three tokens in a nanosecond's seventh: what is left of a nanosecond is not lost.
    TokenBucket fine(TokenRate{7, Duration{1'000}});
    fine.take(7, begin);
    for (int i = 0; i < 7'000; ++i) {
        fine.take(1, fine.opens());
    }
    // 7,000 tokens behind the first one are 1,000,000 ns; each left a nanosecond late at most.
    EXPECT_GE(fine.opens(), begin + Duration{1'000'001});
    EXPECT_LE(fine.opens(), begin + Duration{1'000'001 + 1});
    // A debt of more than 290 years is one for ever.
    TokenBucket slow(TokenRate{1, seconds(3600)});
    slow.take(UINT32_MAX, begin);
    EXPECT_EQ(slow.opens(), never);
}

// Both have to be above 0; of the input a cache may hold a part.
TEST(TokenBudgets, CountInputAndOutput) {
    BudgetRules rules{.input = {100, seconds(1)}, .output = {10, seconds(1)}};
    TokenBudgets all(rules);
    all.look(begin);
    all.take(100, 60, 1, begin);
    EXPECT_FALSE(all.open());
    all.look(begin + Duration{1});
    EXPECT_TRUE(all.open());
    all.take(1, 0, 9, begin + Duration{1});
    EXPECT_FALSE(all.open());

    rules.uncached = true;
    TokenBudgets uncached(rules);
    uncached.look(begin);
    uncached.take(100, 60, 1, begin);
    EXPECT_TRUE(uncached.open());
    uncached.take(100, 40, 1, begin);
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
    uncached.take(5, 9, 1, begin + Duration{1});  // no less than nothing
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
}

// The loop's own figures: the recent maximum forgets, spans go where they belong, a second is
// whole.

// A peak stands until 64 further values have come, then it is forgotten.
TEST(RecentMax, ForgetsAPeakAfterItsWindow) {
    RecentMax<64> recent(0);
    recent.add(1000);
    for (int i = 0; i < 63; ++i) {
        recent.add(10);
        ASSERT_EQ(recent.value(), 1000);
    }
    recent.add(11);
    EXPECT_EQ(recent.value(), 11);
    // Until a whole window has come, what was assumed before it stands.
    RecentMax<4> first(300);
    for (const std::int64_t value : {10, 20, 30}) {
        first.add(value);
        ASSERT_EQ(first.value(), 300);
    }
    first.add(15);
    EXPECT_EQ(first.value(), 30);
    first.add(400);
    EXPECT_EQ(first.value(), 400);
}

// Spans of work add up by kind; only long gaps of spinning count as gaps.
TEST(Health, SumsSpansByKindWithoutStops) {
    Health health;
    health.begin(Instant{1000});
    health.note(Work::receive, Instant{2000}, Instant{2500});
    health.note(Work::receive, Instant{3000}, Instant{3700});
    health.note(Work::spin, Instant{4000}, Instant{4000 + Health::spin_gap_ns});
    health.note(Work::spin, Instant{5000}, Instant{5001 + Health::spin_gap_ns});
    health.note_fire(40, 7);
    health.note_fire(90, 5);
    health.note_wake(60);
    health.note_wake(20);
    EXPECT_FALSE(health.second_over(Instant{1'000'000'999}));
    EXPECT_TRUE(health.second_over(Instant{1'000'001'000}));
    const ClientSample sample = health.take(Instant{1'000'001'000});
    EXPECT_EQ(std::tuple(sample.busy_receive_ns, sample.turn_max_ns), std::tuple(1200, 700));
    EXPECT_EQ(sample.spin_gaps, 1);
    EXPECT_EQ(sample.spin_gap_max_ns, Health::spin_gap_ns + 1);
    EXPECT_EQ(std::tuple(sample.rows_fired, sample.drift_max_ns), std::tuple(2, 90));
    EXPECT_EQ(std::tuple(sample.drift_sum_ns, sample.submit_max_ns), std::tuple(130, 7));
    EXPECT_EQ(std::tuple(sample.wakes, sample.wake_error_max_ns), std::tuple(2, 60));
    EXPECT_EQ(std::tuple(sample.wake_error_sum_ns, sample.from_ns), std::tuple(80, 1000));
    EXPECT_EQ(sample.to_ns, 1'000'001'000);
    EXPECT_EQ(health.take(Instant{2'000'001'000}).rows_fired, 0);
    // A process that was stopped for 2.3 s in the middle of a read was not busy then; the sample of
    // that time is one, and none of a few microseconds follows it.
    Health other_health;
    other_health.begin(Instant{0});
    other_health.note(Work::receive, Instant{900'000'000}, Instant{3'200'000'000});
    const ClientSample stopped = other_health.take(Instant{3'200'000'000});
    EXPECT_EQ(stopped.busy_receive_ns, stop_min_ns);
    EXPECT_EQ(stopped.turn_max_ns, 2'300'000'000);
    EXPECT_FALSE(other_health.second_over(Instant{3'999'999'999}));
    EXPECT_TRUE(other_health.second_over(Instant{4'000'000'000}));
    (void)other_health.take(Instant{4'700'000'000});  // the next would be 0.3 s long
    EXPECT_FALSE(other_health.second_over(Instant{5'999'999'999}));
    EXPECT_TRUE(other_health.second_over(Instant{6'000'000'000}));
}

}  // namespace
}  // namespace driftless
