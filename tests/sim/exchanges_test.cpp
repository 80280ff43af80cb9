// What becomes of a row and of its connection when their exchange is over.

#include "engine/replay/exchanges.hpp"

#include <cctype>

#include "tests/sim/by_hand.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

// An exchange on a connection that had been idle for 0.1 s, and had been used: its server closed
// it before anything came. Each test changes one thing.
struct Over : ByHand {
    explicit Over(const Options& options = {}) : ByHand(std::vector<SmallRow>(2), options) {
        arm();
        parts.turns_wait = true;
        parts.targets.resize(1);
        lane.state = LaneState::busy;
        lane.timer.handler = [](Timer&, Instant) {};
        lane.used = true;
        lane.broken = true;
        lane.idle_since = driver.now();
        pass(milliseconds(100));
        row = &leave();
        in_flight.add(*row);
        ExchangeState& exchange = lane.exchange;
        exchange.row = row;
        exchange.fired = driver.now();
        exchange.over = true;
        exchange.outcome = Outcome::truncated;
    }

    LaneParts parts{loop, settings, bodies, ring, {}, {}, {}};
    LaneShelf shelf{1, 0};
    WireStamps stamps{parts};
    InFlight in_flight{parts};
    Exchanges exchanges{parts, shelf, stamps, in_flight};
    Lane lane;
    RowUnderway* row = nullptr;
};

using Outcomes = std::vector<Outcome>;

void expect_end(Over& over, Outcome outcome) {
    over.lane.exchange.outcome = outcome;
    EXPECT_FALSE(over.exchanges.settle(over.lane));
    EXPECT_EQ(over.ends(), Outcomes{outcome});
    EXPECT_EQ(std::tuple(over.in_flight.count(), over.in_flight.ended().count), std::tuple(0u, 1u));
    EXPECT_TRUE(over.parts.again.empty());
    EXPECT_EQ(over.parts.counts.stale_retries, 0u);
    EXPECT_EQ(over.lane.exchange.row, nullptr);
}

void expect_retry(Over& over) {
    EXPECT_FALSE(over.exchanges.settle(over.lane));
    EXPECT_EQ(over.parts.again.pop_front(), over.row);
    EXPECT_EQ(std::tuple(over.row->stage, over.row->tries), std::tuple(RowStage::again, 1u));
    EXPECT_EQ(over.in_flight.count(), 1u) << "it is still in flight";
    EXPECT_EQ(over.parts.counts.stale_retries, 1u);
    EXPECT_TRUE(over.ends().empty());
    EXPECT_EQ(over.lane.exchange.row, nullptr);
}

TEST(Settle, AStaleConnectionAsksForAnotherTry) {
    Over truncated;
    expect_retry(truncated);
    Over send_failed;
    send_failed.lane.exchange.outcome = Outcome::send_failed;
    expect_retry(send_failed);
    // One that was opened ahead of need, and stood for half a second.
    Over young;
    young.lane.used = false;
    expect_end(young, Outcome::truncated);
    for (const Duration less : {Duration{0}, Duration{1}}) {
        Over over;
        over.lane.used = false;
        over.lane.idle_since = over.lane.exchange.fired - IdleLimit::seen_min + less;
        if (less.ns == 0) {
            expect_retry(over);
        } else {
            expect_end(over, Outcome::truncated);
        }
    }
}

