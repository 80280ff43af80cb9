// find: the greatest load within limits, and knees.

#include "cmd/runs/find.hpp"

#include "cmd/base/exit_codes.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

TEST(Window, GrowsHoweverItsFlagIsWritten) {
    Window window({"--recycle", "--for", "20s"});
    EXPECT_TRUE(window.can_grow());
    EXPECT_EQ(window.flags(), (Words{"--recycle", "--for", "20s"}));
    window.grow(33, 66);
    EXPECT_EQ(window.text(), "48s");
    EXPECT_EQ(window.flags(), (Words{"--recycle", "--for", "48s"}));
    window.grow(0, 1000);
    EXPECT_EQ(window.text(), "1280s");
    EXPECT_FALSE(window.can_grow());
    Window joined({"--duration=0.5s", "--limit", "9"});
    joined.grow(64, 64);
    EXPECT_EQ(joined.flags(), (Words{"--duration=1s", "--limit", "9"}));
    EXPECT_FALSE(Window({"--limit", "9"}).can_grow() || Window({"--for"}).can_grow());
    EXPECT_FALSE(Window({"--for", "soon"}).can_grow());
    EXPECT_EQ(Window({"--limit", "9"}).text(), "");
}

constexpr std::int64_t ms = 1'000'000;

/// A folder with records of so many rows, 10 ms apart, whose TTFT and answer grow by so much a row.
class JudgedProbeTest : public testing::Test {
  protected:
    void write_records(unsigned rows, std::int64_t growth_ns) const {
        std::string text;
        for (unsigned i = 0; i < rows; ++i) {
            Record record{.row = i, .request = i, .due_ns = i * 10 * ms};
            record.fired_ns = record.due_ns + (i == 0 ? first_late_ns_ : 0);
            record.first_token_ns = record.due_ns + 20 * ms + i * growth_ns;
            record.ended_ns = *record.first_token_ns + 20 * ms;
            record.outcome = Outcome::ok;
            if (read_late_) {
                record.first_late_ns = record.last_late_ns = i * growth_ns;
            }
            append_jsonl(text, record);
        }
        folder_.write("requests.jsonl", text);
    }

    JudgedProbe judge(const std::string& verdict, unsigned rows, double ttft_ms, double errors,
                      int exit_code = exit_done) const {
        const Slos slos = parse_slos(slo_).value();
        const auto finding = [this](double value, const char* unit, bool fails) {
            return R"({"fail_if":"x","value":)" + std::to_string(value) + R"(,"unit":")" + unit +
                   R"(","client_error":)" + bar_ + R"(,"sure":)" +
                   (bar_ == "null" ? "null" : "true") + R"(,"fails":)" +
                   (fails ? "true}" : "false}");
        };
        const std::string text =
            R"({"fired":)" + std::to_string(rows) + R"(,"p90_ttft_ms":)" + std::to_string(ttft_ms) +
            R"(,"client_error":{"ttft_ms":{"p90":)" + bar_ + R"(},"good":)" + bar_ + "}" +
            R"(,"goodput":{")" + limited_ + R"(":)" + limit_ms_ + R"(,"good":95,"decided":100})" +
            R"(,"client":{"dropped_payloads":0,"dropped_entries":0})" +
            R"(,"warmup":{"fired":0},"verdict":{"name":")" + verdict +
            R"(","reasons":["a reason"]},"thresholds":[)" + finding(ttft_ms, "ms", ttft_ms >= 100) +
            "," + finding(errors, "share", errors >= 0.01) + "]}";
        CellEnd end{
            .outcome = exit_code == exit_done ? CellOutcome::completed : CellOutcome::threshold,
            .exit_code = exit_code};
        end.summary.emplace(CellSummary::read(text).value());
        EXPECT_TRUE(can_be_judged(end));
        JudgedProbe probe;
        const Result<void> judged = judge_probe(end, folder_.path(), slos, probe);
        EXPECT_TRUE(judged) << judged.error().doing;
        return probe;
    }

    const ScratchFolder folder_;
    std::string slo_ = "ttft:p90<100ms";
    std::string bar_ = "null";
    std::string limited_ = "ttft_ms";  ///< of good rows, which are 95 %
    std::string limit_ms_ = "100";
    std::int64_t first_late_ns_ = 0;
    bool read_late_ = false;  ///< all growth is that of the reads
};

