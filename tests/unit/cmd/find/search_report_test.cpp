// find.json holds against its schema, key by key; and the words on the screen.
#include "cmd/find/search_report.hpp"

#include <gtest/gtest.h>

#include "cmd/find/search_file.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/schema_check.hpp"

namespace driftless {
namespace {

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
    const std::string schema_text = source_file("cmd/find/find.schema.json");
    const JsonValue schema = schema_document.parse(schema_text).value();
    const FindOptions options = options_of("rate");
    SearchReport empty;
    empty.options = &options;
    empty.state = "searching";
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
    EXPECT_NE(said.find("from 12 to 13 users"), std::string::npos) << said;
    EXPECT_NE(said.find("from 12 to unknown"), std::string::npos) << said;
    EXPECT_NE(said.find("Binds           ttft:p90<1s"), std::string::npos) << said;
    EXPECT_NE(probe_line(report, report.probes[1]).find("users 13: fails (100 requests, 3.2 s)"),
              std::string::npos)
        << probe_line(report, report.probes[1]);

    report.knee = {std::nullopt, 1, {}, {}, true, SearchState::lowest_fails};
    EXPECT_NE(result_lines(report).find("below 1 users"), std::string::npos);
    report.knee = {64, std::nullopt, {}, {}, true, SearchState::highest_passes};
    EXPECT_NE(result_lines(report).find("above 64 users"), std::string::npos);
    EXPECT_NE(result_lines(report).find("raise --high"), std::string::npos);
}

// No probe ran: it says so, and no probe is blamed. What stopped the search is said on stderr.
TEST(SearchReport, SaysThatNoProbeRan) {
    const FindOptions options = options_of("users");
    SearchReport report;
    report.options = &options;
    report.state = "stopped";
    report.why = "a percentile of the SLO needs 100 requests";
    const std::string said = result_lines(report);
    EXPECT_NE(said.find("Knee            not known: no probe ran"), std::string::npos) << said;
    EXPECT_EQ(said.find("spoiled"), std::string::npos) << said;
    EXPECT_EQ(said.find("percentile"), std::string::npos) << said;
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

}  // namespace
}  // namespace driftless
