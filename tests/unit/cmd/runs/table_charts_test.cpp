// Fronts of runs, and their charts.

#include "cmd/runs/table.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Pareto: frontiers that were found by hand, ties among them; and, of random points on a small
// grid, those that the definition gives.

namespace {

using Indices = std::vector<std::size_t>;

constexpr ParetoAxes latency_against_rate{Better::low, Better::high};
constexpr ParetoAxes both_high{Better::high, Better::high};

TEST(Pareto, LeavesTheBestOfTwoAxes) {
    // A ladder of load: the fourth point is slower than the third and serves less.
    const std::vector<ParetoPoint> points{{10, 100}, {20, 180}, {40, 260}, {60, 250}, {15, 90}};
    EXPECT_EQ(pareto_frontier(points, latency_against_rate), (Indices{0, 1, 2}));
    const std::vector<Dominance> all = pareto_dominance(points, latency_against_rate);
    EXPECT_EQ(all[2].count, 0U);
    EXPECT_EQ(all[3].count, 1U);  // by {40, 260} alone: {20, 180} serves less
    EXPECT_EQ(std::tuple(all[3].by, all[4].count, all[4].by), std::tuple(2U, 1U, 0U));
    const std::vector<ParetoPoint> other_points{
        {50, 100}, {40, 180}, {45, 120}, {39, 181}, {38, 150}};
    EXPECT_EQ(pareto_frontier(other_points, both_high), (Indices{0, 2, 1, 3}));
    EXPECT_EQ(pareto_dominance(other_points, both_high)[4].count, 2U);
    const std::vector<ParetoPoint> third_points{{10, 100}, {10, 120}, {12, 120}, {9, 100}};
    EXPECT_EQ(pareto_frontier(third_points, latency_against_rate), (Indices{3, 1}));
    const std::vector<ParetoPoint> fourth_points{{20, 5}, {10, 1}, {20, 5}, {10, 1}, {20, 4}};
    EXPECT_EQ(pareto_frontier(fourth_points, latency_against_rate), (Indices{1, 3, 0, 2}));
    EXPECT_TRUE(pareto_frontier({}, both_high).empty());
    EXPECT_EQ(pareto_frontier(std::vector<ParetoPoint>{{1, 1}}, both_high), Indices{0});
}

/// What is better, by the words of the definition.
bool beats(const ParetoPoint& a, const ParetoPoint& b, ParetoAxes axes) {
    const double x = axes.x == Better::low ? b.x - a.x : a.x - b.x;
    const double y = axes.y == Better::low ? b.y - a.y : a.y - b.y;
    return std::min(x, y) >= 0 && std::max(x, y) > 0;
}

/// Random points on a small grid, and axes of all four kinds, one after the other.
void for_random_points(unsigned seed, int from, int to, std::size_t most, const auto& check) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> place(from, to);
    std::uniform_int_distribution<std::size_t> many(0, most);
    for (int round = 0; round < 400; ++round) {
        std::vector<ParetoPoint> points(many(random));
        for (ParetoPoint& point : points) {
            point = {static_cast<double>(place(random)), static_cast<double>(place(random))};
        }
        check(points, ParetoAxes{round % 2 == 0 ? Better::low : Better::high,
                                 round % 4 < 2 ? Better::low : Better::high});
    }
}

TEST(Pareto, IsWhatTheDefinitionGives) {
    for_random_points(7, 1, 12, 40, [](const std::vector<ParetoPoint>& points, ParetoAxes axes) {
        Indices expected;
        const std::vector<Dominance> all = pareto_dominance(points, axes);
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto count = std::count_if(points.begin(), points.end(), [&](const auto& one) {
                return beats(one, points[i], axes);
            });
            EXPECT_EQ(all[i].count, static_cast<std::size_t>(count));
            if (count == 0) {
                expected.push_back(i);
            } else {
                EXPECT_TRUE(beats(points[all[i].by], points[i], axes));
                EXPECT_EQ(all[all[i].by].count, 0U);
            }
        }
        Indices found = pareto_frontier(points, axes);
        for (std::size_t i = 1; i < found.size(); ++i) {  // from the best x on
            const double before = points[found[i - 1]].x;
            EXPECT_TRUE(axes.x == Better::low ? before <= points[found[i]].x
                                              : before >= points[found[i]].x);
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected);
    });
}

// Hypervolume: areas that were added up by hand; and, of random points on a small grid, the number
// of unit squares that some point dominates.