TEST_F(JudgedProbeTest, MeetsOrFails) {
    write_records(100, 0);
    const JudgedProbe meets = judge("certified", 100, 40, 0);
    EXPECT_EQ(std::tuple(meets.outcome, meets.rows, meets.stability.stability, meets.binds),
              std::tuple(ProbeOutcome::meets, 100U, Stability::stable, ""));
    const JudgedProbe fails = judge("uncalibrated", 100, 400, 0, exit_threshold);
    EXPECT_EQ(fails.outcome, ProbeOutcome::fails);
    EXPECT_EQ(fails.binds, "ttft:p90<100ms");
    EXPECT_TRUE(says(fails.why, "400.000 ms"));
    // What lies beyond its bound by the largest factor binds.
    EXPECT_EQ(judge("certified", 100, 400, 0.5, exit_threshold).binds, "errors<1%");
    EXPECT_EQ(judge("certified", 100, 400, 0.02, exit_threshold).binds, "ttft:p90<100ms");
}

TEST_F(JudgedProbeTest, ThrowsAwayWhatTheClientSpoiled) {
    write_records(100, 0);
    for (const char* verdict : {"client-limited", "host-noisy", "network-limited"}) {
        const JudgedProbe probe = judge(verdict, 100, 40, 0);
        EXPECT_EQ(probe.outcome, ProbeOutcome::spoiled);
        const bool is_ours = std::string_view(verdict) != "network-limited";
        EXPECT_EQ(probe.why,
                  std::string(verdict) + ": " +
                      (is_ours ? "the client may have moved ttft:p90<100ms across its bound"
                               : "a reason"));
    }
    EXPECT_EQ(judge("certified-with-exclusions", 100, 40, 0).outcome, ProbeOutcome::meets);
}

// A busy host need not matter where its part is small against the SLO: the bar lies on one side of
// it, and no row was late by a tenth of it.
TEST_F(JudgedProbeTest, KeepsWhatTheClientCannotHaveChanged) {
    write_records(100, 0);
    bar_ = R"({"below":30,"above":59.9})";
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::meets);
    EXPECT_TRUE(says(judge("host-noisy", 100, 40, 0).why, "; host-noisy, which cannot"));
    EXPECT_TRUE(says(judge("host-noisy", 100, 40, 0).why, "40.000 ms (client at most 59.900 ms)"));
    EXPECT_EQ(judge("client-limited", 100, 140, 0, exit_threshold).outcome, ProbeOutcome::fails);
    EXPECT_EQ(judge("network-limited", 100, 40, 0).outcome, ProbeOutcome::spoiled);
    EXPECT_EQ(judge("host-noisy", 100, 40, 0, exit_not_certified).outcome, ProbeOutcome::spoiled);
    EXPECT_EQ(judge("host-noisy", 100, 129, 0).outcome, ProbeOutcome::spoiled) << "from 99";
    bar_ = R"({"below":0,"above":60})";
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled) << "up to 100";
    bar_ = R"({"below":0,"above":0})";
    first_late_ns_ = 10 * ms;
    write_records(100, 0);
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::meets);
    ++first_late_ns_;
    write_records(100, 0);
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled);
}

// A share of good rows has a bar, and the times of --goodput say how late a row may be.
TEST_F(JudgedProbeTest, KeepsAShareThatTheClientCannotHaveChanged) {
    slo_ = "good>90%";
    first_late_ns_ = 10 * ms;
    write_records(100, 0);
    bar_ = R"({"below":0.04,"above":0.05})";
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).findings[0].error.value().above, 0.05) << "a share";
    for (const char* name : {"ttft_ms", "ttft_due_ms", "e2el_ms"}) {
        limited_ = name;
        limit_ms_ = "100";
        EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::meets) << name;
        limit_ms_ = "99";
        EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled) << name;
    }
    const JudgedProbe late = judge("host-noisy", 100, 40, 0);
    EXPECT_TRUE(says(late.why, "rows left late: p99 0.000 ms, worst 10.000 ms; allowed 4.950 ms"))
        << late.why;
    limited_ = "tpot_ms";  // against what answers last, which is not known here
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled);
    limited_ = "e2el_ms";
    limit_ms_ = "null";
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled) << "no time decides";
    limit_ms_ = "100";
    bar_ = R"({"below":0.06,"above":0})";
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled);
}