// An answer that began is not asked for again.
TEST(Settle, WhatEndsOtherwiseEnds) {
    Over began;
    began.lane.exchange.any_byte = true;
    expect_end(began, Outcome::truncated);
    // A close that crosses the request comes within a round trip; a later one is the server's
    // answer.
    Over late;
    late.lane.exchange.fired = late.driver.now() - Exchanges::crossing_max;
    expect_end(late, Outcome::truncated);
    for (const Outcome outcome : {Outcome::timeout_first_byte, Outcome::cancelled,
                                  Outcome::bad_http, Outcome::client_failed}) {
        Over over;
        expect_end(over, outcome);
    }
    Over whole;
    whole.lane.broken = false;  // the connection has not ended
    expect_end(whole, Outcome::truncated);
    Over over;
    over.row->tries = Exchanges::stale_retries_max;
    over.lane.exchange.outcome = Outcome::truncated;
    EXPECT_FALSE(over.exchanges.settle(over.lane));
    EXPECT_EQ(over.row->stage, RowStage::ended);
    const std::vector<Event> events = over.drain();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].end.stale_retries, 1u);
    // A stale connection shows how long its server lets one stand.
    for (const int closes : {1, 2}) {
        Over other_over;
        LaneShelf& shelf = other_over.shelf;
        const Instant now = other_over.driver.now();
        if (closes == 2) {
            shelf.limit(0).see_close(seconds(2), now - seconds(1));
        }
        other_over.lane.idle_since = other_over.lane.exchange.fired - seconds(2);
        expect_retry(other_over);
        EXPECT_EQ(shelf.limit(0).known(), closes == 2);
    }
}

// A whole answer on a connection that its server keeps.
struct Whole : Over {
    explicit Whole(const Options& options = {}) : Over(options) {
        lane.broken = false;
        lane.exchange.outcome = Outcome::ok;
        lane.exchange.any_byte = true;
        lane.exchange.reusable = true;
        lane.exchange.last_byte = driver.now();
    }
};

TEST(Settle, AConnectionIsKeptWhereItCanBe) {
    Whole whole;
    const Instant last_byte = whole.lane.exchange.last_byte;
    whole.pass(milliseconds(1));
    EXPECT_TRUE(whole.exchanges.settle(whole.lane));
    const std::vector<Event> events = whole.drain();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].stamp_ns, last_byte.ns) << "it ended with its last byte";
    EXPECT_EQ(events[0].flags & event_answered_early, 0);
    EXPECT_TRUE(whole.lane.used);
    Whole::Options fresh;
    fresh.settings.connection = ConnectionRule::fresh;
    Whole of_one_row(fresh);
    EXPECT_FALSE(of_one_row.exchanges.settle(of_one_row.lane));

    Whole closing;
    closing.lane.exchange.reusable = false;
    EXPECT_FALSE(closing.exchanges.settle(closing.lane));

    Whole broken;
    broken.lane.broken = true;
    EXPECT_FALSE(broken.exchanges.settle(broken.lane));

    const std::string request(100, 'x');
    Whole unsent;
    unsent.lane.exchange.bytes = request;
    unsent.lane.exchange.accepted = 99;
    EXPECT_FALSE(unsent.exchanges.settle(unsent.lane));
    const std::vector<Event> other_events = unsent.drain();
    EXPECT_EQ(other_events.front().flags, event_unfinished) << "of its `sent`";
    EXPECT_NE(other_events.back().flags & event_answered_early, 0) << "it had not been sent whole";
}

TEST(Settle, AConnectionCarriesAsManyAnswersAsItsServerAllows) {
    Whole whole;
    whole.lane.answers_left = 1;
    EXPECT_FALSE(whole.exchanges.settle(whole.lane));
    Whole more;
    more.lane.answers_left = 2;
    EXPECT_TRUE(more.exchanges.settle(more.lane));
    EXPECT_EQ(more.lane.answers_left, 1u);
    // The number may be of all answers, or of those to come: whatever it means, one is not too
    // many.
    struct Case {
        std::uint32_t before;
        std::uint32_t max;
        std::uint32_t left;
    };
    constexpr std::uint32_t unknown = Lane::answers_unknown;
    for (const Case& each : {Case{unknown, 0, 0}, Case{unknown, 1, 0}, Case{unknown, 2, 1},
                             Case{unknown, 5, 4}, Case{9, 3, 3}, Case{9, 0, 0}}) {
        Whole other_whole;
        other_whole.lane.answers_left = each.before;
        other_whole.lane.parser.reset();
        (void)other_whole.lane.parser.feed(
            "HTTP/1.1 200 OK\r\nKeep-Alive: max=" + std::to_string(each.max) +
            "\r\nContent-Length: 0\r\n\r\n");
        EXPECT_EQ(other_whole.exchanges.settle(other_whole.lane), each.left > 0) << each.max;
        EXPECT_EQ(other_whole.lane.answers_left, each.left) << each.max;
    }
    // What an answer says of the number never adds to what is left.
    Whole other_whole;
    other_whole.lane.answers_left = 3;
    other_whole.lane.parser.reset();
    (void)other_whole.lane.parser.feed(
        "HTTP/1.1 200 OK\r\nKeep-Alive: max=100\r\nContent-Length: 0\r\n\r\n");
    ASSERT_EQ(other_whole.lane.parser.keep_alive_limits().max, 100u);
    EXPECT_TRUE(other_whole.exchanges.settle(other_whole.lane));
    EXPECT_EQ(other_whole.lane.answers_left, 2u);
}

