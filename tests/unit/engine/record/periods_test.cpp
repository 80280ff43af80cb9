// Periods, and rules over them.

#include "engine/record/periods.hpp"

#include <atomic>

#include "cmd/flags/summary_values.hpp"
#include "tests/unit/engine/record/script.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// What a run does, by the instants at which it happens: tokens of answers that are still open, idle
// time, what comes out of order, and a resumed run. Expectations are counted by hand.

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

AssemblerConfig with_periods(const ScriptTrace& input, std::int64_t length_ns = second) {
    AssemblerConfig config = input.config();
    config.periods.length_ns = length_ns;
    return config;
}

/// An assembler that tells periods of what it is told.
struct Told {
    Periods periods;
    Assembler assembler;
    explicit Told(const AssemblerConfig& config) : periods(config), assembler(config, &periods) {
        periods.begin(script_zero_ns);
        assembler.begin({script_zero_ns});
    }
    void look(std::int64_t at_ns) { periods.look(script_zero_ns + at_ns); }
};

/// One key of each line; unknown is -1000.
std::vector<std::int64_t> all(const std::string& lines, const char* key) {
    std::vector<std::int64_t> values;
    for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
        const std::string line = lines.substr(at, lines.find('\n', at) - at);
        values.push_back(JsonText(line).root.find(key).as_i64().value_or(-1000));
    }
    return values;
}

using Numbers = std::vector<std::int64_t>;

// An answer that is open over a boundary is seen on both sides: its tokens where they came, and
// what only its end told where it ended (4 tokens by the usage after 3 chunks; a prompt of 25, not
// 100).
TEST(Periods, SeeRequestsThatAreOpen) {
    const ScriptTrace input(1);
    Told told(with_periods(input));
    Script row(told.assembler);
    row.fire(100 * ms).head(850 * ms).text(900 * ms, "a").text(1100 * ms, "b");
    row.text(1150 * ms, "c").usage(1200 * ms, 4).done(1200 * ms).end(1250 * ms);
    told.periods.finish();
    const std::string& lines = told.periods.lines();
    expect_each(
        [&](auto in) { return all(lines, in); }, gives("period", Numbers({0, 1})),
        gives("begin_ns", Numbers({0, second})), gives("end_ns", Numbers({second, 1250 * ms + 1})),
        gives("released", Numbers({1, 0})), gives("ended", Numbers({0, 1})),
        gives("in_flight", Numbers({1, 0})), gives("first_tokens", Numbers({1, 0})),
        gives("input_tokens", Numbers({100, -75})),
        gives("input_tokens_corrected", Numbers({0, -75})), gives("output_tokens", Numbers({1, 3})),
        gives("output_tokens_corrected", Numbers({0, 1})),
        gives("cached_tokens", Numbers({-1000, 16})),
        gives("ttft_p50_ns", Numbers({800 * ms, -1000})),
        gives("ttft_due_p99_ns", Numbers({900 * ms, -1000})),
        gives("tpot_p50_ns", Numbers({-1000, 83'333'333})),
        gives("live_trees", Numbers({-1000, -1000})), gives("users_added", Numbers({-1000, -1000})),
        gives("good", Numbers({-1000, -1000})));
}

// Fewer tokens by the usage than chunks came: the period in which the answer ended pays back.
TEST(Periods, PayBackAndWaitForWhatIsOutOfOrder) {
    const ScriptTrace input(1);
    Told told(with_periods(input));
    Script row(told.assembler);
    row.fire(0).head(ms).text(2 * ms, "a").text(3 * ms, "b").text(4 * ms, "c");
    row.usage(1500 * ms, 1).done(1500 * ms).end(1500 * ms);
    told.periods.finish();
    EXPECT_EQ(all(told.periods.lines(), "output_tokens"), Numbers({3, -2}));
    // A line is written 250 ms behind the end of its period, by the clock as by a stamp; what comes
    // before that in the wrong order is where it belongs, and what comes later is not lost.
    const ScriptTrace other_input(5);
    Told other_told(with_periods(other_input));
    std::vector<Script> rows;
    for (std::uint32_t other_row = 0; other_row < 5; ++other_row) {
        rows.emplace_back(other_told.assembler, other_row);
    }
    rows[0].fire(1100 * ms);
    rows[1].fire(999 * ms);
    other_told.look(1250 * ms - 1);
    EXPECT_EQ(other_told.periods.lines(), "");
    other_told.look(1250 * ms);
    EXPECT_EQ(all(other_told.periods.lines(), "released"), Numbers({1}));
    rows[2].fire(998 * ms);
    rows[3].fire(2250 * ms - 1);
    EXPECT_EQ(all(other_told.periods.lines(), "released"), Numbers({1}));
    rows[4].fire(2250 * ms);
    EXPECT_EQ(all(other_told.periods.lines(), "released"), Numbers({1, 2}));
    EXPECT_EQ(all(other_told.periods.lines(), "in_flight"), Numbers({1, 3}));
}