// On a busy host, too, where the rise is not that of the client itself.
TEST_F(JudgedProbeTest, FailsWhatTheServerDoesNotKeepUpWithBesideOthers) {
    bar_ = R"({"below":1,"above":0})";
    write_records(200, ms);
    const JudgedProbe probe = judge("host-noisy", 200, 40, 0);
    EXPECT_EQ(std::tuple(probe.outcome, probe.binds), std::tuple(ProbeOutcome::fails, "stability"));
    read_late_ = true;
    write_records(200, ms);
    EXPECT_EQ(judge("host-noisy", 200, 40, 0).outcome, ProbeOutcome::spoiled);
}

// No time says how late rows may have left.
TEST_F(JudgedProbeTest, ThrowsAwayErrorsAloneOfASpoiledRun) {
    slo_ = "errors<1%";
    write_records(100, 0);
    EXPECT_EQ(judge("certified", 100, 40, 0).outcome, ProbeOutcome::meets);
    EXPECT_EQ(judge("host-noisy", 100, 40, 0).outcome, ProbeOutcome::spoiled);
}

TEST_F(JudgedProbeTest, ThrowsAwayWhatIsTooShort) {
    write_records(63, 0);
    EXPECT_EQ(judge("certified", 63, 40, 0).outcome, ProbeOutcome::too_short);
    EXPECT_EQ(judge("certified", 63, 400, 0).outcome, ProbeOutcome::too_short);
    write_records(64, 0);
    EXPECT_EQ(judge("certified", 64, 40, 0).outcome, ProbeOutcome::meets);
}

// TTFT is within its bound, and would not be in a longer run.
TEST_F(JudgedProbeTest, FailsWhatTheServerDoesNotKeepUpWith) {
    write_records(200, ms);
    const JudgedProbe probe = judge("certified", 200, 99, 0);
    EXPECT_EQ(std::tuple(probe.outcome, probe.binds), std::tuple(ProbeOutcome::fails, "stability"));
    EXPECT_TRUE(says(probe.why, "does not keep up"));
}

TEST(JudgedProbe, NeedsARunThatEnded) {
    CellEnd end;
    EXPECT_FALSE(can_be_judged(end));
    end.exit_code = exit_preflight;
    EXPECT_FALSE(can_be_judged(end));
    end.exit_code = exit_no_success;
    EXPECT_FALSE(can_be_judged(end));
    end.summary.emplace(CellSummary::read("{}").value());
    EXPECT_TRUE(can_be_judged(end));
    end.outcome = CellOutcome::interrupted;
    EXPECT_FALSE(can_be_judged(end));
}

FindOptions options_of(const char* load, const Words& more = {}) {
    Words words{"trace.jsonl", "--url", "http://a:1", "--slo", "ttft:p90<1s", "--over", load};
    words.insert(words.end(), more.begin(), more.end());
    const FindCommandLine line = parse_find_options(words);
    EXPECT_EQ(line.kind, FindCommandLine::Kind::run) << line.text;
    return line.options;
}

JudgedProbe probe_of(ProbeOutcome outcome, Stability stability) {
    return JudgedProbe{
        .probe = {12.5, 3, 1, Purpose::replicate},
        .outcome = outcome,
        .run = "01-rate-12.5",
        .verdict = "host-noisy",
        .why = "a \"reason\"\n",
        .binds = outcome == ProbeOutcome::fails ? "stability" : "",
        .seconds = 3.25,
        .rows = 100,
        .findings = {{"ttft:p90<1s", 40.0, FigureUnit::time, true, ErrorBar{0.5, 0.25}},
                     {"errors<1%", std::nullopt, FigureUnit::share, false}},
        .stability = {.stability = stability},
        .cut_folders = {"01-rate-12.5.cut-1"}};
}

