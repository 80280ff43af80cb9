// Limits that a run is held against, and rules that stop it.

#include "proto/figures/criteria.hpp"

#include "cmd/flags/summary_values.hpp"
#include "proto/json/put.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

SummaryFigures figures_of_a_run() {
    SummaryFigures figures{.rows = 200, .completed = 190, .failed = 10};
    figures.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 2;
    figures.ttft.count = 190;
    figures.ttft.mean = 1.5e9;
    figures.ttft.max = 9e9;
    figures.ttft.at[p99_index] = 2e9;
    figures.request_throughput = 12.5;
    return figures;
}

ThresholdFinding judge(const std::string& text) {
    const Result<Threshold> threshold = parse_threshold(text);
    EXPECT_TRUE(threshold) << text;
    return threshold ? judge_thresholds({threshold.value()}, figures_of_a_run()).at(0)
                     : ThresholdFinding();
}

TEST(Thresholds, SayWhenARunFails) {
    EXPECT_FALSE(judge("ttft:p99 > 2s").fails);
    EXPECT_TRUE(judge("ttft:p99>=2000ms").fails);
    EXPECT_TRUE(judge("ttft:p99 > 1999.999ms").fails);
    EXPECT_TRUE(judge("ttft:max > 8.9s").fails);
    EXPECT_TRUE(judge("ttft:mean < 2s").fails);
    EXPECT_TRUE(judge("completed < 200").fails);
    EXPECT_FALSE(judge("completed<190").fails);
    EXPECT_TRUE(judge("completed <= 190").fails);
    EXPECT_FALSE(judge("request_throughput < 12.5").fails);
    EXPECT_TRUE(judge("failed > 9").fails);
    // Rows that a failed row kept from being sent did not fail themselves: 8 of 198.
    EXPECT_DOUBLE_EQ(*judge("errors > 5 %").value, 8.0 / 198);
    EXPECT_FALSE(judge("errors > 5 %").fails);
    EXPECT_TRUE(judge("errors > 4%").fails);
    EXPECT_TRUE(judge("errors > 4 %").fails);
    const ThresholdFinding unknown = judge("tpot:p50 > 1h");
    EXPECT_TRUE(unknown.fails);
    EXPECT_FALSE(unknown.value.has_value());
    EXPECT_EQ(value_text(unknown), "not measured");
    EXPECT_TRUE(judge("good < 1 %").fails) << "no --goodput";
    EXPECT_TRUE(judge("overtaken > 0").fails) << "no turn follows another";
}

TEST(Thresholds, AreToldWithWhatTheClientMayHaveMoved) {
    EXPECT_EQ(value_text(judge("ttft:p99 > 2s")), "2000.000 ms");
    EXPECT_EQ(value_text(judge("errors > 5 %")), "4.04 %");
    EXPECT_EQ(value_text(judge("request_throughput < 1")), "12.5");
    std::string text;
    JsonWriter json(text);
    const std::vector<ThresholdFinding> findings{judge("errors > 5 %"), judge("tpot:p50 > 1s")};
    put_object(json, {{"thresholds", findings}});
    EXPECT_EQ(
        text,
        R"({"thresholds":[{"fail_if":"errors > 5 %","value":0.04040404040404041,"unit":"share",)"
        R"("fails":false,"client_error":null,"sure":null},{"fail_if":"tpot:p50 > 1s","value":null,)"
        R"("unit":"ms","fails":true,"client_error":null,"sure":null}]})");
    // The measured figure decides; whether the client could have decided otherwise is told.
    SummaryFigures figures = figures_of_a_run();
    figures.has_bounds = true;
    figures.ttft_bounds = {figures.ttft, figures.ttft};
    figures.ttft_bounds.lower.at[p99_index] = 1.9e9;
    const auto text_of = [&figures](const char* other_text) {
        return value_text(judge_thresholds({parse_threshold(other_text).value()}, figures).at(0));
    };
    expect_each(text_of, gives("ttft:p99 > 2s", "2000.000 ms (client at most 100.000 ms)"),
                gives("ttft:p99 > 1900ms",
                      "2000.000 ms (client at most 100.000 ms; the limit lies within)"),
                gives("ttft:p99 > 1899ms", "2000.000 ms (client at most 100.000 ms)"));
    EXPECT_EQ(text_of("errors > 5 %"), "4.04 %") << "it has no bar";
    figures.ttft_bounds.upper.at[p99_index] = 1e19;
    EXPECT_EQ(text_of("ttft:p99 > 2s"), "2000.000 ms (client: not known)");
}