TEST(Hypervolume, OfAStaircaseInEachDirection) {
    // Up to 50 ms and from 0/s on: 40 x 100, then 30 x 80 more, then 10 x 80 more.
    const std::vector<ParetoPoint> points{{10, 100}, {20, 180}, {40, 260}, {45, 200}};
    EXPECT_DOUBLE_EQ(hypervolume(points, latency_against_rate, {50, 0}), 4000 + 2400 + 800);
    // 50 x 100, then 40 x 80 more.
    const std::vector<ParetoPoint> other_points{{40, 180}, {50, 100}, {30, 60}};
    EXPECT_DOUBLE_EQ(hypervolume(other_points, both_high, {0, 0}), 5000 + 3200);
    EXPECT_DOUBLE_EQ(hypervolume(other_points, both_high, {10, 50}), 40 * 50 + 30 * 80);
    const std::vector<ParetoPoint> third_points{{60, 300}, {50, 200}, {10, 0}};
    EXPECT_DOUBLE_EQ(hypervolume(third_points, latency_against_rate, {50, 0}), 0);
    EXPECT_DOUBLE_EQ(hypervolume({}, both_high, {0, 0}), 0);
    const std::vector<ParetoPoint> fourth_points{{10, 100}, {40, 300}};
    const ParetoPoint low_high = hypervolume_reference(fourth_points, latency_against_rate);
    EXPECT_DOUBLE_EQ(low_high.x, 44);
    EXPECT_DOUBLE_EQ(low_high.y, 0);
    const ParetoPoint high_low = hypervolume_reference(fourth_points, {Better::high, Better::low});
    EXPECT_DOUBLE_EQ(high_low.x, 0);
    EXPECT_DOUBLE_EQ(high_low.y, 330);
}

/// Unit squares between the reference corner (x = 14 or 0, y = 14 or 0) and some point.
int squares(const std::vector<ParetoPoint>& points, ParetoAxes axes) {
    int count = 0;
    for (int x = 0; x < 14; ++x) {
        for (int y = 0; y < 14; ++y) {
            const auto holds = [&](const ParetoPoint& one) {
                const bool in_x = axes.x == Better::high ? x + 1 <= one.x : x >= one.x;
                const bool in_y = axes.y == Better::high ? y + 1 <= one.y : y >= one.y;
                return in_x && in_y;
            };
            count += std::any_of(points.begin(), points.end(), holds) ? 1 : 0;
        }
    }
    return count;
}

TEST(Hypervolume, IsTheAreaThatSquaresCover) {
    for_random_points(11, 0, 14, 25, [](const std::vector<ParetoPoint>& points, ParetoAxes axes) {
        const ParetoPoint reference{axes.x == Better::high ? 0.0 : 14.0,
                                    axes.y == Better::high ? 0.0 : 14.0};
        EXPECT_DOUBLE_EQ(hypervolume(points, axes, reference), squares(points, axes));
    });
}