// An exchange on which an answer comes in.
struct Comes : Over {
    Comes() {
        lane.broken = false;
        lane.exchange.over = false;
        lane.exchange.outcome = Outcome::ok;
        lane.exchange.limits = {100, 1 << 20};
        lane.parser.reset();
    }
    ~Comes() { loop.timers().clear(lane.timer); }

    Instant read(std::string_view bytes) {
        Completion done{
            .result = static_cast<std::int32_t>(bytes.size()), .more = true, .bytes = bytes};
        done.stamp = done.unread_since = driver.now();
        exchanges.received(lane, done);
        return done.stamp;
    }
};

constexpr std::string_view whole_answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

// Rows that wait for an answer leave behind a whole one with status 200 only.
TEST(Received, OnlyAWholeAnswerIsToldOnce) {
    for (const std::string_view bytes :
         {whole_answer,
          std::string_view("HTTP/1.1 500 Internal Error\r\nContent-Length: 0\r\n\r\n"),
          std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"),
          std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"),
          std::string_view("not HTTP\r\n\r\n")}) {
        Comes comes;
        const Instant stamp = comes.read(bytes);
        const bool told = bytes == whole_answer;
        EXPECT_EQ(comes.in_flight.settling(), told ? 1u : 0u) << bytes;
        EXPECT_EQ(comes.in_flight.answered().first, told ? comes.row : nullptr) << bytes;
        EXPECT_EQ(comes.row->answered, told) << bytes;
        if (told) {
            EXPECT_EQ(comes.row->ended, stamp);
            EXPECT_EQ(comes.row->stage, RowStage::in_flight) << "its end comes with its lane's";
            EXPECT_TRUE(comes.in_flight.ended().empty());
        }
        comes.lane.end(Outcome::cancelled);
        (void)comes.exchanges.settle(comes.lane);
        EXPECT_EQ(comes.in_flight.settling(), 0u);
        EXPECT_EQ(comes.in_flight.ended().first, comes.row);
    }
    // A server that goes on behind the end has said nothing that counts, but for its connection.
    Comes comes;
    const Instant stamp = comes.read(whole_answer);
    (void)comes.read(whole_answer);
    EXPECT_EQ(comes.in_flight.settling(), 1u);
    EXPECT_EQ(comes.in_flight.answered().count, 1u);
    EXPECT_EQ(comes.row->ended, stamp);
    EXPECT_FALSE(comes.exchanges.settle(comes.lane)) << "the connection is not used again";
    EXPECT_EQ(comes.ends(), Outcomes{Outcome::ok});
    // It was there in time, or nobody knows: a deadline that has passed meanwhile changes nothing.
    Comes other_comes;
    const Timeouts limits;
    other_comes.lane.exchange.fired = other_comes.driver.now() - limits.total - seconds(1);
    const Instant other_stamp = other_comes.read(whole_answer);
    EXPECT_EQ(other_comes.lane.exchange.outcome, Outcome::ok);
    EXPECT_EQ(other_comes.lane.exchange.over_since, other_stamp);
    EXPECT_EQ(other_comes.lane.exchange.free_since, other_stamp);
    EXPECT_FALSE(other_comes.lane.timer.set());
}