TEST(Thresholds, HaveNamesAndAreRefusedWhereTheyNeverHold) {
    for (const char* name : {"p25", "p50", "median", "p75", "p90", "p95", "p99", "p99.9", "mean",
                             "avg", "min", "max"}) {
        EXPECT_TRUE(parse_threshold("e2el:" + std::string(name) + " > 1s")) << name;
    }
    // More than all: who means 1 % would never hear of a failure. A run that has it keeps it.
    for (const char* text : {"errors > 1", "errors > 100 %", "tainted > 1.0"}) {
        EXPECT_TRUE(parse_threshold(text)) << text;
        const Result<Threshold> typed = parse_fail_if(text);
        ASSERT_FALSE(typed) << text;
        EXPECT_TRUE(std::string_view(typed.error().doing).starts_with("never holds")) << text;
    }
    EXPECT_FALSE(parse_stop_rule("errors > 100 %"));
    for (const char* text : {"errors >= 0 %", "completed >= 0", "good <= 100 %"}) {
        const Result<Threshold> typed = parse_fail_if(text);
        ASSERT_FALSE(typed) << text;
        EXPECT_TRUE(std::string_view(typed.error().doing).starts_with("always holds")) << text;
    }
    for (const char* text : {"errors > 0", "good < 100 %", "errors > 99.9 %", "completed > 1"}) {
        EXPECT_TRUE(parse_fail_if(text)) << text;
    }
    EXPECT_TRUE(says(parse_fail_if("errors > 0.5").error().doing, "needs a percent sign"));
    EXPECT_FALSE(parse_stop_rule("errors >= 0.5 for 3s"));
}

TEST(Thresholds, RefuseWhatTheyCannotJudge) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {"", "has no comparison"},
        {"ttft:p99", "has no comparison"},
        {"ttft:p99 = 2s", "has no comparison"},
        {"speed > 2", "is not a known figure"},
        {"> 2s", "is not a known figure"},
        {"tftt:p90 > 2s", "; did you mean ttft:p90?"},
        {"TTFT.p99.9 > 2s", "; did you mean ttft:p99.9?"},
        {"mean_ttft_due_ms > 2", "; did you mean ttft_due:mean?"},
        {"e2e-latency > 2s", "; did you mean e2e:p99?"},
        {"error_rate > 1 %", "; did you mean errors?"},
        {"ttft > 2s", "needs one of these statistics"},
        {"ttft:p98 > 2s", "needs one of these statistics"},
        {"ttft: > 2s", "needs one of these statistics"},
        {"errors:p99 > 1 %", "has no statistics"},
        {"ttft:p99 => 2s", "is not a comparison"},
        {"ttft:p99 > 2", "with its unit"},
        {"ttft:p99 > ", "with its unit"},
        {"ttft:p99 > 2 parsecs", "with its unit"},
        {"ttft:p99 > 5 %", "with its unit"},
        {"ttft:p99 > +5 %", "another run"},
        {"errors > -1 %", "a share"},
        {"errors > 5", "a share"},
        {"kept.tenant=gold ttft:p50 > 1s", "only --fail-if"},
        {"errors > 101 %", "a share"},
        {"errors > nan", "a share"},
        {"errors > ", "a share"},
        {"errors >> 1 %", "a share"},
        {"completed < 5 %", "a plain number"},
        {"completed < 1e9", "a plain number"},
        {"completed < inf", "a plain number"},
    };
    for (const auto& [text, why] : cases) {
        const Result<Threshold> threshold = parse_threshold(text);
        ASSERT_FALSE(threshold) << text;
        EXPECT_TRUE(says(std::string(threshold.error().doing), why))
            << text << ": " << threshold.error().doing;
    }
}

// Where rows lack a count of tokens only those are judged that are not good: their share is none.
TEST(Thresholds, AShareOfGoodRowsIsUnknownWhereSomeCannotBeJudged) {
    SummaryFigures figures = figures_of_a_run();
    figures.goodput_rules = {GoodputRule{}};
    figures.goodput_counts = {{4, 3}};
    figures.good = 3;
    const Threshold rule = parse_threshold("good < 50 %").value();
    EXPECT_FALSE(judge_thresholds({rule}, figures).at(0).fails);
    figures.uncounted.goodput = 1;
    EXPECT_FALSE(judge_thresholds({rule}, figures).at(0).value);
}