TEST(SearchFile, IsReadBackOrSaysWhatIsWrong) {
    const FindOptions options = options_of("rate");
    SearchReport report{.options = &options,
                        .command = {"trace.jsonl", "--slo", "ttft:p90 < 1s"},
                        .home = "/home",
                        .traces = {{"trace.jsonl", "00ff"}},
                        .saturated = 12.3456789,
                        .state = "searching",
                        .seconds = 7.5,
                        .probes = {probe_of(ProbeOutcome::meets, Stability::stable),
                                   probe_of(ProbeOutcome::fails, Stability::unstable),
                                   probe_of(ProbeOutcome::spoiled, Stability::unknown),
                                   probe_of(ProbeOutcome::too_short, Stability::unknown)}};
    const std::string text = find_json(report);
    SearchReport kept;
    ASSERT_EQ(read_search(text, kept), "");
    EXPECT_EQ(std::tuple(kept.command, kept.home), std::tuple(report.command, "/home"));
    ASSERT_EQ(kept.traces.size(), 1U);
    EXPECT_EQ(kept.traces[0].digest, "00ff");
    EXPECT_EQ(std::tuple(kept.seconds, kept.saturated), std::tuple(7.5, 12.3456789));
    ASSERT_EQ(kept.probes.size(), 4U);
    EXPECT_EQ(kept.probes[1].binds, "stability");
    EXPECT_EQ(kept.probes[3].outcome, ProbeOutcome::too_short);
    EXPECT_EQ(kept.probes[0].findings[1].value, std::nullopt);
    // All but the purpose, which the search knows: written again, it is the same text.
    for (JudgedProbe& probe : kept.probes) {
        EXPECT_EQ(probe.probe.seed, 3U);
        probe.probe.purpose = Purpose::replicate;
    }
    report.probes = kept.probes;
    EXPECT_EQ(find_json(report), text);
    SearchReport other_kept;
    expect_each(
        [&](auto in) { return read_search(in, other_kept); },
        gives("[", "is not JSON; start a new search"),
        gives("{\"schema\":1}", "was written by another version of driftless; use that one"),
        gives("{\"schema\":3,\"saturated\":0}", "has an unreadable saturated; start a new search"),
        gives("{\"schema\":3,\"probes\":[{\"value\":1}]}", "has an unreadable probe: number 1"));
}

JudgedProbe probe_at(double value, ProbeOutcome outcome, std::uint32_t seed = 0) {
    JudgedProbe probe{.probe = {value, seed, 0, Purpose::bisect},
                      .outcome = outcome,
                      .run = "01-rate-" + load_text(value),
                      .verdict = "certified",
                      .why = "ttft:p90<1s 40.000 ms",
                      .binds = outcome == ProbeOutcome::fails ? "ttft:p90<1s" : "",
                      .rows = 100};
    probe.seconds = 3.25;
    probe.findings.push_back({"ttft:p90<1s", 40.0, FigureUnit::time, false, ErrorBar{0.5, 0.25}});
    return probe;
}

TEST(SearchReport, JsonHoldsAgainstItsSchema) {
    const FindOptions options = options_of("rate");
    SearchReport empty{.options = &options, .state = "searching"};
    SearchReport full = empty;
    full.knee = {12.5, 13, 12, 14, false, SearchState::found};
    full.state = name_of(full.knee.state);
    full.command = {"trace.jsonl", "--slo", "ttft:p90<1s"};
    full.home = "/home";
    full.traces = {{"trace.jsonl", "00ff"}};
    full.why = "a \"reason\"";
    full.probes = {probe_at(12.5, ProbeOutcome::meets), probe_at(13, ProbeOutcome::fails),
                   probe_at(14, ProbeOutcome::spoiled, 2)};
    full.probes.back().findings[0].value.reset();
    full.probes.back().cut_folders = {"03-rate-14.cut-1"};
    for (const SearchReport& report : {empty, full}) {
        const std::string text = find_json(report);
        EXPECT_EQ(text.back(), '\n');
        EXPECT_EQ(schema_errors("cmd/runs/find.schema.json", text, true),
                  std::vector<std::string>());
    }
    const JsonText json(find_json(full));
    EXPECT_EQ(values_of(json.root, "pass, binds, probes/0/meets, probes/1/meets, probes/2/meets"),
              "12.5, ttft:p90<1s, true, false, null");
}

