// Exports of a table: the rows of InferenceX have the keys of its own (tests/data/views), the
// reports of llm-d keep to its schema, and the CSV has the columns of InferenceX's sweeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "cmd/runs/table.hpp"
#include "tests/unit/cmd/reading/vector_run.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"
#include "tests/unit/schema_check.hpp"

namespace driftless {
namespace {

ViewedRun five_requests() {
    JsonDocument document;
    const std::string text = vector_text();
    const Result<JsonValue> root = document.parse(text);
    EXPECT_TRUE(root);
    return vector_run(root.value().find("vector"), 5);
}

TableRun labelled_cell() {
    MadeSummary made;
    made.labels =
        R"("hw":"h100","tp":"4","gpus":"8","disagg":"true","precision":"fp8","ep":"many")";
    return made_cell("01-users=16", {{"users", "16"}, {"conc", "16"}}, made);
}

std::string line_of(const std::string& text, std::size_t number) {
    std::istringstream lines(text);
    std::string line;
    for (std::size_t i = 0; i <= number; ++i) {
        std::getline(lines, line);
    }
    return line;
}

/// The value at a path of keys with points between them.
JsonValue at_path(JsonValue value, const std::string& path) {
    std::istringstream keys(path);
    for (std::string key; std::getline(keys, key, '.');) {
        value = value.find(key);
    }
    return value;
}

TEST(InferencexRow, HasTheKeysOfTheirs) {
    const std::string text = inferencex_row(labelled_cell(), inferencex_view(five_requests()).json);
    JsonDocument document;
    const Result<JsonValue> row = document.parse(text);
    ASSERT_TRUE(row) << text;
    std::istringstream keys(source_file("tests/data/views/inferencex_row_keys.txt"));
    std::set<std::string> known;
    for (std::string key; std::getline(keys, key);) {
        if (key.starts_with('#')) {
            continue;
        }
        const bool optional = key.starts_with('?');
        key = optional ? key.substr(1) : key;
        EXPECT_TRUE(optional || at_path(row.value(), key).present()) << key;
        known.insert(key);
    }
    for (JsonValue one = row.value().first(); one.present(); one = one.next()) {
        EXPECT_TRUE(known.contains(std::string(one.key()))) << one.key();
    }
}

TEST(InferencexRow, TakesProvenanceFromLabelsAndAxes) {
    const std::string text = inferencex_row(labelled_cell(), inferencex_view(five_requests()).json);
    JsonDocument document;
    const JsonValue row = document.parse(text).value();
    EXPECT_EQ(row.find("hw").as_string(), "h100");
    EXPECT_EQ(row.find("tp").as_u64(), 4U);
    EXPECT_EQ(row.find("conc").as_u64(), 16U);
    EXPECT_EQ(row.find("disagg").as_bool(), true);
    EXPECT_EQ(row.find("model").as_string(), "m");
    EXPECT_TRUE(row.find("ep").is(JsonType::null));  // "many" is not a number
    EXPECT_TRUE(row.find("image").is(JsonType::null));
    const double total =
        at_path(row, "request_metrics.throughput.total.tokens_per_second").as_double().value_or(0);
    EXPECT_GT(total, 0);
    EXPECT_DOUBLE_EQ(
        at_path(row, "request_metrics.throughput.per_gpu.total_tput_tps").as_double().value_or(0),
        total / 8);
}

TEST(LlmdReport, KeepsToTheSchema) {
    const std::string text = llmd_report(labelled_cell(), llmd_view(five_requests()).json);
    const std::string shape = source_file("tests/data/views/llmd_report.schema.json");
    JsonDocument document;
    JsonDocument schema;
    const Result<JsonValue> report = document.parse(text);
    const Result<JsonValue> known = schema.parse(shape);
    ASSERT_TRUE(report) << text;
    ASSERT_TRUE(known);
    EXPECT_EQ(schema_errors(known.value(), report.value()), std::vector<std::string>());
    EXPECT_EQ(report.value().find("run").find("eid").as_string(), "s");
    EXPECT_EQ(report.value().find("run").find("description").as_string(), "users=16 conc=16");
}

TEST(TableCsv, HasTheColumnsOfTheirSweeps) {
    MadeSummary made;
    made.labels = R"("offload":"on, host","tp":"4")";
    made.members = R"("server":{"prefix_hit_tokens":30,"prefix_query_tokens":40},)";
    const ManyRuns table =
        table_of(list_of(made_cell("01-users=8", {{"users", "8"}}, made)), false);
    const std::string text = table_csv(table);
    // collect_sweep_results.py (495db32d)
    EXPECT_TRUE(line_of(text, 0).starts_with(
        "users,exp_name,tp,offload,status,num_requests,throughput_rps,input_throughput_tps,"
        "output_throughput_tps,total_throughput_tps,mean_ttft_ms,p50_ttft_ms,p90_ttft_ms,"
        "p99_ttft_ms,mean_tpot_ms,p50_tpot_ms,p90_tpot_ms,p99_tpot_ms,mean_latency_ms,"
        "p50_latency_ms,p90_latency_ms,p99_latency_ms,gpu_hit_rate,cpu_hit_rate,"))
        << text;
    EXPECT_TRUE(line_of(text, 1).starts_with(
        "8,01-users=8,4,\"on, host\",SUCCESS,240,,400,100,500,,10,,20,,5,,20,,,,,75,,"))
        << text;
    const auto commas = [](const std::string& line) {
        return std::count(line.begin(), line.end(), ',');
    };
    EXPECT_EQ(commas(line_of(text, 0)), commas(line_of(text, 1)) - 1);  // one stands in quotes
}

}  // namespace
}  // namespace driftless
