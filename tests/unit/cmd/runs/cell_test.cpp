// CellSummary: each figure that a threshold may name reads out of summary.json as it is in a run.

#include "cmd/runs/cell.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/flags/summary_values.hpp"
#include "engine/host/threads.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

Distribution made_distribution(double from) {
    Distribution d{.count = 190, .mean = 2 * from, .min = from, .max = 3 * from};
    for (std::size_t i = 0; i < d.at.size(); ++i) {
        d.at[i] = from * (4 + static_cast<double>(i));
    }
    return d;
}

SummaryFigures made_figures() {
    SummaryFigures f;
    f.rows = 200;
    f.completed = 180;
    f.short_output = 6;
    f.long_output = 4;
    f.failed = 10;
    f.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 2;
    f.tainted_rows = 7;
    f.follow_up_turns = 50;
    f.overtaken_turns = 3;
    f.goodput_rules = {{{}, "", {1'000'000, std::nullopt, std::nullopt}}};
    f.goodput_counts = {{200, 90}};
    f.good = 90;
    f.request_goodput = 4.5;
    f.request_throughput = 12.5;
    f.output_throughput = 321.5;
    f.total_token_throughput = 4321.5;
    double from = 1e6;
    for (Distribution* one :
         {&f.ttft, &f.ttft_due, &f.tpot, &f.itl, &f.e2e, &f.chunk_gap, &f.sending.drift}) {
        *one = made_distribution(from);
        from *= 1.5;
    }
    return f;
}