TEST(SearchReport, SaysWhatWasFoundAndWhatBinds) {
    const FindOptions options = options_of("users");
    SearchReport report{
        .options = &options,
        .knee = {12, 13, 12, std::nullopt, true, SearchState::found},
        .probes = {probe_at(12, ProbeOutcome::meets), probe_at(13, ProbeOutcome::fails)}};
    EXPECT_TRUE(says(result_lines(report),
                     {"from 12 to 13 users", "from 12 to unknown", "Binds           ttft:p90<1s"}));
    const std::string line = probe_line(report, report.probes[1], KneeProbe{.value = 11});
    EXPECT_TRUE(says(line, {"users 13: fails (100 requests, 3.2 s)", "; next 11 (bracket)"}));
    EXPECT_FALSE(says(probe_line(report, report.probes[1], {}), "next"));

    report.knee = {std::nullopt, 1, {}, {}, true, SearchState::lowest_fails};
    EXPECT_TRUE(says(result_lines(report), "below 1 users"));
    report.knee = {64, std::nullopt, {}, {}, true, SearchState::highest_passes};
    EXPECT_TRUE(says(result_lines(report), "above 64 users"));
    EXPECT_TRUE(says(result_lines(report), "raise --high"));
    // No probe ran: it says so, and no probe is blamed. What stopped the search is said on stderr.
    SearchReport other_report{.options = &options,
                              .state = "stopped",
                              .why = "a percentile of the SLO needs 100 requests"};
    const std::string other_said = result_lines(other_report);
    EXPECT_TRUE(says(other_said, "Knee            not known: no probe ran"));
    EXPECT_FALSE(says(other_said, "spoiled"));
    EXPECT_FALSE(says(other_said, "percentile"));
    SearchReport third_report{.options = &options, .knee = {.fail = 13}};
    EXPECT_EQ(binding(third_report), "");
    JudgedProbe unstable = probe_at(13, ProbeOutcome::fails, 1);
    unstable.binds = "stability";
    third_report.probes = {probe_at(20, ProbeOutcome::fails), unstable};
    EXPECT_EQ(binding(third_report), "stability");
    third_report.probes.push_back(probe_at(13, ProbeOutcome::fails));
    EXPECT_EQ(binding(third_report), "ttft:p90<1s");
}

std::string refusal(std::string_view text) {
    const Result<Slos> slos = parse_slos(text);
    return slos ? "" : slos.error().doing;
}

TEST(Slo, IsTheOppositeOfAThreshold) {
    const Slos slos = parse_slos("ttft:p99<2s, tpot:p95 <= 50ms errors<0.1 % good > 95%").value();
    const std::vector<Slo>& list = slos.list;
    ASSERT_EQ(list.size(), 4U);
    EXPECT_EQ(std::tuple(list[0].text, list[0].fail_if), std::tuple("ttft:p99<2s", "ttft:p99>=2s"));
    EXPECT_EQ(std::tuple(list[0].threshold.bound, list[0].threshold.compare, list[1].fail_if),
              std::tuple(2e9, Compare::at_least, "tpot:p95>50ms"));
    EXPECT_EQ(std::tuple(list[2].text, list[2].fail_if, list[3].fail_if, slos.rows_min),
              std::tuple("errors<0.1%", "errors>=0.1%", "good<=95%", 662U));
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().list.back().text, "errors<1%");
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().rows_min, 11U);
    EXPECT_EQ(parse_slos("e2e:max<1s failed<=0").value().list.size(), 2U);
    EXPECT_EQ(parse_slos("e2e:mean<1s errors<=5%").value().rows_min, 1U);
    expect_saying(
        refusal, gives("", "is empty"), gives("fast", "has no comparison"),
        gives("ttft:p99>2s", "wrong way round"), gives("good<95%", "wrong way round"),
        gives("ttft:p98<2s", "statistic"), gives("ttft:p99<2", "unit"),
        gives("request_throughput>5", "cannot be in an SLO"), gives("ttft:p99 <= =2s", "unit"),
        gives("speed<2", "is not a known figure"), gives("errors<0%", "never holds"),
        gives("good>=0%", "always holds"), gives("errors<0.5", "needs a percent sign"),
        gives("ttf:p99<1s", "mean ttft:p99?"), gives("joules_per_token<1", "compare --table"));
    // What no SLO takes is not offered to it.
    EXPECT_FALSE(says(refusal("hit_rate<1%"), "hits"));
}

using Server = std::function<ProbeOutcome(const KneeProbe&)>;

struct Played {
    Knee knee;
    std::vector<JudgedProbe> done;
};

Played play(const SearchRules& rules, const Server& server) {
    Played played;
    for (;;) {
        const SearchStep step = next_step(rules, played.done);
        played.knee = step.knee;
        if (!step.next) {
            EXPECT_NE(step.knee.state, SearchState::searching);
            return played;
        }
        EXPECT_EQ(step.knee.state, SearchState::searching);
        EXPECT_GE(step.next->value, rules.low);
        EXPECT_LE(step.next->value, rules.high);
        played.done.push_back({*step.next, server(*step.next)});
        if (played.done.size() > probes_max) {
            ADD_FAILURE() << "does not end";
            return played;
        }
    }
}

Server knee_at(double knee) {
    return [knee](const KneeProbe& probe) {
        return probe.value <= knee ? ProbeOutcome::meets : ProbeOutcome::fails;
    };
}