// The law of the client's error: whatever it did, the true figure lies inside the bar of the one
// that was measured.

/// What happened to a row at the server, and what a client that was late has recorded of it. Of
/// some nothing is known: it failed here, its end was not seen, or it was sent once more.
struct TwoRecords {
    Record truth;
    Record measured;
};

/// The client is late by up to 4 ms, or never.
TwoRecords made_row(std::mt19937& random, std::uint32_t row, bool is_late) {
    constexpr std::int64_t us = 1000;
    const auto up_to = [&random](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    };
    Record truth{.row = row, .outcome = Outcome::ok};
    const std::int64_t tokens = 1 + up_to(3);
    truth.due_ns = row * 5000 * us;
    truth.fired_ns = truth.due_ns + up_to(2000 * us);
    truth.wire_delay_bound_ns = truth.request_delay_ns = 0;
    truth.first_late_ns = truth.last_late_ns = truth.receive_delay_ns = 0;
    truth.output_tokens = tokens;
    truth.tokens_source = TokensSource::usage;
    // The stamps of the kernel of the server's host; the client's are later.
    const auto late = [&](std::int64_t most) { return is_late ? up_to(most) : 0; };
    const std::int64_t sent = *truth.fired_ns + late(3000 * us);
    const std::int64_t first = sent + 5000 * us + up_to(20'000 * us);
    const std::int64_t last = tokens > 1 ? first + up_to(tokens * 3000 * us) : first;
    Record measured = truth;
    const auto stamp = [tokens](Record& record, std::int64_t from, std::int64_t a, std::int64_t b) {
        record.ttft_ns = a - from;
        record.ttft_due_ns = a - record.due_ns;
        record.e2e_ns = b - from;
        record.first_token_ns = a;
        record.last_token_ns = record.ended_ns = b;
        if (b > a) {
            record.tpot_ns = static_cast<double>(b - a) / static_cast<double>(tokens - 1);
        }
    };
    stamp(truth, sent, first, last);
    measured.wire_delay_bound_ns = sent - *truth.fired_ns + late(500 * us);
    const std::int64_t read = first + late(4000 * us);
    const std::int64_t end = tokens > 1 ? std::max(read, last + late(4000 * us)) : read;
    stamp(measured, *truth.fired_ns, read, end);
    measured.first_late_ns = read - first + late(500 * us);
    measured.last_late_ns = measured.receive_delay_ns = end - last + late(500 * us);
    switch (up_to(30)) {
        case 0:
            measured = Record{.row = row, .due_ns = truth.due_ns, .fired_ns = truth.fired_ns};
            measured.outcome = up_to(1) == 0 ? Outcome::client_failed : Outcome::interrupted;
            break;
        case 1:
            measured.tainted = {std::string(taint_retried)};
            stamp(measured, *truth.fired_ns, read + 50'000 * us, end + 50'000 * us);
            break;
        default:
            break;
    }
    return {truth, measured};
}

constexpr GoodputLimits law_limits{
    .ttft_ns = 16'000'000, .tpot_ns = 2'500'000, .e2e_ns = 22'000'000};

/// Of so many runs: how many bars were given, and how many true figures lay outside.
std::pair<int, int> bars_and_misses(const std::string& text, std::uint32_t runs) {
    const Threshold figure = parse_threshold(text).value();
    int bars = 0;
    int misses = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
        std::mt19937 random(run);
        const bool is_late = run % 2 == 0;  // at its end; at its rows in every fourth run
        Summary truth(GoodputRules{{{}, "", law_limits}});
        Summary measured(GoodputRules{{{}, "", law_limits}});
        for (std::uint32_t row = 0; row < 60; ++row) {
            const TwoRecords made = made_row(random, row, run % 4 == 0);
            truth.add(made.truth);
            measured.add(made.measured);
        }
        // The last end is read late, too.
        Record end{.row = 60,
                   .due_ns = 400'000'000,
                   .fired_ns = 400'000'000,
                   .ended_ns = 500'000'000 - (is_late ? 4'000'000 : 0),
                   .outcome = Outcome::http_5xx,
                   .receive_delay_ns = 0};
        truth.add(end);
        end.ended_ns = 500'000'000;
        end.receive_delay_ns = is_late ? 4'000'000 : 0;
        measured.add(end);
        const double is = value_of(figure, truth.figures()).value();
        const SummaryFigures f = measured.figures();
        if (const auto bar = error_of(*figure.figure, *figure.statistic, f)) {
            const double said = value_of(figure, f).value();
            const double rounding = 1e-9 * std::abs(said);
            ++bars;
            misses += is < said - bar->below - rounding || is > said + bar->above + rounding;
        }
    }
    return {bars, misses};
}