// A process that was stopped reads the first bytes of an answer behind its deadline: more may be
// there that came in time.
TEST(Watch, TheFirstReadMayHoldASilence) {
    Over over;
    ExchangeState& exchange = over.lane.exchange;
    exchange.over = false;
    exchange.limits = {100, 1 << 20};
    const Instant deadline = exchange.fired + Timeouts().total;
    Completion done{.bytes = "HTTP/1.1 200 OK\r\n"};
    done.result = static_cast<std::int32_t>(done.bytes.size());
    done.more = true;
    done.stamp = deadline + seconds(1);
    over.exchanges.received(over.lane, done);
    EXPECT_TRUE(exchange.any_byte);
    EXPECT_FALSE(exchange.over);
    EXPECT_EQ(over.loop.timers().next(), deadline);
    over.loop.timers().clear(over.lane.timer);
    // One read may hold a silence that its limit would have ended.
    for (const bool hidden : {true, false}) {
        Over other_over;
        ExchangeState& other_exchange = other_over.lane.exchange;
        other_exchange.over = false;
        other_exchange.limits = {100, 1 << 20};
        Completion other_done{.bytes = "HTTP/1.1 200 OK\r\n"};
        other_done.result = static_cast<std::int32_t>(other_done.bytes.size());
        other_done.more = true;
        other_done.unread_since = other_exchange.fired + milliseconds(5);
        other_done.stamp = other_done.unread_since + Timeouts().idle + Duration{hidden ? 1 : 0};
        other_over.exchanges.received(other_over.lane, other_done);
        EXPECT_EQ(other_exchange.past_limit, hidden);
        other_over.loop.timers().clear(other_over.lane.timer);
    }
}

// Each deadline, and 1 ns before it.
TEST(Watch, EndsAnExchangeAtItsDeadlines) {
    struct Case {
        Duration since_fire;
        bool any_byte;
        Outcome outcome;
    };
    const Timeouts limits;
    for (const Case& each : {Case{limits.first_byte, false, Outcome::timeout_first_byte},
                             Case{limits.idle, true, Outcome::timeout_idle},
                             Case{limits.total, true, Outcome::timeout_total}}) {
        Over over;
        ExchangeState& exchange = over.lane.exchange;
        exchange.over = false;
        exchange.any_byte = each.any_byte;
        exchange.last_byte = each.outcome == Outcome::timeout_total
                                 ? exchange.fired + each.since_fire - seconds(1)
                                 : exchange.fired;
        const Instant deadline = exchange.fired + each.since_fire;
        over.exchanges.watch(over.lane, deadline - Duration{1});
        EXPECT_FALSE(exchange.over);
        EXPECT_EQ(over.loop.timers().next(), deadline);
        over.exchanges.watch(over.lane, deadline);
        EXPECT_TRUE(exchange.over);
        EXPECT_EQ(exchange.outcome, each.outcome);
        EXPECT_EQ(exchange.over_since, deadline);
        over.loop.timers().clear(over.lane.timer);
    }
}

}  // namespace

// Whatever a server says has its one named outcome: every golden case, and answers without end,
// through the whole replay; in one piece, in many, byte by byte.

/// Names the case in a test's report.
void PrintTo(const CannedAnswer& answer, std::ostream* out) {
    *out << answer.name;
}

