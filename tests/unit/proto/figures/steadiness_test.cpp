/// Which runs a server did not keep up with, by simulated servers whose capacity is known.

#include "proto/figures/steadiness.hpp"

#include <queue>

#include "proto/figures/summary.hpp"
#include "tests/test.hpp"

namespace driftless {
namespace {

constexpr double second = 1e9;

/// Poisson arrivals at a server of so many places, of which each answers in 1 s; `load` is the
/// share of what it can do.
std::vector<RowTimes> serve(double load, unsigned places, unsigned rows, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> gap(load * places);
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (unsigned i = 0; i < places; ++i) {
        free.push(0);
    }
    std::vector<RowTimes> out;
    double at = 0;
    for (unsigned i = 0; i < rows; ++i) {
        at += gap(random);
        const double begin = std::max(at, free.top());
        free.pop();
        free.push(begin + 1);
        out.push_back({static_cast<std::int64_t>(at * second),
                       static_cast<std::int64_t>((begin + 0.02) * second),
                       static_cast<std::int64_t>((begin + 1) * second)});
    }
    return out;
}

int unstable_of_100(double load, unsigned rows) {
    int count = 0;
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        count += judge_stability(serve(load, 8, rows, seed)).stability == Stability::unstable;
    }
    return count;
}

TEST(Stability, TellsOverloadFromLoadOfEnoughRows) {
    EXPECT_EQ(unstable_of_100(0.5, 700), 0);
    EXPECT_LE(unstable_of_100(0.8, 700), 1);
    EXPECT_LE(unstable_of_100(0.9, 700), 4);
    EXPECT_GE(unstable_of_100(1.3, 700), 95);
    EXPECT_GE(unstable_of_100(2, 700), 95);
    EXPECT_LE(unstable_of_100(0.8, 100), 4);
    EXPECT_EQ(judge_stability({}).stability, Stability::unknown);
    EXPECT_EQ(judge_stability(serve(2, 8, 39, 1)).stability, Stability::unknown);
    EXPECT_NE(judge_stability(serve(0.1, 8, 200, 1)).stability, Stability::unknown);
}

/// Rows 10 ms apart.
std::vector<RowTimes> rows_of(unsigned count, const std::function<double(unsigned)>& ttft_s,
                              const std::function<double(unsigned)>& answer_s) {
    std::vector<RowTimes> rows;
    for (unsigned i = 0; i < count; ++i) {
        const double due = i * 0.01;
        rows.push_back({static_cast<std::int64_t>(due * second),
                        static_cast<std::int64_t>((due + ttft_s(i)) * second),
                        static_cast<std::int64_t>((due + answer_s(i)) * second)});
    }
    return rows;
}

// One of the two alone is no overload: a closed loop whose TTFT rises, a load that rises and is
// met.
TEST(Stability, NeedsBothToRiseBehindTheFilling) {
    const auto rising = [](unsigned i) { return 0.01 * (1 + i / 50.0); };
    const auto flat = [](unsigned) { return 0.2; };
    EXPECT_EQ(judge_stability(rows_of(500, rising, flat)).stability, Stability::stable);
    EXPECT_EQ(
        judge_stability(rows_of(500, flat, [&](unsigned i) { return 0.2 + rising(i); })).stability,
        Stability::stable);
    const StabilityFinding both =
        judge_stability(rows_of(500, rising, [&](unsigned i) { return 0.01 + rising(i); }));
    EXPECT_EQ(both.stability, Stability::unstable);
    EXPECT_GT(both.ttft_ratio, 2);
    EXPECT_GT(both.waiting_ratio, 2);
    // While the first answers are on their way the server fills: that is left out.
    const auto filling = [](unsigned i) { return 0.01 * (1 + std::min(i, 200U) / 50.0); };
    const auto answer = [](unsigned) { return 2.0; };  // 200 rows
    EXPECT_EQ(judge_stability(rows_of(600, filling, answer)).stability, Stability::stable);
    // A row without a token waited until it ended.
    std::vector<RowTimes> rows = serve(2, 8, 700, 1);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        rows[i].first_token_ns.reset();
    }
    EXPECT_EQ(judge_stability(rows).stability, Stability::unstable);
}

/// A run of 200 rows, 10 ms apart, whose TTFT is so many ms.
SummaryFigures run_of(const std::function<std::int64_t(std::int64_t)>& ttft_ms,
                      Outcome outcome = Outcome::ok, std::int64_t drift_ms = 0) {
    constexpr std::int64_t ms = 1'000'000;
    Summary summary;
    for (std::uint32_t row = 0; row < 200; ++row) {
        Record record{.row = row, .due_ns = 10 * ms * row, .outcome = outcome};
        record.fired_ns = record.due_ns + drift_ms * ms;
        record.first_token_ns = record.due_ns + ttft_ms(row) * ms;
        record.ttft_due_ns = ttft_ms(row) * ms;
        record.ended_ns = *record.first_token_ns + 5 * ms;
        summary.add(record);
    }
    return summary.figures();
}

// Nothing is said of a load that was no open one, nor of a server that did not answer.
TEST(KeptUp, IsSaidOfOpenLoadsThatWereAnswered) {
    const SummaryFigures behind = run_of([](std::int64_t row) { return 20 + 10 * row; });
    EXPECT_EQ(kept_up(run_of([](std::int64_t) { return 20; }), {}), true);
    EXPECT_EQ(kept_up(behind, {}), false);
    EXPECT_EQ(kept_up(run_of([](std::int64_t) { return 1; }, Outcome::http_5xx), {}), std::nullopt);
    SummaryFigures changed = behind;
    changed.sending.held_by_user.held.count = 1;
    EXPECT_EQ(kept_up(changed, {}), std::nullopt) << "--max-inflight";
    changed = behind;
    const auto growing = [](std::int64_t row) { return 20 + 10 * row; };  // the median is 1,010
    changed = run_of(growing, Outcome::ok, 102);
    changed.tainted_late[1] = 3;
    EXPECT_EQ(kept_up(changed, {}), std::nullopt) << "more than 1 % were late by as much";
    changed.tainted_late[1] = 2;
    EXPECT_EQ(kept_up(changed, {}), false);
    changed = run_of(growing, Outcome::ok, 100);
    changed.tainted_late[1] = 3;
    EXPECT_EQ(kept_up(changed, {}), false) << "by little";
    EXPECT_EQ(kept_up(run_of(growing, Outcome::timeout_total), {}), false);
    const auto flat = [](std::int64_t) { return 20; };
    EXPECT_EQ(kept_up(run_of(flat, Outcome::timeout_total), {}), false) << "waits end at the limit";
    changed = run_of(flat);
    changed.tainted_late[1] = 3;
    EXPECT_EQ(kept_up(changed, {}), std::nullopt);
    changed = behind;
    changed.sides.emplace();
    EXPECT_EQ(kept_up(changed, {}), std::nullopt) << "two servers";
    for (const auto& change : std::vector<std::function<void(SummaryInfo&)>>{
             [](SummaryInfo& info) { info.run.users = 3; },
             [](SummaryInfo& info) { info.run.sessions = "closed"; },
             [](SummaryInfo& info) { info.run.arrival = {.rate = "ramp 1..9/s"}; },
             [](SummaryInfo& info) { info.run.arguments = {"t.jsonl", "--connections=8"}; },
             [](SummaryInfo& info) { info.unfinished.emplace(); }}) {
        SummaryInfo info;
        change(info);
        EXPECT_EQ(kept_up(behind, info), std::nullopt);
    }
}

}  // namespace
}  // namespace driftless