TEST(ClientError, HoldsTheTrueFigureAndEachRow) {
    constexpr int runs = 200;
    for (const char* text : {"good < 100 %", "ttft:p50 > 1s", "e2e:p25 > 1s", "tpot:p50 > 1s"}) {
        const auto [bars, misses] = bars_and_misses(text, runs);
        EXPECT_EQ(misses, 0) << text;
        EXPECT_EQ(bars, runs) << text;
    }
    // Without one where a row has failed here.
    for (const char* text : {"request_goodput < 1", "throughput < 1", "tpot:mean > 1s"}) {
        const auto [bars, misses] = bars_and_misses(text, runs);
        EXPECT_EQ(misses, 0) << text;
        EXPECT_GE(bars, runs / 10) << text;
    }
    // What is good by its longest times was good, and what is not by its shortest was not.
    std::mt19937 random(1);
    std::array<int, 3> rows{};  // surely good, surely not, either
    for (std::uint32_t row = 0; row < 20'000; ++row) {
        const auto [truth, measured] = made_row(random, row, row % 2 == 0);
        const std::optional<bool> was = is_good(law_limits, truth);
        const std::optional<bool> worst = is_good(law_limits, measured, TimesAt::longest);
        const std::optional<bool> best = is_good(law_limits, measured, TimesAt::shortest);
        ASSERT_TRUE(was && worst && best);
        EXPECT_TRUE(*was || !*worst) << row;
        EXPECT_TRUE(!*was || *best) << row;
        ++rows[*worst ? 0 : *best ? 2 : 1];
    }
    for (const int some : rows) {
        EXPECT_GT(some, 1000);
    }
}

// Each rule looks at what a run did: planted causes violate it, at its bound and just beyond.

constexpr std::int64_t second = 1'000'000'000;

bool same_text(std::string_view a, std::string_view b) {
    return a == b;
}

/// 900 s, 100 answers, all well.
struct Played {
    RunDescription facts;
    SummaryFigures figures;

    Played() {
        facts.for_ns = 900 * second;
        facts.users = 4;
        facts.trees = 10;
        facts.rows = 100;
        facts.input_tokens = 1000;
        facts.expected_cached_tokens = 960;
        facts.trace_digest = "00000000000000ab";
        figures.completed = 100;
        figures.outputs_exact = 100;
        figures.output_tokens = 40'000;
        figures.duration_ns = 890 * second;
        figures.phase.users = 4;
        figures.phase.last_first_token_ns = 880 * second;
        figures.phase.last_token_ns = 890 * second;
        figures.phase.first_turns = {10, 10, 1000, 0, 0};
        figures.follow_up_turns = 90;
    }
};

RuleFinding judge(const Rule& rule, const Played& played) {
    const RuleSet set{"s", "1", "here", {}, {rule}};
    return judge_rules({set}, played.facts, played.figures, same_text).at(0);
}

Rule at_least(Measure measure, double min) {
    return {.name = "r", .measure = measure, .min = min};
}

Rule at_most(Measure measure, double max) {
    return {.name = "r", .measure = measure, .max = max};
}