SearchRules whole(double high, double start = 1) {
    return {.high = high, .start = start, .replicates = 2};
}

SearchRules real(double low, double high, double start) {
    return {.whole = false, .low = low, .high = high, .start = start, .replicates = 2};
}

TEST(KneeSearch, FindsKneesWithFewDigits) {
    for (int knee = 1; knee < 300; ++knee) {
        for (const double start : {1.0, 7.0, 300.0}) {
            const Played played = play(whole(300, start), knee_at(knee));
            EXPECT_EQ(played.knee.state, SearchState::found);
            ASSERT_TRUE(played.knee.pass && played.knee.fail);
            EXPECT_LE(*played.knee.pass, knee);
            EXPECT_GT(*played.knee.fail, knee);
            EXPECT_LE(*played.knee.fail - *played.knee.pass,
                      std::max(1.0, 0.05 * *played.knee.pass));
            EXPECT_EQ(played.knee.low, played.knee.pass) << knee;
            EXPECT_EQ(played.knee.high, played.knee.fail) << knee;
            EXPECT_TRUE(played.knee.monotone);
        }
    }
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const double knee = std::exp(std::uniform_real_distribution(-4.0, 7.0)(random));
        const Played played = play(real(1e-6, 1e6, 1), knee_at(knee));
        EXPECT_EQ(played.knee.state, SearchState::found);
        EXPECT_LE(*played.knee.pass, knee);
        EXPECT_GT(*played.knee.fail, knee);
        EXPECT_LE(*played.knee.fail, *played.knee.pass * 1.0501);
        EXPECT_LT(played.done.size(), 30U);
        char text[32];
        (void)std::snprintf(text, sizeof text, "%.5g", *played.knee.pass);
        EXPECT_DOUBLE_EQ(std::stod(text), *played.knee.pass);
    }
}

// Bracket, bisection, one below, and the replicates: in this order, with seeds of their own.
TEST(KneeSearch, ProbesInOrderAndOnceBelow) {
    const Played played = play(whole(1000), knee_at(11));
    std::string said;
    for (const JudgedProbe& one : played.done) {
        said += std::to_string(static_cast<int>(one.probe.value)) + ":" +
                std::to_string(one.probe.seed) + " " + name_of(one.probe.purpose) + ", ";
    }
    EXPECT_EQ(said,
              "1:0 bracket, 2:0 bracket, 4:0 bracket, 8:0 bracket, 16:0 bracket, 12:0 bisect, "
              "10:0 bisect, 11:0 bisect, 11:1 replicate, 11:2 replicate, 12:1 replicate, "
              "12:2 replicate, ");
    EXPECT_EQ(play(whole(1000, 16), knee_at(1000)).knee.state, SearchState::highest_passes);
    const Played other_played = play(whole(1000, 100), [](const KneeProbe& probe) {
        return probe.value < 101 ? ProbeOutcome::meets : ProbeOutcome::fails;
    });
    EXPECT_EQ(std::count_if(other_played.done.begin(), other_played.done.end(),
                            [](const JudgedProbe& one) {
                                return one.probe.purpose == Purpose::below && one.probe.value == 85;
                            }),
              1);
}

TEST(KneeSearch, EndsAtTheBoundsOrGivesUp) {
    const Played low = play(whole(64, 8), knee_at(0));
    EXPECT_EQ(low.knee.state, SearchState::lowest_fails);
    EXPECT_FALSE(low.knee.pass);
    EXPECT_EQ(low.knee.fail, 1);
    const Played high = play(whole(50, 8), knee_at(50));
    EXPECT_EQ(high.knee.state, SearchState::highest_passes);
    EXPECT_EQ(high.knee.pass, 50);
    EXPECT_FALSE(high.knee.fail);
    const Played only = play(whole(1), knee_at(1));
    EXPECT_EQ(only.knee.state, SearchState::highest_passes);
    EXPECT_EQ(only.done.size(), 1U);
    unsigned spoiled = 0;
    const Played played = play(whole(64), [&](const KneeProbe& probe) {
        const bool first = probe.attempt < 2;
        spoiled += first ? 1 : 0;
        return first ? ProbeOutcome::spoiled : knee_at(9)(probe);
    });
    EXPECT_EQ(std::tuple(played.knee.pass, played.knee.fail), std::tuple(9, 10));
    EXPECT_EQ(spoiled * 3, played.done.size() * 2);

    const Played given_up = play(whole(64), [](const KneeProbe& probe) {
        return probe.value > 4 ? ProbeOutcome::spoiled : ProbeOutcome::meets;
    });
    EXPECT_EQ(given_up.knee.state, SearchState::spoiled);
    EXPECT_EQ(given_up.knee.pass, 4);
    EXPECT_FALSE(given_up.knee.fail);
    EXPECT_EQ(given_up.done.size(), 3U + 3U);
}