namespace {

// One row of two tokens.
Trace one_row() {
    Trace trace{.block_size = 512, .name_spaces = 1};
    TraceRow row;
    row.input_length = 5000;  // more than the first slice of a request
    row.output_length = canned_tokens;
    row.ids_count = 10;
    trace.ids.append(std::vector<std::uint64_t>(10, 7));
    trace.rows.push_back(row);
    return trace;
}

SimResult answered_with(const CannedAnswer& answer, const Weather& weather,
                        const TlsWeather& tls = {}) {
    const std::vector<CannedAnswer> answers{answer};
    const Trace trace = one_row();
    return run(
        trace,
        SimOptions{.seed = 21, .weather = weather, .tls = tls, .script = {&answers, 1.0, 0}});
}

/// Its length is said, or it comes in chunks: the end of the connection completes nothing.
bool is_framed(const std::string& wire) {
    std::string head = wire.substr(0, wire.find("\r\n\r\n"));
    std::transform(head.begin(), head.end(), head.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return head.find("content-length:") != std::string::npos ||
           head.find("transfer-encoding:") != std::string::npos;
}

class Answers : public testing::TestWithParam<CannedAnswer> {};

TEST_P(Answers, HaveTheirOutcomeHoweverTheyAreCut) {
    const CannedAnswer& answer = GetParam();
    Weather in_one_piece{.split = 0};
    Weather in_many{.split = 0.9, .no_buffers = 0.2, .overflow = 0.2};
    std::vector<Weather> weathers{in_one_piece, in_many};
    if (answer.wire.size() + answer.again.size() < 16'000) {
        weathers.emplace_back().bytewise = true;
    }
    for (const Weather& weather : weathers) {
        const SimResult result = lawful(answered_with(answer, weather));
        ASSERT_EQ(result.records.size(), 1u);
        const Record& record = result.records[0];
        EXPECT_TRUE(record.outcome == answer.outcome || record.outcome == answer.or_else)
            << name_of(record.outcome) << " instead of " << name_of(answer.outcome) << ": "
            << record.error.value_or("");
        const std::string error = record.error.value_or("");
        EXPECT_TRUE(record.outcome != Outcome::limit_exceeded ||
                    error.find("limit of ") != std::string::npos ||
                    error.find("more than ") != std::string::npos)
            << error;
    }
}

// The same over TLS, where the end of the connection is said. One that is not said may be
// anybody's: what only the end would have completed is truncated then.
TEST_P(Answers, HaveTheirOutcomeOverTls) {
    const CannedAnswer& answer = GetParam();
    TlsWeather tls{.on = true, .interrupt = 0.1};
    for (const bool silent_end : {false, true}) {
        tls.no_goodbye = silent_end ? 1 : 0;
        const SimResult result = lawful(answered_with(answer, {}, tls));
        ASSERT_EQ(result.records.size(), 1u);
        const Outcome outcome = result.records[0].outcome;
        EXPECT_TRUE(outcome == answer.outcome || outcome == answer.or_else ||
                    (silent_end && answer.closes && outcome == Outcome::truncated))
            << name_of(outcome) << " instead of " << name_of(answer.outcome) << ": "
            << result.records[0].error.value_or("");
        const bool by_its_end = answer.closes && !is_framed(answer.wire);
        EXPECT_TRUE(!silent_end || !by_its_end || outcome != Outcome::ok) << name_of(outcome);
    }
}

INSTANTIATE_TEST_SUITE_P(, Answers, testing::ValuesIn(canned_answers()), [](const auto& test) {
    std::string name = test.param.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
        '_');
    return name;
});

// A server's side of a connection ends at each byte of two answers, in each of three ways: every
// law holds, and a row is ok exactly where its answer had come whole. (At every fifth byte where
// DRIFTLESS_SIM_SEEDS asks for less than all.)

// The second request leaves long after the first answer's end, on the same connection if it can.
Trace two_rows() {
    Trace trace = make_trace(4, 2);
    trace.rows[1].at_ns = 500'000'000;
    for (TraceRow& row : trace.rows) {
        row.output_length = 3;
    }
    return trace;
}

SimResult run_cut(std::optional<Cut> cut, std::uint64_t seed, const TlsWeather& tls = {},
                  double lose_end = 0) {
    SimOptions options{.seed = seed, .weather = {.cut_at = cut, .lose_end = lose_end}, .tls = tls};
    options.body_bytes = 256 << 10;  // what is mapped is cleared, thousands of times
    options.ring_bytes = 64 << 10;
    return run(two_rows(), options);
}

// [row]
std::array<Outcome, 2> outcomes_of(const SimResult& result) {
    std::array<Outcome, 2> outcomes{};
    for (const Record& record : result.records) {
        outcomes.at(record.row) = record.outcome;
    }
    return outcomes;
}

void cut_everywhere(Cut::Kind kind) {
    const SimResult whole = run_cut({}, 1);
    ASSERT_EQ(whole.records.size(), 2u);
    ASSERT_TRUE(whole.records[1].reused);
    const std::uint64_t first = whole.records[0].bytes_received;
    const std::uint64_t second = whole.records[1].bytes_received;
    const std::uint64_t step = byte_step();
    const std::uint64_t begin = static_cast<std::uint64_t>(kind) % step;
    for (std::uint64_t bytes = begin; bytes <= first + second; bytes += step) {
        const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1);
        ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
        const auto [one, two] = outcomes_of(result);
        ASSERT_EQ(one == Outcome::ok, bytes >= first) << name_of(one) << " after " << bytes;
        // What ends right behind the first answer leaves the second to another connection.
        const bool whole_elsewhere = bytes == first && bytes >= second;
        ASSERT_EQ(two == Outcome::ok, bytes == first + second || whole_elsewhere)
            << name_of(two) << " after " << bytes;
    }
}