TEST(JudgeRules, FindsEachOfAGoodRunMetWithinBounds) {
    const Played good;
    for (const Rule& rule :
         {at_least(Measure::duration, 900), at_least(Measure::trees, 10),
          at_least(Measure::rows, 100), at_least(Measure::ttft_coverage, 0.95),
          at_least(Measure::token_coverage, 0.98), at_most(Measure::error_share, 0),
          at_least(Measure::answered, 100), at_most(Measure::overflow_share, 0.01),
          at_least(Measure::users_live, 1), at_least(Measure::exact_output, 1),
          at_least(Measure::mean_output, 355), at_most(Measure::cut_short, 0),
          at_most(Measure::warmup_failures, 0), at_most(Measure::overtaken, 0),
          at_most(Measure::first_turn_hits, 0.01), at_least(Measure::ceiling_hit_rate, 0.96)}) {
        const RuleFinding found = judge(rule, good);
        EXPECT_EQ(found.state, RuleState::met) << found.evidence << "; " << found.bound;
    }
    // Bounds belong to what is allowed: AgentX counts more than 1 %, InferenceX takes 10 %.
    Played played;
    played.figures.failed = 1;
    played.figures.phase.context_overflows = 1;
    played.figures.completed = 99;
    EXPECT_EQ(judge(at_most(Measure::overflow_share, 0.01), played).state, RuleState::met);
    played.figures.phase.context_overflows = 2;
    EXPECT_EQ(judge(at_most(Measure::overflow_share, 0.01), played).state, RuleState::violated);
    played.figures.failed = 10;
    played.figures.completed = 90;
    EXPECT_EQ(judge(at_most(Measure::error_share, 0.10), played).state, RuleState::met);
    played.figures.failed = 11;
    const RuleFinding found = judge(at_most(Measure::error_share, 0.10), played);
    EXPECT_EQ(found.state, RuleState::violated);
    EXPECT_EQ(found.evidence, "11 of 101 requests failed (10.89 %)");
    EXPECT_EQ(found.bound, "at most 10.00 %");
    // What was never sent did not fail.
    Played other_played;
    other_played.figures.failed = 50;
    other_played.figures.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 50;
    EXPECT_EQ(judge(at_most(Measure::error_share, 0), other_played).state, RuleState::met);
}

TEST(JudgeRules, SeesHowFarThePhaseIsCovered) {
    Played played;
    played.figures.phase.last_token_ns = 855 * second;
    EXPECT_EQ(judge(at_least(Measure::token_coverage, 0.95), played).state, RuleState::met);
    played.figures.phase.last_token_ns = 854 * second;
    EXPECT_EQ(judge(at_least(Measure::token_coverage, 0.95), played).state, RuleState::violated);
    Rule exempt = at_least(Measure::token_coverage, 0.95);
    exempt.exempt_below_s = 900;
    EXPECT_EQ(judge(exempt, played).state, RuleState::violated);
    // The warm-up is no part of the phase; when that began is not known of a run that was killed.
    played.figures.warmup_rows = 8;
    EXPECT_EQ(judge(at_least(Measure::token_coverage, 0.90), played).state, RuleState::unknown);
    played.facts.measured_from_ns = 100 * second;
    EXPECT_EQ(judge(at_least(Measure::token_coverage, 0.90), played).state, RuleState::violated);
    played.figures.phase.last_token_ns = 954 * second;
    EXPECT_EQ(judge(at_least(Measure::token_coverage, 0.90), played).state, RuleState::met);
    played.facts.for_ns = 899 * second;
    played.figures.phase.last_token_ns.reset();
    const RuleFinding found = judge(exempt, played);
    EXPECT_EQ(found.state, RuleState::met);
    EXPECT_EQ(found.evidence, "no last token of 899 s (0.00 %); a phase below 900 s is exempt");
    // A run that was interrupted has lasted as long as it did, not as long as it was asked to.
    Played other_played;
    for (const Ending ending : {Ending::interrupted, Ending::none}) {
        other_played.facts.ending = ending;
        EXPECT_EQ(judge(at_least(Measure::duration, 900), other_played).state, RuleState::violated);
        EXPECT_EQ(judge(at_most(Measure::cut_short, 0), other_played).state, RuleState::violated);
    }
}