// A load below the boundary that fails twice is the boundary: 20 fails although 24 passes.
TEST(KneeSearch, KeepsBelowFailuresAndWidensTheInterval) {
    const auto dip = [](const KneeProbe& probe) {
        const bool meets = probe.value <= 24 && !(probe.value >= 19 && probe.value <= 21);
        return meets ? ProbeOutcome::meets : ProbeOutcome::fails;
    };
    const Played played = play(whole(64, 24), dip);
    EXPECT_EQ(std::tuple(played.knee.state, played.knee.pass), std::tuple(SearchState::found, 18));
    EXPECT_EQ(played.knee.fail, 19);
    EXPECT_FALSE(played.knee.monotone);
    // By chance, once: the boundary stays.
    const Played chance = play(whole(64, 24), [&](const KneeProbe& probe) {
        return probe.seed == 0 ? dip(probe) : knee_at(24)(probe);
    });
    EXPECT_EQ(std::tuple(chance.knee.pass, chance.knee.fail), std::tuple(24, 25));
    EXPECT_TRUE(chance.knee.monotone);
    // Replicates that disagree widen the interval to loads at which all agree.
    const Played other_played = play(whole(400, 100), [](const KneeProbe& probe) {
        const double knee = probe.seed == 0 ? 200 : probe.seed == 1 ? 185 : 230;
        return knee_at(knee)(probe);
    });
    ASSERT_TRUE(other_played.knee.low && other_played.knee.high);
    EXPECT_LE(*other_played.knee.low, 185);
    EXPECT_GT(*other_played.knee.high, 230);
    EXPECT_LE(*other_played.knee.pass, 200);
    EXPECT_GT(*other_played.knee.fail, 200);

    SearchRules none = whole(400, 100);
    none.replicates = 0;
    const Played bare = play(none, knee_at(200));
    EXPECT_FALSE(bare.knee.low || bare.knee.high);
    EXPECT_EQ(bare.knee.state, SearchState::found);
}

// Where every answer is chance it ends all the same.
TEST(KneeSearch, AlwaysEndsWithTheKneeInTheInterval) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        const Played played =
            play(i % 2 == 0 ? whole(500, 20) : real(0.1, 500, 20), [&](const KneeProbe&) {
                const auto draw = random() % 10;
                return draw < 5   ? ProbeOutcome::meets
                       : draw < 8 ? ProbeOutcome::fails
                                  : ProbeOutcome::spoiled;
            });
        if (played.knee.pass && played.knee.fail) {
            EXPECT_LT(*played.knee.pass, *played.knee.fail);
        }
        if (played.knee.low && played.knee.high) {
            EXPECT_LT(*played.knee.low, *played.knee.high);
        }
    }
    // A server whose knee moves by 5 % from seed to seed: the interval holds its middle.
    std::mt19937 other_random(3);
    int held = 0;
    constexpr int trials = 500;
    for (int i = 0; i < trials; ++i) {
        const double middle = std::uniform_real_distribution(10.0, 90.0)(other_random);
        std::vector<double> of_seed;
        for (int seed = 0; seed < 3; ++seed) {
            of_seed.push_back(middle * std::normal_distribution(1.0, 0.05)(other_random));
        }
        const Played played = play(real(1, 1000, 8), [&](const KneeProbe& probe) {
            return knee_at(of_seed.at(probe.seed))(probe);
        });
        const Knee& knee = played.knee;
        held += (!knee.low || *knee.low <= middle) && (!knee.high || middle <= *knee.high) ? 1 : 0;
    }
    EXPECT_GE(held, trials * 70 / 100);  // all three seeds lie on one side in a quarter of them
}