TEST(Cuts, AtEveryByteAreFoundEvenIfTheKernelLosesThem) {
    for (const Cut::Kind kind : {Cut::Kind::reset, Cut::Kind::close, Cut::Kind::half_close}) {
        cut_everywhere(kind);
    }
    // The kernel loses every end, those of our own shutdowns, too: each is found, so that no row
    // waits for a time limit, and the run ends.
    for (const bool secure : {false, true}) {
        TlsWeather tls{.on = secure};
        for (const Cut::Kind kind : {Cut::Kind::reset, Cut::Kind::close, Cut::Kind::half_close}) {
            for (std::uint64_t bytes = 0; bytes < 6000; bytes += 97 * byte_step()) {
                const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1, tls, 1);
                ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
                for (const Outcome outcome : outcomes_of(result)) {
                    ASSERT_NE(outcome, Outcome::timeout_idle) << "after " << bytes;
                    ASSERT_NE(outcome, Outcome::timeout_first_byte) << "after " << bytes;
                }
            }
        }
    }
}

/// Each handshake costs real time: some of the bytes, other ones in each way.
constexpr std::uint64_t tls_step = 31;

// Over TLS the cuts are those of ciphertext: inside the handshake, a ticket, a record, the header
// of one. No row is ok whose answer had not come whole; those before it are.
TEST(Cuts, OfCiphertextLoseNoRow) {
    for (const bool old : {false, true}) {
        TlsWeather tls{.on = true, .old = old};
        const SimResult whole = run_cut({}, 1, tls);
        ASSERT_EQ(whole.records.size(), 2u);
        ASSERT_TRUE(whole.records[1].reused);
        const std::uint64_t first = whole.records[0].bytes_received;
        for (const Cut::Kind kind : {Cut::Kind::reset, Cut::Kind::close, Cut::Kind::half_close}) {
            for (std::uint64_t bytes = 10 * static_cast<std::uint64_t>(kind) + (old ? 5 : 0);
                 bytes <= whole.bytes_delivered; bytes += tls_step * byte_step()) {
                const SimResult result = run_cut(Cut{bytes, kind}, bytes + 1, tls);
                ASSERT_EQ(broken_laws(result), "") << "after " << bytes;
                const auto [one, two] = outcomes_of(result);
                ASSERT_TRUE(one != Outcome::ok || bytes >= first) << "after " << bytes;
                ASSERT_TRUE(two != Outcome::ok || bytes >= first) << "after " << bytes;
            }
        }
    }
}

}  // namespace
}  // namespace driftless::sim
