// What a run says of its load, by its summary and its records.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cmd/base/exit_codes.hpp"
#include "cmd/runs/find.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ms = 1'000'000;

/// A folder with records of so many rows, 10 ms apart, whose TTFT and answer grow by so much a row.
class JudgedProbeTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "judged_probe_" + std::to_string(::getpid());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write_records(unsigned rows, std::int64_t growth_ns) const {
        std::string text;
        for (unsigned i = 0; i < rows; ++i) {
            Record record;
            record.row = record.request = i;
            record.due_ns = i * 10 * ms;
            record.fired_ns = record.due_ns;
            record.first_token_ns = record.due_ns + 20 * ms + i * growth_ns;
            record.ended_ns = *record.first_token_ns + 20 * ms;
            record.outcome = Outcome::ok;
            append_jsonl(text, record);
        }
        std::ofstream(folder_ + "/requests.jsonl") << text;
    }

    JudgedProbe judge(const std::string& verdict, unsigned rows, double ttft_ms, double errors,
                      int exit_code = exit_done) const {
        const Slos slos = parse_slos("ttft:p90<100ms").value();
        const auto finding = [](double value, const char* unit, bool fails) {
            return R"({"fail_if":"x","value":)" + std::to_string(value) + R"(,"unit":")" + unit +
                   R"(","fails":)" + (fails ? "true}" : "false}");
        };
        const std::string text = R"({"fired":)" + std::to_string(rows) +
                                 R"(,"warmup":{"fired":0},"verdict":{"name":")" + verdict +
                                 R"(","reasons":["a reason"]},"thresholds":[)" +
                                 finding(ttft_ms, "ms", ttft_ms >= 100) + "," +
                                 finding(errors, "share", errors >= 0.01) + "]}";
        CellEnd end;
        end.outcome = exit_code == exit_done ? CellOutcome::completed : CellOutcome::threshold;
        end.exit_code = exit_code;
        end.summary.emplace(CellSummary::read(text).value());
        EXPECT_TRUE(can_be_judged(end));
        JudgedProbe probe;
        const Result<void> judged = judge_probe(end, folder_, slos, probe);
        EXPECT_TRUE(judged) << judged.error().doing;
        return probe;
    }

    std::string folder_;
};

TEST_F(JudgedProbeTest, MeetsOrFails) {
    write_records(100, 0);
    const JudgedProbe meets = judge("certified", 100, 40, 0);
    EXPECT_EQ(meets.outcome, ProbeOutcome::meets);
    EXPECT_EQ(meets.rows, 100U);
    EXPECT_EQ(meets.stability.stability, Stability::stable);
    EXPECT_EQ(meets.binds, "");
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
        EXPECT_EQ(probe.why, std::string(verdict) + ": a reason");
    }
    EXPECT_EQ(judge("certified-with-exclusions", 100, 40, 0).outcome, ProbeOutcome::meets);
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
    EXPECT_EQ(probe.outcome, ProbeOutcome::fails);
    EXPECT_EQ(probe.binds, "stability");
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

// find.json is read back as it was written; what cannot be read is told.

FindOptions options_of_search() {
    return parse_find_options(
               {"trace.jsonl", "--url", "http://a:1", "--slo", "ttft:p90<1s", "--over", "rate"})
        .options;
}

JudgedProbe probe_of(ProbeOutcome outcome, Stability stability) {
    JudgedProbe probe;
    probe.probe = {12.5, 3, 1, Purpose::replicate};
    probe.outcome = outcome;
    probe.run = "01-rate-12.5";
    probe.verdict = "host-noisy";
    probe.why = "a \"reason\"\n";
    probe.binds = outcome == ProbeOutcome::fails ? "stability" : "";
    probe.seconds = 3.25;
    probe.rows = 100;
    probe.findings = {{"ttft:p90<1s", 40.0, FigureUnit::time, true},
                      {"errors<1%", std::nullopt, FigureUnit::share, false}};
    probe.stability.stability = stability;
    probe.cut_folders = {"01-rate-12.5.cut-1"};
    return probe;
}