// An idle period has its line, too; behind the last end there is none.
TEST(Periods, WriteIdlePeriodsAndEndWithTheRun) {
    const ScriptTrace input(1);
    Told told(with_periods(input));
    Script row(told.assembler);
    row.fire(0);
    told.look(3500 * ms);
    EXPECT_EQ(all(told.periods.lines(), "in_flight"), Numbers({1, 1, 1}));
    row.head(6200 * ms).text(6200 * ms, "a");
    EXPECT_EQ(all(told.periods.lines(), "released"), Numbers({1, 0, 0, 0, 0}));
    row.done(6300 * ms).end(6300 * ms);
    told.look(9900 * ms);
    told.periods.finish();
    EXPECT_EQ(all(told.periods.lines(), "period"), Numbers({0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(all(told.periods.lines(), "ended"), Numbers({0, 0, 0, 0, 0, 0, 1, 0, 0}));
    // The run is over before its first second is; nothing that began has no line.
    Told nothing(with_periods(input));
    nothing.periods.finish();
    EXPECT_EQ(nothing.periods.lines(), "");
    Periods unbegun(with_periods(input));
    unbegun.finish();
    EXPECT_EQ(unbegun.lines(), "");
    Told other_told(with_periods(input));
    Script(other_told.assembler).end(-5 * ms, Outcome::not_sent);
    other_told.periods.finish();
    expect_each([&](auto in) { return all(other_told.periods.lines(), in); },
                gives("end_ns", Numbers({1})), gives("unsent", Numbers({1})),
                gives("failed", Numbers({1})), gives("in_flight", Numbers({0})));
}

// The share of those that ended which were good; what failed was not.
TEST(Periods, TellTheShareOfGoodRequestsAndPercentiles) {
    const ScriptTrace input(3);
    AssemblerConfig config = with_periods(input);
    config.periods.goodput = {{{}, "", {50 * ms, std::nullopt, std::nullopt}}};
    Told told(config);
    for (const std::int64_t ttft : {10, 60}) {
        Script row(told.assembler, ttft == 10 ? 0 : 1);
        row.fire(0).head(ms);
        for (const std::int64_t at : {0, 10, 20, 30}) {
            row.text((ttft + at) * ms, "a");
        }
        row.usage(100 * ms, 4).done(100 * ms).end(100 * ms);
    }
    Script(told.assembler, 2).fire(0).end(100 * ms, Outcome::connect_failed);
    told.look(2400 * ms);
    const std::string& lines = told.periods.lines();
    EXPECT_EQ(all(lines, "good"), Numbers({1, 0}));
    const JsonText first(lines.substr(0, lines.find('\n')));
    EXPECT_DOUBLE_EQ(first.root.find("goodput").as_double().value(), 1.0 / 3);
    EXPECT_TRUE(says(lines.substr(lines.find('\n') + 1), "\"goodput\":null"));
    // Nearest rank over 100 answers, within 0.1 %.
    const ScriptTrace other_input(100);
    Told other_told(with_periods(other_input, 10 * second));
    for (std::uint32_t i = 0; i < 100; ++i) {
        const std::int64_t fired_ns = i * ms;
        const std::int64_t first_ns = fired_ns + 10 * ms * (1 + i);
        Script row(other_told.assembler, i);
        row.fire(fired_ns).head(fired_ns + ms).text(first_ns, "a");
        row.text(first_ns + 3 * (1 + i) * ms, "b").usage(3 * second, 4).done(3 * second);
        row.end(3 * second);
    }
    other_told.periods.finish();
    const auto expect = [&](const char* key, std::int64_t wanted_ns) {
        const double got = static_cast<double>(all(other_told.periods.lines(), key).at(0));
        EXPECT_NEAR(got / static_cast<double>(wanted_ns), 1, 0.001) << key;
    };
    expect("ttft_p50_ns", 500 * ms);
    expect("ttft_p90_ns", 900 * ms);
    expect("ttft_p99_ns", 990 * ms);
    expect("ttft_due_p90_ns", 900 * ms);
    expect("tpot_p50_ns", 50 * ms);
    expect("tpot_p99_ns", 99 * ms);
}

// A tree is live from its first fire to the end of its last row, pauses included.
TEST(Periods, CountLiveTrees) {
    ScriptTrace input(4);
    input.trace.sessions = {"one", "two"};
    for (const std::uint32_t row : {0U, 1U, 2U, 3U}) {
        input.trace.rows[row].session = row / 2;
    }
    Told told(with_periods(input));
    std::vector<Script> rows;
    for (std::uint32_t row = 0; row < 4; ++row) {
        rows.emplace_back(told.assembler, row);
    }
    rows[0].fire(100 * ms).end(200 * ms, Outcome::truncated);
    rows[2].fire(1100 * ms);
    rows[1].fire(2100 * ms).end(2200 * ms, Outcome::truncated);
    rows[2].end(3100 * ms, Outcome::truncated);
    rows[3].end(4100 * ms, Outcome::not_sent);
    told.look(5300 * ms);
    EXPECT_EQ(all(told.periods.lines(), "live_trees"), Numbers({1, 2, 1, 1, 0}));
}

/// One request of a user, of which nothing comes; without an end it stays open.
struct Sent {
    std::uint32_t request;
    std::uint32_t user;
    std::int64_t fired_ns;
    std::int64_t end_ns;
    std::uint32_t pass = 0;
    Phase phase = Phase::profile;
    std::uint8_t attempt = 0;
};

std::string lines_of_users(const ScriptTrace& input, const std::vector<Sent>& all_sent,
                           std::int64_t until_ns, bool warms_up = false) {
    AssemblerConfig config = with_periods(input);
    config.requests_end = 4;
    config.periods.for_ns = 3 * second;
    config.periods.warms_up = warms_up;
    Told told(config);
    for (const Sent& sent : all_sent) {
        Due due{.request = sent.request,
                .row = sent.request % 2,
                .pass = sent.pass,
                .user = sent.user,
                .phase = sent.phase,
                .attempt = sent.attempt};
        told.assembler.consume(Event::of_armed(due, script_zero_ns), {});
        told.assembler.consume(Script::event(EventKind::fired, sent.request, sent.fired_ns), {});
        Event end = Script::ended(sent.request, sent.end_ns, Outcome::truncated);
        if (sent.end_ns > 0) {
            told.assembler.consume(end, {});
        }
    }
    told.look(until_ns);
    return told.periods.lines();
}

ScriptTrace trace_of_one_tree() {
    ScriptTrace input(2);
    input.trace.dependencies = {{1, 0, Trigger::completion, 0}};
    return input;
}

// Two users play a trace of two rows twice over: request numbers come again in a later pass. When
// their time is up, a tree whose next turn will never come is live as long as one is in flight.
TEST(Periods, CountUsersAndTreesOfAnySize) {
    const std::string lines = lines_of_users(trace_of_one_tree(),
                                             {{0, 0, 100 * ms, 200 * ms},
                                              {1, 0, 300 * ms, 400 * ms},
                                              {0, 0, 1100 * ms, 1200 * ms, 1},
                                              {2, 1, 1300 * ms, 1400 * ms},
                                              {1, 0, 2100 * ms, 0, 1}},
                                             4300 * ms);
    EXPECT_EQ(all(lines, "live_trees"), Numbers({0, 2, 1, 1}));
    EXPECT_EQ(all(lines, "users_added"), Numbers({1, 1, 0, 0}));
    // A turn that is sent again has not ended its tree; a tree whose first rows were skipped is
    // over when the next one begins.
    const std::string retried = lines_of_users(trace_of_one_tree(),
                                               {{0, 0, 100 * ms, 200 * ms},
                                                {0, 0, 300 * ms, 400 * ms, 0, Phase::profile, 1},
                                                {1, 0, 1500 * ms, 1600 * ms},
                                                {1, 0, 1700 * ms, 2200 * ms, 0, Phase::profile, 1},
                                                {0, 0, 2300 * ms, 2400 * ms, 1},
                                                {1, 0, 2500 * ms, 2600 * ms, 1}},
                                               3300 * ms);
    EXPECT_EQ(all(retried, "live_trees"), Numbers({1, 1, 0}));
    const std::string skipped = lines_of_users(trace_of_one_tree(),
                                               {{1, 0, 100 * ms, 200 * ms},
                                                {0, 0, 1100 * ms, 1200 * ms, 1},
                                                {1, 0, 1300 * ms, 1400 * ms, 1}},
                                               2300 * ms);
    EXPECT_EQ(all(skipped, "live_trees"), Numbers({1, 0}));
}

std::string phases_of(const std::string& lines) {
    std::string phases;
    for (std::size_t at = 0; (at = lines.find("\"phase\":\"", at)) != lines.npos; ++at) {
        phases += lines[at + 9];
    }
    return phases;
}

// Warm-up until something is sent for the measurement; drain when the time is up, counted from the
// end of the warm-up, and nothing is sent any more.
TEST(Periods, HavePhasesAlsoInAResumedRunByTheSchema) {
    const std::string lines = lines_of_users(trace_of_one_tree(),
                                             {{0, 0, 1100 * ms, 1200 * ms, 0, Phase::warmup},
                                              {1, 0, 2300 * ms, 2400 * ms},
                                              {0, 0, 3900 * ms, 5100 * ms, 1}},
                                             6300 * ms, true);
    EXPECT_EQ(phases_of(lines), "wwppdd");
    // A resumed run goes on with the numbers of its timeline, from the due instant of its first
    // row.
    const ScriptTrace input(1);
    AssemblerConfig config = with_periods(input);
    config.segment = 2;
    config.periods.begin_ns = 4300 * ms;
    Told told(config);
    Script(told.assembler).fire(4300 * ms).end(5100 * ms, Outcome::truncated);
    told.periods.finish();
    EXPECT_EQ(all(told.periods.lines(), "period"), Numbers({4, 5}));
    EXPECT_EQ(all(told.periods.lines(), "segment"), Numbers({2, 2}));
    EXPECT_EQ(all(told.periods.lines(), "begin_ns"), Numbers({4300 * ms, 5 * second}));
    // Rows of which no end was told end with the run.
    const ScriptTrace other_input(2);
    Told other_told(with_periods(other_input));
    Script(other_told.assembler).fire(1700 * ms);
    while (other_told.assembler.next_unended() != nullptr) {
    }
    other_told.periods.finish();
    EXPECT_EQ(all(other_told.periods.lines(), "ended"), Numbers({0, 2}));
    EXPECT_EQ(all(other_told.periods.lines(), "in_flight"), Numbers({0, 0}));
    // The shipped schema has exactly the keys of a line, in order.
    std::string known;
    Period period{.end_ns = 1};
    append_json_line(known, period);
    period.live_trees = period.users_added = period.good = 1;
    period.goodput = 0.5;
    period.ttft = period.ttft_due = period.tpot = {1, 2, 3};
    period.cached_tokens = period.expected_cached_tokens = 7;
    period.expected_cached_tokens_reported = 7;
    append_json_line(known, period);
    for (const std::string& line : lines_of(known)) {
        EXPECT_EQ(schema_errors("proto/run/period.schema.json", line, true),
                  std::vector<std::string>());
    }
}

// When a run ends early: a condition holds for as long as it has to, by enough values.

/// Periods of 1 s.
struct Watch {
    std::atomic<bool> wanted{false};
    EarlyStop stop;
    std::int64_t seconds = 0;
    explicit Watch(const char* text, const EndedRequests& before = {})
        : stop({parse_stop_rule(text).value()}, before, wanted) {}
    /// So many answers of the period had their first token after this time.
    bool after(std::uint64_t answers, double ttft_ns) {
        PeriodMeasured measured{.begin_ns = seconds++ * second, .end_ns = seconds * second};
        Sample sample;
        for (std::uint64_t i = 0; i < answers; ++i) {
            sample.add(ttft_ns);
        }
        measured.times[0] = sample.distribution();
        stop.look(measured);
        return wanted;
    }
    bool after_ends(std::uint64_t ok, std::uint64_t failed) {
        Record record{.outcome = Outcome::ok};
        for (std::uint64_t i = 0; i < ok + failed; ++i) {
            record.outcome = i < ok ? Outcome::ok : Outcome::http_5xx;
            stop.ended(record);
        }
        return after(0, 0);
    }
};

// What ends after a period is known before it is looked at, and belongs to the next.
TEST(EarlyStop, CountsEndsInTheirPeriodAndNeedsItsSample) {
    Watch watch("failed >= 30");
    Record record{.outcome = Outcome::http_5xx};
    for (int i = 0; i < 31; ++i) {
        record.ended_ns = i < 29 ? second : second + 1;
        watch.stop.ended(record);
    }
    EXPECT_FALSE(watch.after(0, 0));
    EXPECT_TRUE(watch.after(0, 0));
    EXPECT_EQ(std::tuple(watch.stop.found()->at_s, watch.stop.found()->value), std::tuple(2, 31));
    EXPECT_TRUE(Watch("failed > 0").after_ends(0, 1));  // a count needs no sample
    EXPECT_FALSE(Watch("ttft:p99 > 1s").after(EarlyStop::sample_min - 1, 2e9));
    EXPECT_TRUE(Watch("ttft:p99 > 1s").after(EarlyStop::sample_min, 2e9));
    EXPECT_FALSE(Watch("ttft:p99 > 1s").after(100, 1e9));
    EXPECT_FALSE(Watch("errors > 5 %").after_ends(0, EarlyStop::sample_min - 1));
    EXPECT_TRUE(Watch("errors > 5 %").after_ends(0, EarlyStop::sample_min));
    Watch slow("ttft:p99 > 1s");  // ten in each period: twenty in two of them
    EXPECT_FALSE(slow.after(10, 2e9));
    EXPECT_TRUE(slow.after(10, 2e9));
    EXPECT_EQ(std::tuple(slow.stop.found()->at_s, slow.stop.found()->value), std::tuple(2, 2000));
    EXPECT_EQ(value_text(*slow.stop.found()), "2000.000 ms");
    Watch other_watch("ttft:p99 > 1s for 3s");
    EXPECT_FALSE(other_watch.after(50, 2e9) || other_watch.after(50, 2e9));
    EXPECT_FALSE(other_watch.after(50, 0.5e9));  // from the beginning
    EXPECT_FALSE(other_watch.after(50, 2e9));
    EXPECT_FALSE(other_watch.after(0, 0));  // says nothing, and its time counts
    EXPECT_TRUE(other_watch.after(50, 2e9));
    EXPECT_EQ(other_watch.stop.found()->condition, "ttft:p99 > 1s for 3s");
}

TEST(EarlyStop, CountsErrorsOfTheWholeRunThatEndedByThemselves) {
    Watch watch("errors > 5 %");
    EXPECT_FALSE(watch.after_ends(95, 5));
    EXPECT_TRUE(watch.after_ends(0, 1));
    EXPECT_EQ(watch.stop.found()->value, 6.0 / 101);
    Watch resumed("errors > 5 %", {1000, 0});
    EXPECT_FALSE(resumed.after_ends(0, 50));
    EXPECT_TRUE(resumed.after_ends(0, 10));
    EndedRequests all;
    Record record;
    for (const Outcome outcome : {Outcome::not_sent, Outcome::abandoned}) {
        record.outcome = outcome;
        all.add(record);
    }
    record.outcome = Outcome::cancelled;
    record.censored = true;
    all.add(record);
    record.censored = false;
    record.phase = Phase::warmup;
    all.add(record);
    EXPECT_EQ(all.ended, 0u);
    record.phase = Phase::profile;
    all.add(record);
    EXPECT_EQ(std::tuple(all.ended, all.failed), std::tuple(1u, 1u));
}

TEST(StopRule, IsReadOrRefused) {
    const StopRule rule = parse_stop_rule("ttft:p99 > 10s for 30s").value();
    EXPECT_EQ(std::tuple(rule.figure, rule.for_ns), std::tuple(StopFigure::ttft, 30 * second));
    EXPECT_EQ(rule.threshold.bound, 10e9);
    for (const char* const good :
         {"errors>5%", "failed >= 100", "tpot:mean > 50ms for 1m", "e2e:p99 > 1s"}) {
        EXPECT_TRUE(parse_stop_rule(good)) << good;
    }
    for (const auto& [text, why] :
         {std::pair{"good < 90 %", "only known at the end"},
          std::pair{"errors > 5 % for", "share from 0 to 100"},
          std::pair{"errors > 5 % for soon", "needs a time after"},
          std::pair{"speed > 2", "is not a known figure"}, std::pair{"", "has no comparison"}}) {
        const Result<StopRule> refused = parse_stop_rule(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_TRUE(says(std::string(refused.error().doing), why)) << refused.error().doing;
    }
}

// When users are added: while there is room, never right after, and only on what is known.

constexpr double limit = 1000;

GrowRules rules(std::uint32_t first, std::uint32_t most, GrowFigure figure = GrowFigure::avg) {
    return GrowRules{.figure = figure,
                     .limit_ns = static_cast<std::int64_t>(limit),
                     .users_first = first,
                     .users_max = most};
}

/// A period in which everything measured was this part of the limit.
Distribution measured(double part) {
    Sample sample;
    sample.add(part * limit);
    return sample.distribution();
}

struct Grown {
    std::atomic<std::uint32_t> wanted{0};
    Growth growth;
    explicit Grown(const GrowRules& some) : growth(some, wanted) {}
    std::uint32_t after(double part, std::uint64_t failed = 0, std::uint64_t begun = UINT64_MAX) {
        growth.look(measured(part), failed, begun);
        return wanted;
    }
};

// One, and one more for each 15 % of the limit.
TEST(Growth, AddsAsManyAsThereIsRoomForAndNeverGivesUsersUp) {
    for (const auto& [part, added] :
         {std::pair(0.81, 0U), {0.79, 2U}, {0.71, 2U}, {0.69, 3U}, {0.5, 4U}, {0.0, 7U}}) {
        Grown grown(rules(2, 100));
        EXPECT_EQ(grown.wanted, 2u);
        EXPECT_EQ(grown.after(part), 2 + added) << part;
    }
    EXPECT_EQ(Grown(rules(2, 4)).after(0), 4u);
    // What was measured before all of the users had begun is not looked at, however many periods
    // that takes, and what was before is forgotten.
    Grown waiting(rules(1, 100));
    const std::uint32_t first = waiting.after(0.5);
    for (const std::uint32_t begun : {1U, 1U, 1U, first - 1}) {
        EXPECT_EQ(waiting.after(0.1, 0, begun), first);
    }
    EXPECT_EQ(waiting.after(0.9, 0, first), first);
    EXPECT_EQ(waiting.after(0.9), first);
    EXPECT_EQ(waiting.after(0.1), first + 3);  // of three: 0.63
    // Between 80 % of the limit and the limit nothing changes, and beyond it nobody goes.
    Grown other_grown(rules(3, 100));
    for (const double part : {0.85, 0.99, 1.0, 5.0}) {
        EXPECT_EQ(other_grown.after(part), 3u);
    }
    Grown unknown(rules(3, 100));
    unknown.growth.look(Distribution(), 0, 3);
    EXPECT_EQ(unknown.wanted, 3u);
    EXPECT_EQ(unknown.after(0.1, 1), 3u);  // a request has failed
    EXPECT_GT(unknown.after(0.1), 3u);
}

TEST(Growth, LooksAtTheFigureThatItIsTold) {
    Sample sample;
    for (int i = 1; i <= 100; ++i) {
        sample.add(i);
    }
    for (const auto& [figure, value] : {std::pair(GrowFigure::avg, 50.5),
                                        {GrowFigure::p50, 50},
                                        {GrowFigure::p90, 90},
                                        {GrowFigure::p95, 95},
                                        {GrowFigure::p99, 99},
                                        {GrowFigure::max, 100}}) {
        GrowRules some = rules(1, 2, figure);
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) + 1;
        Grown above(some);
        above.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(above.wanted, 2u) << value;
        some.limit_ns = static_cast<std::int64_t>(value / 0.8) - 1;
        Grown below(some);
        below.growth.look(sample.distribution(), 0, 1);
        EXPECT_EQ(below.wanted, 1u) << value;
    }
}

}  // namespace
}  // namespace driftless
