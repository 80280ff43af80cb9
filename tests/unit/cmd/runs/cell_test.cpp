// Runs as cells of a table or a sweep.

#include "cmd/runs/cell.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cmd/flags/summary_values.hpp"
#include "engine/host/threads.hpp"
#include "tests/unit/cmd/runs/made_figures.hpp"
#include "tests/unit/cmd/runs/made_sides.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

TEST(CellSummary, ReadsWhatThresholdsMeasureAndWarmRuns) {
    std::vector<std::string> texts;
    for (const char* time :
         {"ttft", "ttft_due", "tpot", "itl", "e2e", "chunk_gap", "drift", "interactivity"}) {
        for (const char* of :
             {"p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "mean", "min", "max"}) {
            texts.push_back(std::string(time) + ":" + of +
                            (std::string_view(time) == "interactivity" ? " > 0" : " > 0s"));
        }
    }
    for (const char* share : {"errors", "good", "tainted", "overtaken", "hits"}) {
        texts.push_back(std::string(share) + " > 0 %");
    }
    for (const char* number : {"completed", "failed", "request_throughput", "input_throughput",
                               "output_throughput", "total_token_throughput", "request_goodput"}) {
        texts.push_back(std::string(number) + " > 0");
    }
    const SummaryFigures figures = made_figures();
    const Result<CellSummary> full = CellSummary::read(summary_json(figures, {}));
    const Result<CellSummary> none = CellSummary::read(summary_json(SummaryFigures(), {}));
    ASSERT_TRUE(full);
    ASSERT_TRUE(none);
    for (const std::string& text : texts) {
        const Threshold which = parse_threshold(text).value();
        const ThresholdFinding finding = judge_thresholds({which}, figures).at(0);
        const double unit = finding.unit == FigureUnit::time ? 1e6 : 1;
        const std::optional<double> read = full.value().figure(which);
        ASSERT_TRUE(read && finding.value) << text;
        EXPECT_NEAR(*read, *finding.value * unit, 1e-9 * *read) << text;
        const ThresholdFinding nothing = judge_thresholds({which}, SummaryFigures()).at(0);
        EXPECT_EQ(none.value().figure(which).has_value(), nothing.value.has_value()) << text;
    }
    const auto warm = [](const std::string& text) {
        return CellSummary::read(text).value().warm();
    };
    EXPECT_EQ(warm("{}"), std::nullopt);
    EXPECT_EQ(warm(R"({"warm_cache": true})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "hit", "warm": true}})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "none", "warm": null}})"), std::nullopt);
    EXPECT_FALSE(CellSummary::read("[]") || CellSummary::read("{"));
}

TEST(CellEnvironment, NamesValuesAsVariables) {
    const std::vector<std::string> all =
        cell_environment({{"speed", "2"}, {"max-inflight", "8"}}, "http://a:1", "/tmp/01-speed=2");
    for (const char* one :
         {"DRIFTLESS_SPEED=2", "DRIFTLESS_MAX_INFLIGHT=8", "DRIFTLESS_URL=http://a:1",
          "DRIFTLESS_CELL=01-speed=2", "DRIFTLESS_RUN=/tmp/01-speed=2"}) {
        EXPECT_EQ(std::count(all.begin(), all.end(), one), 1) << one;
    }
}

// Hooks: done, failed, killed at their limit with all that they started, and tried until ready.

constexpr std::int64_t ms = 1'000'000;

HookEnd run(const ScratchFolder& folder, const std::string& command, std::int64_t limit_ns) {
    return run_hook({"before", command, limit_ns}, own_environment(), folder / "before.txt",
                    stop_requests().load());
}

TEST(Hook, EndsWellOrSaysWhy) {
    const ScratchFolder folder;
    const HookEnd end = run(folder, "echo hello; echo well >&2", 60'000 * ms);
    EXPECT_EQ(std::tuple(end.outcome, end.why() + end.said), std::tuple(HookOutcome::done, ""));
    EXPECT_EQ(read_bytes(folder / "before.txt"), "hello\nwell\n");
    EXPECT_EQ(run(folder, "", ms).outcome, HookOutcome::done);
    const HookEnd other_end = run(folder, "exit 3", 60'000 * ms);
    EXPECT_EQ(other_end.outcome, HookOutcome::failed);
    EXPECT_EQ(other_end.why(), "before: exit code 3 (its output: before.txt)");
    EXPECT_EQ(other_end.said, "");
    // The last lines of what it printed, also of more than is read.
    EXPECT_EQ(run(folder, "echo a; echo; printf 'b \\n\\n'; exit 1", 60'000 * ms).said,
              "  | a\n  | \n  | b\n");
    std::string lines;
    for (int i = 91; i <= 100; ++i) {
        lines += "  | " + std::to_string(i) + "\n";
    }
    EXPECT_EQ(run(folder, "seq 100; exit 1", 60'000 * ms).said, lines);
    const std::string one = run(folder, "printf '%09999d' 7; exit 1", 60'000 * ms).said;
    EXPECT_EQ(one, "  | " + std::string(4095, '0') + "7\n");
    // Not the keys that are known, also across the bytes that are read at once.
    const std::string long_text = "printf '%01048570d' 7; echo hunter2 hunter3; exit 1";
    const HookEnd masked =
        run_hook({"before", long_text, 60'000 * ms, {"hunter2", "ter3"}}, own_environment(),
                 folder / "before.txt", stop_requests().load());
    EXPECT_TRUE(masked.said.ends_with("7******* hun****\n"));
    EXPECT_EQ(read_bytes(folder / "before.txt").find("hunter2"), std::string::npos);
}

// One that does not listen to SIGTERM, with a child of its own.
TEST(Hook, IsKilledAtItsLimitOrTriedUntilReady) {
    const ScratchFolder folder;
    const HookEnd end =
        run(folder, "trap '' TERM; sleep 600 & echo $! > " + (folder / "pid") + "; wait; sleep 600",
            2'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::timed_out);
    EXPECT_EQ(end.why(), "before: killed at its time limit of 2s (its output: before.txt)");
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
    EXPECT_EQ(never.why(),
              "not ready within 700ms; last try: ready: exit code 1 (its output: ready.txt)");
    const HookEnd other_end = run_hook({"before", "sleep 600", 600'000 * ms}, own_environment(),
                                       folder / "before.txt", stop_requests().load() - 1);
    EXPECT_EQ(other_end.outcome, HookOutcome::stopped);
    EXPECT_FALSE(pause_ns(600'000 * ms, stop_requests().load() - 1));
    EXPECT_TRUE(pause_ns(ms, stop_requests().load()));
}

// What a try left that was cut off is kept, under the first name that is free.

using Names = std::vector<std::string>;

TEST(CutOff, IsSetAsideWhereItBegan) {
    const ScratchFolder folder;
    const Result<std::string> nothing = set_aside(folder.path(), "01-speed=1");
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing.value(), "");
    EXPECT_EQ(cuts_of(folder.path(), "01-speed=1"), Names{});
    for (const char* const kept : {"01-speed=1.cut-1", "01-speed=1.cut-2"}) {
        std::filesystem::create_directory(folder / "01-speed=1");
        (void)folder.write("01-speed=1/of", kept);
        const std::string cut = set_aside(folder.path(), "01-speed=1").value();
        EXPECT_EQ(cut, kept);
        EXPECT_EQ(read_bytes(folder / (cut + "/of")), kept);
    }
    EXPECT_EQ(cuts_of(folder.path(), "01-speed=1"),
              (Names{"01-speed=1.cut-1", "01-speed=1.cut-2"}));
    // Nothing in them is a run: nothing is forgotten, nothing is said.
    forget_marks(folder.path(), cuts_of(folder.path(), "01-speed=1"));
    const std::string here = absolute_path(".");
    const std::string trace = folder.write("trace.jsonl", "a\n");
    std::string unread;
    const std::vector<KeptTrace> kept = keep_traces({trace}, unread).value();
    EXPECT_EQ(go_home(folder.path(), kept), "");
    EXPECT_EQ(absolute_path("trace.jsonl"), absolute_path(trace));
    (void)folder.write("trace.jsonl", "b\n");
    EXPECT_TRUE(says(go_home("", kept), "trace.jsonl has changed since the start"));
    EXPECT_TRUE(says(go_home(folder / "nowhere", {}), "it was started in "));
    ASSERT_EQ(::chdir(here.c_str()), 0);
}

TEST(KeptTraces, AreKnownByTheirBytes) {
    const ScratchFolder folder;
    const std::string one = folder.write("one.jsonl", "a\n");
    const std::string other = folder.write("other.jsonl", "b\n");
    std::string path;
    const std::vector<KeptTrace> kept = keep_traces({one, other, one}, path).value();
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(changed_trace(kept), "");
    (void)folder.write("other.jsonl", "c\n");
    EXPECT_EQ(changed_trace(kept), other);
    // A file more, one less, and one that has changed.
    (void)folder.write("1.jsonl", "a\n");
    std::string other_path;
    const std::vector<KeptTrace> before = keep_traces({folder.path()}, other_path).value();
    (void)folder.write("2.jsonl", "b\n");
    EXPECT_EQ(changed_trace(before), folder.path());
    const std::vector<KeptTrace> after = keep_traces({folder.path()}, other_path).value();
    EXPECT_EQ(changed_trace(after), "");
    (void)folder.write("2.jsonl", "c\n");
    EXPECT_EQ(changed_trace(after), folder.path());
    const std::string gone = folder.path() + "/gone.jsonl";
    std::string third_path;
    EXPECT_FALSE(keep_traces({gone}, third_path));
    EXPECT_EQ(third_path, gone);
    EXPECT_EQ(changed_trace({{gone, "0"}}), gone);
}

constexpr auto ttft = static_cast<std::size_t>(RowValue::ttft);

void remove_at(PlayedRun& run, std::ptrdiff_t at) {
    run.rows.erase(run.rows.begin() + at);
    run.compared.requests.erase(run.compared.requests.begin() + at);
}

TEST(PairedRequests, AreThoseOfAllRunsByTheirChange) {
    std::vector<PlayedRun> a{made_side(1), made_side(1.2)};
    std::vector<PlayedRun> b{made_side(2)};
    remove_at(a[1], 0);
    remove_at(b[0], 7);
    b[0].compared.requests[2].ok = false;
    const std::vector<PairedRequest> requests = paired_requests(a, b);
    ASSERT_EQ(requests.size(), 198U);
    EXPECT_EQ(requests.front().row, 1U);
    const double first = made_side(1).compared.requests[1].values[ttft];
    EXPECT_DOUBLE_EQ(requests[0].a[ttft], 1.1 * first);  // the mean of its runs
    EXPECT_NEAR(requests[0].ratio(RowValue::ttft), 2 / 1.1, 1e-12);
    EXPECT_TRUE(std::isnan(requests[1].ratio(RowValue::ttft)));  // row 2 has failed in B
    EXPECT_TRUE(std::isnan(requests[0].ratio(RowValue::tpot)));
    for (const PairedRequest& one : requests) {
        EXPECT_NE(one.row, 7U);
    }
    const std::vector<PlayedRun> other_a{made_side(1)};
    std::vector<PlayedRun> other_b{made_side(1)};
    other_b[0].compared.requests[30].values[ttft] *= 3;
    other_b[0].compared.requests[20].values[ttft] /= 4;
    const std::vector<PairedRequest> most =
        most_changed(paired_requests(other_a, other_b), RowValue::ttft, 2);
    ASSERT_EQ(most.size(), 2U);
    EXPECT_EQ(std::tuple(most[0].row, most[1].row), std::tuple(20U, 30U));
}

TEST(PairedRequests, GroupsAndAnswersThatChanged) {
    const std::vector<PlayedRun> a{made_side(1)};
    std::vector<PlayedRun> b{made_side(1)};
    for (std::size_t i = 100; i < 200; ++i) {  // the long prompts, the later half
        b[0].compared.requests[i].values[ttft] *= 1.5;
    }
    const std::vector<ChangeView> views =
        where_it_changed(paired_requests(a, b), RowValue::ttft, {.resamples = 200});
    ASSERT_EQ(views.size(), 2U);  // no turns, no forecast of hits
    EXPECT_EQ(views[0].by, "input tokens");
    ASSERT_EQ(views[0].groups.size(), 2U);
    EXPECT_EQ(views[0].groups[0].name, "to 100");
    EXPECT_EQ(views[0].groups[0].rows, 100U);
    EXPECT_NEAR(views[0].groups[0].ratio, 1, 1e-12);
    EXPECT_EQ(views[0].groups[1].name, "to 1,000");
    EXPECT_NEAR(views[0].groups[1].ratio, 1.5, 1e-12);
    EXPECT_EQ(views[1].by, "due");
    EXPECT_NEAR(views[1].groups.front().ratio, 1, 1e-12);
    EXPECT_NEAR(views[1].groups.back().ratio, 1.5, 1e-12);
    PlayedRun other_a = made_side(1);
    PlayedRun other_b = made_side(1);
    for (std::uint64_t i = 0; i < 10; ++i) {
        other_a.rows[i].output_digest = i;
        other_b.rows[i].output_digest = i < 3 ? i + 100 : i;
    }
    other_b.compared.requests[9].ok = false;
    const OutputChanges changes = output_changes(other_a, other_b);
    EXPECT_EQ(std::tuple(changes.known, changes.changed), std::tuple(9U, 3U));
}

}  // namespace
}  // namespace driftless
