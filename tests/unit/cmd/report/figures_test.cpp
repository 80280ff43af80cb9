// The one list of columns and figures: every key of a record has its place, unit and definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cmd/report/export_cells.hpp"
#include "proto/figures/summary.hpp"
#include "proto/run/client_sample.hpp"
#include "proto/run/period.hpp"
#include "proto/run/record.hpp"

namespace driftless {
namespace {

const Figure* named(const std::vector<Figure>& figures, std::string_view name) {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [name](const Figure& one) { return one.name == name; });
    return found == figures.end() ? nullptr : &*found;
}

std::string unit_of(RunTable table, std::string_view name) {
    const std::vector<Figure> figures = figures_of(table);
    const Figure* figure = named(figures, name);
    return figure == nullptr ? "there is no such figure" : figure->unit;
}

// All keys of a line in their order, but for arrays of numbers.
TEST(Figures, AreTheKeysOfARecord) {
    Record record;
    record.shard = 0;  // of a merged run, which has every key
    std::string line;
    append_jsonl(line, record);
    JsonDocument document;
    JsonValue member = document.parse(line).value().first();
    for (const Figure& figure : figures_of(RunTable::requests)) {
        while (member.key() == "chunk_ns" || member.key() == "chunk_tokens") {
            member = member.next();
        }
        EXPECT_EQ(figure.name, member.key());
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
        member = member.next();
    }
    EXPECT_FALSE(member.present()) << member.key();
}

TEST(Figures, OfPeriodsAndOfTheSummaryAreThere) {
    JsonDocument document;
    std::string line;
    append_period(line, Period());
    const JsonValue period = document.parse(line).value();
    EXPECT_EQ(figures_of(RunTable::periods).size(), period.size());
    for (const Figure& figure : figures_of(RunTable::periods)) {
        EXPECT_TRUE(value_of(period, figure).present()) << figure.name;
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
    }
    SummaryInfo info;
    info.unfinished = Unfinished{3, 2, true};
    info.stopped_when = StoppedWhen{"errors > 1", 2, 3, FigureUnit::share};
    const ClientTotals client;
    info.client = &client;
    info.server.emplace().gauges.fill(GaugeTotals{});
    SummaryFigures sums;
    sums.sides.emplace();
    const std::string text = summary_json(sums, info);
    const JsonValue summary = document.parse(text).value();
    std::set<std::string> names;
    for (const Figure& figure : figures_of(RunTable::summary)) {
        EXPECT_TRUE(value_of(summary, figure).present()) << figure.name;
        EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    }
}

TEST(Figures, OfTheClientAreThoseOfItsLines) {
    JsonDocument document;
    std::string line;
    append_client_sample(line, ClientSample(), 0);
    JsonValue member = document.parse(line).value().first();
    for (const Figure& figure : figures_of(RunTable::client)) {
        if (figure.name == "shard") {  // of merged runs
            continue;
        }
        EXPECT_EQ(figure.name, member.key());
        EXPECT_FALSE(figure.definition.empty()) << figure.name;
        member = member.next();
    }
    EXPECT_FALSE(member.present()) << member.key();
}

TEST(Figures, HaveOneUnit) {
    EXPECT_EQ(unit_of(RunTable::requests, "ttft_ns"), "ns");
    EXPECT_EQ(unit_of(RunTable::requests, "input_length"), "tokens");
    EXPECT_EQ(unit_of(RunTable::requests, "bytes_sent"), "bytes");
    EXPECT_EQ(unit_of(RunTable::requests, "row"), "");
    EXPECT_EQ(unit_of(RunTable::periods, "ttft_p99_ns"), "ns");
    EXPECT_EQ(unit_of(RunTable::summary, "p99.9_ttft_ms"), "ms");
    EXPECT_EQ(unit_of(RunTable::summary, "duration"), "s");
    EXPECT_EQ(unit_of(RunTable::summary, "max_output_tokens_per_s"), "tokens/s");
    EXPECT_EQ(unit_of(RunTable::summary, "drift_ns.p50"), "ns");
    EXPECT_EQ(unit_of(RunTable::summary, "drift_ns.count"), "");
    EXPECT_EQ(unit_of(RunTable::summary, "held.inflight.held_ns.p99"), "ns");
    EXPECT_EQ(unit_of(RunTable::summary, "cache.cached_tokens"), "tokens");
    EXPECT_EQ(unit_of(RunTable::summary, "stopped_when.at_s"), "s");
    EXPECT_EQ(unit_of(RunTable::summary, "outcomes.no_tokens"), "");
}

// A figure says what its object says where it says nothing itself, and one sentence at most.
TEST(Figures, DefinitionsAreOneSentence) {
    const std::vector<Figure> figures = figures_of(RunTable::requests);
    EXPECT_EQ(named(figures, "drift_ns")->definition, "fired_ns - due_ns.");
    EXPECT_EQ(named(figures, "live_turns")->definition,
              "Answers of this run in its prompt (--assistant live); 0 after turns that had none.");
    EXPECT_EQ(definition_rows().front()[0].text, "summary");
}

TEST(Figures, CellsKeepTheDigits) {
    JsonDocument document;
    const JsonValue root =
        document
            .parse(R"({"a":9007199254740993,"b":1.50,"c":null,"d":true,"e":"x\ny","f":["late"]})")
            .value();
    const auto cell = [&root](const char* key) { return cell_of(root.find(key)); };
    EXPECT_EQ(cell("a").text, "9007199254740993");
    EXPECT_EQ(cell("a").kind, CellKind::number);
    EXPECT_EQ(cell("b").text, "1.50");
    EXPECT_EQ(cell("c").kind, CellKind::empty);
    EXPECT_EQ(cell("missing").kind, CellKind::empty);
    EXPECT_EQ(cell("d").kind, CellKind::boolean);
    EXPECT_EQ(cell("e").text, "x\\u000ay");
    EXPECT_EQ(cell("f").text, "[\"late\"]");
}

}  // namespace
}  // namespace driftless