TEST(SearchFile, IsReadBack) {
    const FindOptions options = options_of_search();
    SearchReport report;
    report.options = &options;
    report.command = {"trace.jsonl", "--slo", "ttft:p90 < 1s"};
    report.home = "/home";
    report.traces = {{"trace.jsonl", "00ff"}};
    report.state = "searching";
    report.seconds = 7.5;
    report.probes = {probe_of(ProbeOutcome::meets, Stability::stable),
                     probe_of(ProbeOutcome::fails, Stability::unstable),
                     probe_of(ProbeOutcome::spoiled, Stability::unknown),
                     probe_of(ProbeOutcome::too_short, Stability::unknown)};
    const std::string text = find_json(report);
    KeptSearch kept;
    ASSERT_EQ(read_search(text, kept), "");
    EXPECT_EQ(kept.command, report.command);
    EXPECT_EQ(kept.home, "/home");
    ASSERT_EQ(kept.traces.size(), 1U);
    EXPECT_EQ(kept.traces[0].digest, "00ff");
    EXPECT_EQ(kept.seconds, 7.5);
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
}

TEST(SearchFile, SaysWhatIsWrong) {
    KeptSearch kept;
    EXPECT_EQ(read_search("[", kept), "is not JSON; start a new search");
    EXPECT_EQ(read_search("{\"schema\":1}", kept),
              "was written by another version of driftless; use that one");
    EXPECT_EQ(read_search("{\"schema\":2,\"probes\":[{\"value\":1}]}", kept),
              "has an unreadable probe: number 1");
}

// find.json holds against its schema, key by key; and the words on the screen.

JudgedProbe probe_at(double value, ProbeOutcome outcome, std::uint32_t seed = 0) {
    JudgedProbe probe;
    probe.probe = {value, seed, 0, Purpose::bisect};
    probe.outcome = outcome;
    probe.run = "01-rate-" + load_text(value);
    probe.verdict = "certified";
    probe.why = "ttft:p90<1s 40.000 ms";
    probe.binds = outcome == ProbeOutcome::fails ? "ttft:p90<1s" : "";
    probe.rows = 100;
    probe.seconds = 3.25;
    probe.findings.push_back({"ttft:p90<1s", 40.0, FigureUnit::time, false});
    return probe;
}

FindOptions options_of(const char* load) {
    const FindCommandLine line = parse_find_options(
        {"trace.jsonl", "--url", "http://a:1", "--slo", "ttft:p90<1s", "--over", load});
    EXPECT_EQ(line.kind, FindCommandLine::Kind::run) << line.text;
    return line.options;
}

TEST(SearchReport, JsonHoldsAgainstItsSchema) {
    JsonDocument schema_document;
    const std::string schema_text = source_file("cmd/runs/find.schema.json");
    const JsonValue schema = schema_document.parse(schema_text).value();
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
        JsonDocument document;
        const std::string text = find_json(report);
        EXPECT_EQ(text.back(), '\n');
        const JsonValue root = document.parse(text).value();
        EXPECT_EQ(schema_errors(schema, root), std::vector<std::string>());
        JsonValue property = schema.find("properties").first();
        for (JsonValue field = root.first(); field.present(); field = field.next()) {
            EXPECT_EQ(field.key(), property.key());
            property = property.next();
        }
        EXPECT_FALSE(property.present());
    }
    JsonDocument document;
    const std::string text = find_json(full);
    const JsonValue root = document.parse(text).value();
    EXPECT_EQ(root.find("pass").as_double(), 12.5);
    EXPECT_EQ(root.find("binds").as_string(), "ttft:p90<1s");
    EXPECT_EQ(root.find("probes").at(0).find("meets").as_bool(), true);
    EXPECT_EQ(root.find("probes").at(1).find("meets").as_bool(), false);
    EXPECT_EQ(root.find("probes").at(2).find("meets").raw(), "null");
}

TEST(SearchReport, SaysWhatWasFound) {
    const FindOptions options = options_of("users");
    SearchReport report;
    report.options = &options;
    report.knee = {12, 13, 12, std::nullopt, true, SearchState::found};
    report.probes = {probe_at(12, ProbeOutcome::meets), probe_at(13, ProbeOutcome::fails)};
    const std::string said = result_lines(report);
    EXPECT_TRUE(says(said, "from 12 to 13 users"));
    EXPECT_TRUE(says(said, "from 12 to unknown"));
    EXPECT_TRUE(says(said, "Binds           ttft:p90<1s"));
    EXPECT_TRUE(
        says(probe_line(report, report.probes[1]), "users 13: fails (100 requests, 3.2 s)"));

    report.knee = {std::nullopt, 1, {}, {}, true, SearchState::lowest_fails};
    EXPECT_TRUE(says(result_lines(report), "below 1 users"));
    report.knee = {64, std::nullopt, {}, {}, true, SearchState::highest_passes};
    EXPECT_TRUE(says(result_lines(report), "above 64 users"));
    EXPECT_TRUE(says(result_lines(report), "raise --high"));
}