Threshold threshold(const std::string& text) {
    const Result<Threshold> parsed = parse_threshold(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value();
}

TEST(CellSummary, ReadsWhatThresholdsMeasure) {
    std::vector<std::string> texts;
    for (const char* time : {"ttft", "ttft_due", "tpot", "itl", "e2e", "chunk_gap", "drift"}) {
        for (const char* of :
             {"p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "mean", "min", "max"}) {
            texts.push_back(std::string(time) + ":" + of + " > 0s");
        }
    }
    for (const char* share : {"errors", "good", "tainted", "overtaken"}) {
        texts.push_back(std::string(share) + " > 0 %");
    }
    for (const char* number : {"completed", "failed", "request_throughput", "output_throughput",
                               "total_token_throughput", "request_goodput"}) {
        texts.push_back(std::string(number) + " > 0");
    }
    const SummaryFigures figures = made_figures();
    const Result<CellSummary> full = CellSummary::read(summary_json(figures, {}));
    const Result<CellSummary> none = CellSummary::read(summary_json(SummaryFigures(), {}));
    ASSERT_TRUE(full);
    ASSERT_TRUE(none);
    for (const std::string& text : texts) {
        const Threshold which = threshold(text);
        const ThresholdFinding finding = judge_thresholds({which}, figures).at(0);
        const double unit = finding.unit == FigureUnit::time ? 1e6 : 1;
        const std::optional<double> read = full.value().figure(which);
        ASSERT_TRUE(read && finding.value) << text;
        EXPECT_NEAR(*read, *finding.value * unit, 1e-9 * *read) << text;
        const ThresholdFinding nothing = judge_thresholds({which}, SummaryFigures()).at(0);
        EXPECT_EQ(none.value().figure(which).has_value(), nothing.value.has_value()) << text;
    }
}

TEST(CellSummary, WarmWhereTheRunSaysSo) {
    const auto warm = [](const std::string& text) {
        return CellSummary::read(text).value().warm();
    };
    EXPECT_EQ(warm("{}"), std::nullopt);
    EXPECT_EQ(warm(R"({"warm_cache": true})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "hit", "warm": true}})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "none", "warm": null}})"), std::nullopt);
    EXPECT_FALSE(CellSummary::read("[]"));
    EXPECT_FALSE(CellSummary::read("{"));
}

TEST(CellEnvironment, NamesValuesAsVariables) {
    const std::vector<std::string> all = cell_environment({{"speed", "2"}, {"max-inflight", "8"}},
                                                          "http://a:1", "speed=2", "/tmp/x");
    for (const char* one :
         {"DRIFTLESS_SPEED=2", "DRIFTLESS_MAX_INFLIGHT=8", "DRIFTLESS_URL=http://a:1",
          "DRIFTLESS_CELL=speed=2", "DRIFTLESS_RUN=/tmp/x"}) {
        EXPECT_EQ(std::count(all.begin(), all.end(), one), 1) << one;
    }
}

// Hooks: done, failed, killed at their limit with all that they started, and tried until ready.

constexpr std::int64_t ms = 1'000'000;

HookEnd run(const ScratchFolder& folder, const std::string& command, std::int64_t limit_ns) {
    return run_hook({"before", command, limit_ns}, own_environment(), folder / "before.txt",
                    stop_requests().load());
}

TEST(Hook, EndsWell) {
    const ScratchFolder folder;
    const HookEnd end = run(folder, "echo hello; echo well >&2", 60'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::done);
    EXPECT_EQ(end.why, "");
    EXPECT_EQ(read_bytes(folder / "before.txt"), "hello\nwell\n");
    EXPECT_EQ(run(folder, "", ms).outcome, HookOutcome::done);
}

TEST(Hook, FailsWithItsExitCode) {
    const ScratchFolder folder;
    const HookEnd end = run(folder, "exit 3", 60'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::failed);
    EXPECT_EQ(end.why, "before: exit code 3 (its output: before.txt)");
}

// One that does not listen to SIGTERM, with a child of its own.
TEST(Hook, IsKilledAtItsLimit) {
    const ScratchFolder folder;
    const HookEnd end =
        run(folder, "trap '' TERM; sleep 600 & echo $! > " + (folder / "pid") + "; wait; sleep 600",
            2'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::timed_out);
    EXPECT_EQ(end.why, "before: killed at its time limit of 2s (its output: before.txt)");
    const std::string left = read_bytes(folder / "pid");
    const std::string pid = left.substr(0, left.find('\n'));
    ASSERT_FALSE(pid.empty());
    bool lives = true;
    for (int look = 0; lives && look < 1000; ++look) {  // a kill takes a moment
        std::ifstream stat("/proc/" + pid + "/stat");
        const std::string line(std::istreambuf_iterator<char>(stat), {});
        lives = !line.empty() && line.find(") Z") == line.npos;
        std::this_thread::sleep_for(std::chrono::milliseconds(lives ? 10 : 0));
    }
    EXPECT_FALSE(lives);
}

TEST(Hook, IsTriedUntilReady) {
    const ScratchFolder folder;
    const std::string count = folder / "count";
    const std::string twice = "echo x >> " + count + "; test $(wc -l < " + count + ") -ge 2";
    EXPECT_EQ(run_until_ready({"ready", twice, 60'000 * ms}, own_environment(),
                              folder / "ready.txt", stop_requests().load())
                  .outcome,
              HookOutcome::done);
    EXPECT_EQ(read_bytes(count), "x\nx\n");
    const HookEnd never = run_until_ready({"ready", "exit 1", 700 * ms}, own_environment(),
                                          folder / "ready.txt", stop_requests().load());
    EXPECT_EQ(never.outcome, HookOutcome::timed_out);
    EXPECT_EQ(never.why,
              "not ready within 700ms; last try: ready: exit code 1 (its output: ready.txt)");
}

TEST(Hook, EndsWhereTheUserAsksToStop) {
    const ScratchFolder folder;
    const HookEnd end = run_hook({"before", "sleep 600", 600'000 * ms}, own_environment(),
                                 folder / "before.txt", stop_requests().load() - 1);
    EXPECT_EQ(end.outcome, HookOutcome::stopped);
    EXPECT_FALSE(pause_ns(600'000 * ms, stop_requests().load() - 1));
    EXPECT_TRUE(pause_ns(ms, stop_requests().load()));
}

}  // namespace

}  // namespace driftless