ChartAxes axes(const char* text) {
    const Result<ChartAxes> parsed = parse_chart_axes(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value();
}

MadeSummary made(double ttft_ms, double rate, const std::string& labels = "") {
    return {.ttft_p99_ms = ttft_ms, .output_throughput = rate, .labels = labels};
}

/// Two servers, at three speeds each; one of the first's is dominated.
ManyRuns two_servers() {
    const auto one = R"("server":"one","gpus":"2")";
    const auto two = R"("server":"two","gpus":"4")";
    return table_of(
        list_of(made_cell("01", {{"speed", "1"}, {"server", "one"}}, made(10, 100, one)),
                made_cell("02", {{"speed", "2"}, {"server", "one"}}, made(20, 180, one)),
                made_cell("03", {{"speed", "4"}, {"server", "one"}}, made(40, 170, one)),
                made_cell("04", {{"speed", "1"}, {"server", "two"}}, made(12, 90, two)),
                made_cell("05", {{"speed", "2"}, {"server", "two"}}, made(15, 190, two)),
                made_cell("06", {{"speed", "4"}, {"server", "two"}}, made(50, 300, two))),
        false);
}

TEST(ParetoChart, AxesAsPeopleTypeThem) {
    for (const char* text : {"ttft:p99:output_throughput", "ttft:p99,output_throughput",
                             "low ttft:p99, high output_throughput"}) {
        const ChartAxes one = axes(text);
        EXPECT_EQ(one.x.name, "ttft:p99") << text;
        EXPECT_EQ(one.y.name, "output_throughput") << text;
        EXPECT_EQ(std::tuple(one.x.better, one.y.better), std::tuple(Better::low, Better::high));
    }
    EXPECT_EQ(axes("errors:e2e:p50").y.name, "e2e:p50");
    EXPECT_EQ(axes("high:hits:low:tpot:p90").x.better, Better::high);
    EXPECT_EQ(axes("high:errors:hits").x.better, Better::high);
    for (const char* text : {"", "ttft:p99", "ttft:output_throughput", "hits:errors:tpot:p50",
                             "low", "ttft:p99:speed"}) {
        EXPECT_FALSE(parse_chart_axes(text)) << text;
    }
}

TEST(ParetoChart, FrontierOfEachGroupOfWholeCells) {
    const ManyRuns table = two_servers();
    const ParetoChart chart = pareto_chart(table, axes("ttft:p99:output_throughput"), "server");
    ASSERT_EQ(chart.groups.size(), 2U);
    EXPECT_EQ(chart.groups[0].name, "one");
    EXPECT_EQ(chart.groups[0].frontier, (Indices{0, 1}));
    EXPECT_EQ(chart.groups[1].frontier, (Indices{3, 4, 5}));
    EXPECT_EQ(chart.frontier, (Indices{0, 4, 5}));
    EXPECT_DOUBLE_EQ(chart.reference.x, 55);  // 1.1 x 50
    EXPECT_DOUBLE_EQ(chart.reference.y, 0);
    EXPECT_DOUBLE_EQ(chart.groups[0].hypervolume, 45 * 100 + 35 * 80);
    EXPECT_DOUBLE_EQ(chart.groups[1].hypervolume, 43 * 90 + 40 * 100 + 5 * 110);
    EXPECT_DOUBLE_EQ(chart.hypervolume, 45 * 100 + 40 * 90 + 5 * 110);
    EXPECT_TRUE(chart.points[1].on_frontier);
    EXPECT_FALSE(chart.points[1].on_all);
    EXPECT_EQ(chart.points[1].dominated.by, 4U);
    EXPECT_EQ(chart.points[2].dominated.count, 2U);
    EXPECT_TRUE(chart.missing.empty());
    EXPECT_TRUE(knows_gpus(table));
    const ParetoChart other_chart =
        pareto_chart(table, axes("ttft:p99:output_throughput/gpu"), "server");
    EXPECT_DOUBLE_EQ(other_chart.points[0].y.mean, 50);
    EXPECT_DOUBLE_EQ(other_chart.points[5].y.mean, 75);
    EXPECT_EQ(other_chart.frontier, (Indices{0, 1}));
    EXPECT_FALSE(knows_gpus(table_of(list_of(made_run("a")), false)));
    EXPECT_EQ(standard_charts(true).size(), 16U);
    EXPECT_EQ(standard_charts(true)[0].y.name, "input_throughput/gpu");
    EXPECT_EQ(standard_charts(false)[15].x.name, "interactivity:p99.9");
    MadeSummary nothing = made(10, 0);
    const ManyRuns third_table = table_of(
        list_of(made_run("a", made(10, 100)), made_cell("01", {{"speed", "2"}}, nothing)), false);
    EXPECT_EQ(pareto_chart(third_table, axes("ttft:p99:output_throughput"), "").missing,
              Indices{1});
    EXPECT_EQ(pareto_chart(third_table, axes("itl:p99:output_throughput"), "").missing,
              (Indices{0, 1}));
    MadeSummary few = made(10, 100);
    few.count = 100;
    const ManyRuns other_table = table_of(list_of(made_run("a", few)), false);
    EXPECT_TRUE(pareto_chart(other_table, axes("ttft:p99:hits"), "").points[0].below_floor());
    EXPECT_FALSE(pareto_chart(other_table, axes("ttft:p50:hits"), "").points[0].below_floor());
}

TEST(TableJson, KeepsToItsSchema) {
    const ManyRuns table = two_servers();
    std::vector<ParetoChart> charts;
    for (const ChartAxes& one : standard_charts(true)) {
        charts.push_back(pareto_chart(table, one, "server"));
    }
    const std::vector<std::string> differences{"runs/b: other\n"};
    EXPECT_EQ(schema_errors("cmd/runs/table.schema.json",
                            table_json({table, charts, "server", differences})),
              std::vector<std::string>());
}

TEST(TableScreen, OneLineACellAndWhatIsLeftOut) {
    std::vector<TableRun> runs = list_of(made_cell("01-speed=1", {{"speed", "1"}}, made(10, 100)),
                                         made_cell("02-speed=2", {{"speed", "2"}}, made(20, 180)),
                                         made_cell("03-speed=2", {{"speed", "2"}}, made(30, 180)));
    runs[0].left_out = "warm";
    const ManyRuns table = table_of(std::move(runs), false);
    const std::string text = table_screen(table);
    EXPECT_TRUE(says(text, "25.00 ±20%"));
    EXPECT_TRUE(says(text, "sweeps/s/01-speed=1: left out of means and frontiers: warm"));
    const ParetoChart chart = pareto_chart(table, axes("ttft:p99:output_throughput"), "");
    EXPECT_TRUE(says(charts_screen(table, {chart}),
                     "TTFT p99 (low) against output tokens/s (high); hypervolume up to 27.5, 0\n"
                     "  frontier, 450 ms x tokens/s: 02\n"));
}

}  // namespace
}  // namespace driftless
