// find.json is read back as it was written; what cannot be read is told.
#include "cmd/find/search_file.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
