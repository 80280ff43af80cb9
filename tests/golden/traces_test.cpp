// Traces of agents that were played token by token (traces/make_traces.py) are read as what was
// played: lengths, sessions, what waits for what, and which prompts begin alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "engine/plan/trace_file.hpp"
#include "proto/json/document.hpp"

namespace driftless {
namespace {

std::string path_of(const std::string& name) {
    return std::string(TEST_DATA) + "/../golden/traces/" + name;
}

/// The rows in the order of the files.
Trace read(const std::string& name) {
    TraceFiles files{.paths = {path_of(name)}, .sessions = Sessions::closed};
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    EXPECT_TRUE(read_trace(files, trace, errors, notes))
        << (errors.empty() ? "" : to_text(errors.list[0]));
    std::sort(trace.rows.begin(), trace.rows.end(),
              [](const TraceRow& a, const TraceRow& b) { return a.index < b.index; });
    return trace;
}

std::vector<std::string> expected_of(const std::string& name) {
    std::vector<std::string> lines;
    std::ifstream file(path_of(name + ".expect.jsonl"));
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::size_t shared_blocks(const Trace& trace, const TraceRow& a, const TraceRow& b) {
    const BlockIdSpan left = trace.ids_of(a);
    const BlockIdSpan right = trace.ids_of(b);
    std::size_t same = 0;
    while (a.name_space == b.name_space && same < std::min(left.size(), right.size()) &&
           left[same] == right[same]) {
        ++same;
    }
    return same;
}

/// Whole blocks of the tokens with which both begin; equal prompts share the partial one, too.
void check_sharing(const Trace& trace, std::size_t row, const JsonValue& expected) {
    const TraceRow& one = trace.rows[row];
    std::size_t other = 0;
    const auto check = [&](std::uint64_t tokens) {
        const TraceRow& earlier = trace.rows[other++];
        const bool equal = tokens == one.input_length && tokens == earlier.input_length;
        const std::uint64_t blocks =
            (tokens + (equal ? trace.block_size - 1 : 0)) / trace.block_size;
        EXPECT_EQ(shared_blocks(trace, one, earlier), blocks) << row << " with " << other - 1;
    };
    for (JsonValue value = expected.first(); value.present(); value = value.next()) {
        check(value.as_u64().value());
    }
    EXPECT_EQ(other, row);
}

void check_row(const Trace& trace, std::size_t row, const JsonValue& expected) {
    const TraceRow& one = trace.rows[row];
    EXPECT_EQ(trace.sessions[one.session], expected.find("session").as_string().value()) << row;
    EXPECT_EQ(one.turn, expected.find("turn").as_u64().value()) << row;
    EXPECT_EQ(one.at_ns, expected.find("at_ns").as_i64().value()) << row;
    std::vector<std::pair<std::uint64_t, std::int64_t>> waits;
    for (const Dependency& edge : trace.dependencies_of(one)) {
        EXPECT_EQ(edge.trigger, Trigger::completion);
        waits.emplace_back(edge.on, edge.delay_ns);
    }
    std::sort(waits.begin(), waits.end());
    const JsonValue list = expected.find("waits");
    ASSERT_EQ(waits.size(), list.size()) << row;
    for (std::size_t i = 0; i < waits.size(); ++i) {
        EXPECT_EQ(waits[i].first, list.at(i).at(0).as_u64().value()) << row;
        EXPECT_EQ(waits[i].second, list.at(i).at(1).as_i64().value()) << row;
    }
    if (const JsonValue in = expected.find("in"); in.present()) {
        EXPECT_EQ(one.input_length, in.as_u64().value()) << row;
    }
    if (const JsonValue out = expected.find("out"); out.present()) {
        EXPECT_EQ(one.output_length, out.as_u64().value()) << row;
    }
    if (const JsonValue shares = expected.find("shares"); shares.present()) {
        check_sharing(trace, row, shares);
    }
    if (const JsonValue request = expected.find("request"); request.present()) {
        EXPECT_EQ(trace.body_of(one), request.as_string().value()) << row;
        EXPECT_EQ(trace.deltas, expected.find("delta").as_bool().value()) << row;
    }
}

void check(const std::string& name, const std::string& expectation, const std::string& format) {
    const Trace trace = read(name);
    const std::vector<std::string> lines = expected_of(expectation);
    EXPECT_EQ(std::tuple(trace.format, trace.unknown_keys), std::tuple(format, 0U));
    ASSERT_EQ(trace.rows.size(), lines.size());
    JsonDocument document;
    for (std::size_t row = 0; row < lines.size(); ++row) {
        const Result<JsonValue> expected = document.parse(lines[row]);
        ASSERT_TRUE(expected);
        check_row(trace, row, expected.value());
    }
}

TEST(GoldenTraces, TensorRt) {
    check("tensorrt", "tensorrt", "tensorrt-llm");
}

TEST(GoldenTraces, MlPerf) {
    check("mlperf.jsonl", "mlperf", "mlperf-agentic");
}

TEST(GoldenTraces, SemiAnalysisInOneFile) {
    check("semianalysis", "semianalysis", "weka");
}

TEST(GoldenTraces, SemiAnalysisInAFolder) {
    check("semianalysis_files", "semianalysis", "weka");
}

TEST(GoldenTraces, Conversations) {
    check("talks/sharegpt.json", "talks/sharegpt", "sharegpt");
    check("talks/vllm.json", "talks/vllm", "vllm-multi-turn");
    check("talks/isb1.json", "talks/isb1", "isb1");
    check("talks/live.jsonl", "talks/live", "mooncake");
    check("talks/multi_turn.jsonl", "talks/multi_turn", "aiperf-multi-turn");
    check("talks/sglang.json", "talks/sglang", "sglang-agentic");
}

}  // namespace
}  // namespace driftless