// Where the throughput of a server is known, the first probes are near its knee.
TEST(KneeSearch, BeginsNearAnEstimateWithinWhatIsAllowed) {
    std::size_t far = 0;
    std::size_t near = 0;
    for (const double capacity : {0.02, 0.7, 5.0, 38.0, 900.0, 20'000.0}) {
        for (const double part : {0.3, 0.6, 0.85, 0.95, 1.3}) {
            const double knee = capacity * part;
            FindOptions options = options_of("rate");
            options.rules.replicates = 0;
            far += play(options.rules, knee_at(knee)).done.size();
            begin_near(options, capacity);
            const Played played = play(options.rules, knee_at(knee));
            near += played.done.size();
            EXPECT_EQ(played.knee.state, SearchState::found) << knee;
            EXPECT_LE(*played.knee.pass, knee);
            EXPECT_GT(*played.knee.fail, knee);
            EXPECT_LE(played.done[0].probe.value, capacity);
        }
    }
    EXPECT_LT(near, far * 8 / 10);
    FindOptions options = options_of("rate", {"--low", "10", "--high", "100"});
    EXPECT_TRUE(begins_by_loop(options));
    begin_near(options, 1000);
    EXPECT_EQ(options.rules.start, 100);
    begin_near(options, 1e-12);
    EXPECT_EQ(options.rules.start, 10);
    begin_near(options, 55.55);
    EXPECT_EQ(options.rules.start, 44.4);
    EXPECT_FALSE(begins_by_loop(options_of("rate", {"--low", "10", "--high", "80"})));
    EXPECT_FALSE(begins_by_loop(options_of("rate", {"--start-at", "3"})));
    EXPECT_FALSE(begins_by_loop(options_of("rate", {"--", "--sessions=open"})));
    EXPECT_FALSE(begins_by_loop(options_of("users")));
    for (const double any : {1e-300, 0.003, 1e300}) {
        FindOptions free = options_of("rate", {});
        begin_near(free, any);
        EXPECT_TRUE(check_rules(free.rules)) << any;
    }
}

// A loop whose server has so many places, each busy for so long, and fails the first requests.
std::vector<std::int64_t> loop_of(unsigned places, std::int64_t busy_ns, unsigned rows) {
    std::vector<std::int64_t> ended_ns;
    for (unsigned row = 0; row < rows; ++row) {
        ended_ns.push_back((row / places + 1) * busy_ns);
    }
    return ended_ns;
}

TEST(ClosedLoop, CountsWhatTheServerAnswers) {
    EXPECT_DOUBLE_EQ(saturated_rate(loop_of(8, 200 * ms, 192)).value(), 40);
    EXPECT_DOUBLE_EQ(saturated_rate(loop_of(1, 5000 * ms, 12)).value(), 0.2);  // below 1 a second
    EXPECT_DOUBLE_EQ(saturated_rate(loop_of(64, 1000 * ms, 72)).value(), 64);  // a last one alone
    std::vector<std::int64_t> slow_start = loop_of(8, 200 * ms, 192);
    for (std::int64_t& ended_ns : slow_start) {
        ended_ns += 300 * ms;
    }
    EXPECT_NEAR(saturated_rate(slow_start).value(), 40, 4);
    EXPECT_FALSE(saturated_rate({}));  // every request failed, or none ended
    EXPECT_FALSE(saturated_rate({ms, 2 * ms, 3 * ms}));
    EXPECT_TRUE(saturated_rate({ms, 2 * ms, 3 * ms, 4 * ms}) && saturated_rate({0, 0, 0, 0}));
    const ScratchFolder folder;
    EXPECT_TRUE(read_loop(folder.path()).value().ended_ns.empty());
    std::string text;
    for (unsigned i = 0; i < 6; ++i) {
        Record record;
        record.row = record.request = i;
        record.fired_ns = 0;
        record.ended_ns = (i + 1) * ms;
        record.outcome = i < 4 ? Outcome::http_5xx : i == 4 ? Outcome::ok : Outcome::cancelled;
        record.censored = record.outcome == Outcome::cancelled;
        append_jsonl(text, record);
        folder.write("requests.jsonl", text);
        ASSERT_TRUE(read_loop(folder.path()));
        EXPECT_EQ(read_loop(folder.path()).value().ended_ns.size(), i < 4 ? 0U : 1U);
        EXPECT_EQ(read_loop(folder.path()).value().cut, i == 5);
    }
}

TEST(KneeSearch, RefusesRulesThatCannotBeSearched) {
    EXPECT_TRUE(check_rules(whole(10)));
    EXPECT_FALSE(check_rules(whole(0.5)) || check_rules(whole(10, 11)));
    EXPECT_FALSE(check_rules(real(0, 10, 1)));
    SearchRules rules = whole(10);
    rules.tolerance = 0;
    EXPECT_FALSE(check_rules(rules));
}

}  // namespace
}  // namespace driftless