// Somebody else had left the prompts in the cache.
TEST(JudgeRules, SeesAWarmCacheAndWhatElseIsWrong) {
    Played played;
    played.figures.phase.first_turns.cached_tokens = 10;
    EXPECT_EQ(judge(at_most(Measure::first_turn_hits, 0.01), played).state, RuleState::met);
    played.figures.phase.first_turns.cached_tokens = 11;
    EXPECT_EQ(judge(at_most(Measure::first_turn_hits, 0.01), played).state, RuleState::violated);
    played.figures.phase.first_turns.expected_tokens = 11;
    EXPECT_EQ(judge(at_most(Measure::first_turn_hits, 0.01), played).state, RuleState::met);
    played.figures.phase.first_turns = {10, 0, 0, 0, 0};
    EXPECT_EQ(judge(at_most(Measure::first_turn_hits, 0.01), played).state, RuleState::unknown);
    Played other_played;
    other_played.figures.phase.users = 3;
    EXPECT_EQ(judge(at_least(Measure::users_live, 1), other_played).evidence,
              "3 of 4 users sent requests (75.00 %)");
    EXPECT_EQ(judge(at_least(Measure::users_live, 1), other_played).state, RuleState::violated);
    other_played.figures.outputs_short = 1;
    EXPECT_EQ(judge(at_least(Measure::exact_output, 1), other_played).state, RuleState::violated);
    other_played.figures.overtaken_turns = 1;
    EXPECT_EQ(judge(at_most(Measure::overtaken, 0), other_played).state, RuleState::violated);
    other_played.figures.warmup_failed = 1;
    EXPECT_EQ(judge(at_most(Measure::warmup_failures, 0), other_played).state, RuleState::violated);
    EXPECT_EQ(judge(at_least(Measure::trees, 11), other_played).state, RuleState::violated);
}

// What was not measured is neither met nor violated.
TEST(JudgeRules, SaysWhatIsUnknownAndComparesTheCorpus) {
    const Played nothing{};
    Played empty;
    empty.figures = SummaryFigures();
    empty.facts = RunDescription();
    for (const Measure measure :
         {Measure::trees, Measure::error_share, Measure::token_coverage, Measure::users_live,
          Measure::exact_output, Measure::mean_output, Measure::overtaken, Measure::first_turn_hits,
          Measure::ceiling_hit_rate, Measure::unchecked}) {
        EXPECT_EQ(judge(at_least(measure, 1), empty).state, RuleState::unknown);
    }
    Rule unbound{.measure = Measure::ceiling_hit_rate};
    EXPECT_EQ(judge(unbound, nothing).state, RuleState::unknown);
    EXPECT_EQ(judge(unbound, nothing).evidence,
              "960 of 1000 prompt tokens can hit in an infinite cache (96.00 %)");
    Rule rule{.measure = Measure::digest};
    EXPECT_EQ(judge(rule, Played()).state, RuleState::unknown);
    rule.equals = "00000000000000ab";
    EXPECT_EQ(judge(rule, Played()).state, RuleState::met);
    rule.equals = "00000000000000ac";
    EXPECT_EQ(judge(rule, Played()).state, RuleState::violated);
}

TEST(JudgeRules, ComparesWhatTurnsWaitForAndUnseenFlags) {
    Rule rule{.measure = Measure::barrier, .equals = "tree"};
    Played played;
    EXPECT_EQ(judge(rule, played).state, RuleState::violated);
    EXPECT_EQ(judge(rule, played).evidence, "stream");
    played.facts.arguments = {"t", "--barrier=tree"};
    EXPECT_EQ(judge(rule, played).state, RuleState::met);
    EXPECT_EQ(judge(rule, played).bound, "tree");
    RuleSet set{"s", "1", "here", {}, {}};
    set.flags.push_back({"--gap", "end-to-start", false, false, false, OtherValue::violated, ""});
    set.flags.push_back({"--limit", {}, false, false, true, OtherValue::violated, ""});
    set.flags.push_back({"--recycle", {}, true, false, false, OtherValue::violated, ""});
    set.flags.push_back({"--for", "9s", false, false, false, OtherValue::allowed, ""});
    Played other_played;
    other_played.facts.arguments = {"t", "--gap=end-to-start", "--recycle"};
    std::vector<RuleFinding> found =
        judge_rules({set}, other_played.facts, other_played.figures, same_text);
    ASSERT_EQ(found.size(), 3U) << "what is allowed is no rule";
    EXPECT_FALSE(any_violated(found));
    other_played.facts.arguments = {"t", "--gap=none", "--limit=3"};
    found = judge_rules({set}, other_played.facts, other_played.figures, same_text);
    EXPECT_TRUE(any_violated(found));
    EXPECT_EQ(std::tuple(found[0].evidence, found[0].bound), std::tuple("none", "end-to-start"));
    EXPECT_EQ(std::tuple(found[1].evidence, found[2].evidence), std::tuple("3", "not given"));
}

}  // namespace
}  // namespace driftless
