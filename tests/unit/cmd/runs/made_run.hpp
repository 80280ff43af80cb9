/// Runs of a table as tests make them: a summary of a few keys, what a test changes in its place.
#pragma once

#include "cmd/runs/table.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Keys of a summary by their text; `run` has those of its object of that name.
struct MadeSummary {
    double ttft_p99_ms = 20;
    double tpot_p50_ms = 5;
    double output_throughput = 100;
    int count = 1000;
    std::string labels;   ///< members
    std::string run;      ///< members, before the usual ones: of equal names the first counts
    std::string members;  ///< of the summary, as `run`
};

inline std::string made_summary(const MadeSummary& made) {
    const auto member = [](const char* key, double value) {
        return "\"" + std::string(key) + "\":" + std::to_string(value) + ",";
    };
    std::string text = "{" + made.members;
    for (const char* name : {"ttft", "tpot", "e2el"}) {
        text += "\"count_" + std::string(name) + "\":" + std::to_string(made.count) + ",";
    }
    text += member("p50_ttft_ms", made.ttft_p99_ms / 2) + member("p99_ttft_ms", made.ttft_p99_ms);
    text += member("p50_tpot_ms", made.tpot_p50_ms) + member("p99_tpot_ms", made.tpot_p50_ms * 4);
    text += member("output_throughput", made.output_throughput);
    text += member("total_token_throughput", made.output_throughput * 5);
    text +=
        R"("duration":10,"total_input_tokens":4000,"completed":240,"failed":0,"num_prompts":240,)"
        R"("model_id":"m","endpoint_type":"openai-chat","max_concurrency":null,)"
        R"("cache":{"cached_tokens":30,"expected_cached_tokens_reported":120},)"
        R"("verdict":{"name":"certified","reasons":[]},"labels":{)" +
        made.labels + R"(},"run":{)" + made.run +
        R"("urls":["http://a:1"],"trace_digest":"00000000000000aa","rows":240,"speed":"1",)"
        R"("start_ns":null,"end_ns":null,"duration_ns":null,"limit":null,)"
        R"("schedule_digest":"00000000000000bb","rate":null,"users":null,"seed":0,)"
        R"("cache_salt":null,"prompt":"text","output":"exact","arguments":["t.jsonl"]}})";
    return text;
}

inline TableRun made_run(const std::string& name, const MadeSummary& made = {}) {
    TableRun run{.folder = "runs/" + name, .name = name};
    Result<CellSummary> summary = CellSummary::read(made_summary(made));
    EXPECT_TRUE(summary) << made_summary(made);
    run.summary = std::move(summary).value();
    describe_run(run);
    return run;
}

/// A cell of the sweep "sweeps/s".
inline TableRun made_cell(const std::string& folder, std::vector<CellValue> values,
                          const MadeSummary& made = {}) {
    TableRun run = made_run(folder, made);
    run.sweep = "sweeps/s";
    run.folder = run.sweep + "/" + folder;
    for (const CellValue& one : values) {
        run.cell += (run.cell.empty() ? "" : " ") + one.name + "=" + one.value;
    }
    run.values = std::move(values);
    return run;
}

template <typename... Runs>
std::vector<TableRun> list_of(Runs&&... runs) {
    std::vector<TableRun> all;
    (all.push_back(std::forward<Runs>(runs)), ...);
    return all;
}

}  // namespace driftless