// No probe ran: it says so, and no probe is blamed. What stopped the search is said on stderr.
TEST(SearchReport, SaysThatNoProbeRan) {
    const FindOptions options = options_of("users");
    SearchReport report;
    report.options = &options;
    report.state = "stopped";
    report.why = "a percentile of the SLO needs 100 requests";
    const std::string said = result_lines(report);
    EXPECT_TRUE(says(said, "Knee            not known: no probe ran"));
    EXPECT_FALSE(says(said, "spoiled"));
    EXPECT_FALSE(says(said, "percentile"));
}

TEST(SearchReport, NamesWhatBinds) {
    const FindOptions options = options_of("users");
    SearchReport report;
    report.options = &options;
    report.knee.fail = 13;
    EXPECT_EQ(binding(report), "");
    JudgedProbe unstable = probe_at(13, ProbeOutcome::fails, 1);
    unstable.binds = "stability";
    report.probes = {probe_at(20, ProbeOutcome::fails), unstable};
    EXPECT_EQ(binding(report), "stability");
    report.probes.push_back(probe_at(13, ProbeOutcome::fails));
    EXPECT_EQ(binding(report), "ttft:p90<1s");
}

// SLOs as people type them, and what is refused.

std::string refusal(std::string_view text) {
    const Result<Slos> slos = parse_slos(text);
    return slos ? "" : slos.error().doing;
}

TEST(Slo, IsTheOppositeOfAThreshold) {
    const Result<Slos> slos = parse_slos("ttft:p99<2s, tpot:p95 <= 50ms errors<0.1 % good > 95%");
    ASSERT_TRUE(slos) << slos.error().doing;
    const std::vector<Slo>& list = slos.value().list;
    ASSERT_EQ(list.size(), 4U);
    EXPECT_EQ(list[0].text, "ttft:p99<2s");
    EXPECT_EQ(list[0].fail_if, "ttft:p99>=2s");
    EXPECT_EQ(list[0].threshold.bound, 2e9);
    EXPECT_EQ(list[0].threshold.compare, Compare::at_least);
    EXPECT_EQ(list[1].fail_if, "tpot:p95>50ms");
    EXPECT_EQ(list[2].text, "errors<0.1%");
    EXPECT_EQ(list[2].fail_if, "errors>=0.1%");
    EXPECT_EQ(list[3].fail_if, "good<=95%");
    EXPECT_EQ(slos.value().rows_min, 662U);
}

TEST(Slo, BoundsErrorsWhereNobodyDid) {
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().list.back().text, "errors<1%");
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().rows_min, 11U);
    EXPECT_EQ(parse_slos("e2e:max<1s failed<=0").value().list.size(), 2U);
    EXPECT_EQ(parse_slos("e2e:mean<1s errors<=5%").value().rows_min, 1U);
}

TEST(Slo, RefusesWhatSaysNothing) {
    EXPECT_TRUE(says(refusal(""), "is empty"));
    EXPECT_TRUE(says(refusal("fast"), "has no comparison"));
    EXPECT_TRUE(says(refusal("ttft:p99>2s"), "wrong way round"));
    EXPECT_TRUE(says(refusal("good<95%"), "wrong way round"));
    EXPECT_TRUE(says(refusal("ttft:p98<2s"), "statistic"));
    EXPECT_TRUE(says(refusal("ttft:p99<2"), "unit"));
    EXPECT_TRUE(says(refusal("request_throughput>5"), "cannot be in an SLO"));
    EXPECT_TRUE(says(refusal("ttft:p99 <= =2s"), "unit"));
    EXPECT_TRUE(says(refusal("speed<2"), "is not a known figure"));
}

}  // namespace

}  // namespace driftless
