// Comparisons whose truth is known: how often an interval covers it, how often a difference is
// called where there is none, and how often one of 5 % is found.
// Usage: comparison_truth [SIMULATIONS] [RESAMPLES] [PART OF A NAME]   (1000 2000, all; minutes)
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/comparison/made_runs.hpp"

namespace driftless {
namespace {

struct Scenario {
    std::string name;
    MadeLaw law;
    MadeQueue queue;
    bool is_queue = false;
    std::size_t runs = 1;  ///< a side
    std::vector<const char*> metrics;
    double truth = 1;  ///< on the metric's scale
};

/// Of one metric over all simulations.
struct Tally {
    std::size_t judged = 0;  ///< had an interval
    std::size_t covered = 0;
    std::size_t too_low = 0;  ///< the interval lies below the truth
    std::size_t better = 0;
    std::size_t worse = 0;
    std::size_t same = 0;
    std::size_t shown = 0;  ///< higher or lower in these runs
    std::size_t few = 0;    ///< blocks
    double n_eff = 0;
    double block = 0;
    double errors = 0;   ///< squares of the standard errors that were told
    double changes = 0;  ///< sum of the changes on the scale of errors, and of their squares
    double squares = 0;
    double smallest = 0;

    void add(const MetricComparison& found, double truth) {
        better += found.word == Word::better ? 1 : 0;
        worse += found.word == Word::worse ? 1 : 0;
        same += found.word == Word::same ? 1 : 0;
        const Shown in_runs = found.in_these_runs;
        shown += in_runs == Shown::higher || in_runs == Shown::lower ? 1 : 0;
        few += found.doubt == Doubt::few_blocks ? 1 : 0;
        if (std::isnan(found.low)) {
            return;
        }
        ++judged;
        covered += found.low <= truth && truth <= found.high ? 1 : 0;
        too_low += found.high < truth ? 1 : 0;
        n_eff += found.n_eff;
        block += static_cast<double>(found.block);
        errors += found.error * found.error;
        const bool is_ratio = found.metric.scale() == Scale::ratio;
        const double change = is_ratio ? std::log(found.change) : found.change;
        changes += change;
        squares += change * change;
        smallest += found.smallest;
    }
    void add(const Tally& other) {
        judged += other.judged;
        covered += other.covered;
        too_low += other.too_low;
        better += other.better;
        worse += other.worse;
        same += other.same;
        shown += other.shown;
        few += other.few;
        n_eff += other.n_eff;
        block += other.block;
        errors += other.errors;
        changes += other.changes;
        squares += other.squares;
        smallest += other.smallest;
    }
    /// The error that was told over the true one; 1 is right.
    double told() const {
        const auto count = static_cast<double>(std::max<std::size_t>(judged, 1));
        const double variance = squares / count - changes / count * changes / count;
        return variance > 0 ? std::sqrt(errors / count / variance) : 0;
    }
};

std::vector<Tally> simulate(const Scenario& scenario, std::size_t simulations,
                            std::uint32_t resamples) {
    std::vector<ComparedMetric> metrics;
    for (const char* name : scenario.metrics) {
        metrics.push_back(*read_metric(name));
    }
    const std::size_t workers = std::max(std::thread::hardware_concurrency(), 1U);
    std::vector<std::vector<Tally>> tallies(workers, std::vector<Tally>(metrics.size()));
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> threads;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        threads.emplace_back([&, worker] {
            for (std::uint64_t i = next++; i < simulations; i = next++) {
                const MadeGroups groups =
                    scenario.is_queue ? make_queues(scenario.queue, i)
                                      : make_groups(scenario.law, scenario.runs, scenario.runs, i);
                ComparisonOptions options;
                options.resamples = resamples;
                options.seed = i;
                options.is_dual = scenario.runs == 1;
                const GroupComparison found = compare_groups(groups.a, groups.b, metrics, options);
                for (std::size_t m = 0; m < metrics.size(); ++m) {
                    tallies[worker][m].add(found.metrics[m], scenario.truth);
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::size_t worker = 1; worker < workers; ++worker) {
        for (std::size_t m = 0; m < metrics.size(); ++m) {
            tallies[0][m].add(tallies[worker][m]);
        }
    }
    return tallies[0];
}

Scenario of_law(std::string name, Law law, std::size_t rows, std::vector<const char*> metrics) {
    Scenario scenario;
    scenario.name = std::move(name);
    scenario.law.law = law;
    scenario.law.rows = rows;
    scenario.metrics = std::move(metrics);
    return scenario;
}

/// Rows that depend on others over n rows of 1,500, in one run a side (the two sides of a dual run)
/// and in three.
void add_slow(std::vector<Scenario>& all) {
    const std::vector<const char*> four{"ttft:mean", "ttft:p50", "ttft:p90", "ttft:p99"};
    for (const std::size_t runs : {1U, 3U}) {
        for (const double ratio : {1.0, 1.03, 1.05}) {
            std::vector<Scenario> laws{of_law("independent, 1,500", Law::independent, 1500, four),
                                       of_law("heavy tails, 1,500", Law::heavy, 1500, four),
                                       of_law("groups, 1,500", Law::trees, 1500, four)};
            for (const int rows : {5, 10, 20, 50, 100, 200, 400}) {
                laws.push_back(of_law("AR(1) over " + std::to_string(rows) + " of 1,500",
                                      Law::series, 1500, four));
                laws.back().law.memory = std::exp(-1.0 / rows);
            }
            for (Scenario& one : laws) {
                one.name = (runs == 1 ? "dual, " : "3 x 3, ") + one.name;
                one.runs = runs;
                // A change of 3 % is found where a server is as quiet as this.
                one.law.noise = runs == 1 ? 1 : 0.2;
                one.law.run_deviation = runs == 1 ? 0 : 0.005;
                one.law.ratio = one.truth = ratio;
                all.push_back(one);
            }
        }
    }
}

std::vector<Scenario> all_scenarios() {
    const std::vector<const char*> four{"ttft:mean", "ttft:p50", "ttft:p90", "ttft:p99"};
    const std::vector<const char*> three{"ttft:mean", "ttft:p50", "ttft:p90"};
    std::vector<Scenario> laws{
        of_law("independent, 1,000 rows", Law::independent, 1000, four),
        of_law("heavy tails, 1,000 rows", Law::heavy, 1000, four),
        of_law("AR(1) 0.8, 1,000 rows", Law::series, 1000, three),
        of_law("AR(1) 0.8, 8,000 rows", Law::series, 8000, four),
        of_law("trees, 1,000 rows", Law::trees, 1000, three),
        of_law("trees, 3,000 rows", Law::trees, 3000, three),
        of_law("trees, 8,000 rows", Law::trees, 8000, four),
        of_law("5 x 5 runs, independent", Law::independent, 1000, four),
        of_law("5 x 5 runs, trees", Law::trees, 1000, three),
        of_law("5 x 5 runs, no run effect", Law::independent, 1000, three),
        of_law("2 x 2 runs, independent", Law::independent, 1000, three),
    };
    for (Scenario& one : laws) {
        const bool has_runs = one.name.find("runs") != std::string::npos;
        one.runs = one.name.starts_with('5') ? 5 : has_runs ? 2 : 1;
        one.law.run_deviation = has_runs && one.name.find("no run") == std::string::npos ? 0.03 : 0;
    }
    std::vector<Scenario> all;
    for (const double ratio : {1.0, 1.05}) {
        for (Scenario one : laws) {
            one.law.ratio = ratio;
            one.truth = ratio;
            all.push_back(one);
        }
    }
    add_slow(all);
    for (const double more : {0.0, 0.01}) {
        Scenario one = of_law("errors 1 %, 2,000 rows", Law::independent, 2000, {"errors"});
        one.law.fails = 0.01;
        one.law.fails_more = more;
        one.truth = more;
        all.push_back(one);
        one.name = "errors 0.1 %, 2,000 rows";
        one.law.fails = 0.001;
        all.push_back(one);
    }
    for (const double load : {0.0, 0.5, 0.9}) {
        for (const double ratio : {1.0, 1.05}) {
            Scenario one;
            one.name = load > 0 ? "open loop at " + std::to_string(static_cast<int>(load * 100)) +
                                      " %, 2,000 rows"
                                : "closed loop, 2,000 rows";
            one.is_queue = true;
            one.queue.load = load;
            one.queue.ratio = ratio;
            one.metrics = {"throughput", "output_throughput"};
            one.truth = load > 0 ? 1 : 1 / ratio;
            all.push_back(one);
        }
    }
    return all;
}

void print(const Scenario& scenario, const std::vector<Tally>& tallies, std::size_t simulations) {
    for (std::size_t m = 0; m < tallies.size(); ++m) {
        const Tally& tally = tallies[m];
        const auto judged = static_cast<double>(std::max<std::size_t>(tally.judged, 1));
        const double percent = 100.0 / static_cast<double>(simulations);
        const std::size_t called = tally.better + tally.worse;
        std::printf(
            "%-32s %-12s %7.4f %7.1f %7.1f %7.1f %7.1f %8.1f %7.1f %7.1f %7.0f %6.1f %7.2f%% "
            "%5.2f\n",
            scenario.name.c_str(), scenario.metrics[m], scenario.truth,
            100 * static_cast<double>(tally.covered) / judged,
            100 * static_cast<double>(tally.too_low) / judged,
            static_cast<double>(tally.shown) * percent, static_cast<double>(called) * percent,
            static_cast<double>(tally.same) * percent, static_cast<double>(tally.few) * percent,
            static_cast<double>(simulations - tally.judged) * percent, tally.n_eff / judged,
            tally.block / judged, 100 * tally.smallest / judged, tally.told());
    }
    std::fflush(stdout);
}

}  // namespace
}  // namespace driftless

int main(int argc, char** argv) {
    using namespace driftless;
    const std::size_t simulations = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const auto resamples =
        static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000);
    std::printf("%-32s %-12s %7s %7s %7s %7s %7s %8s %7s %7s %7s %6s %8s %5s\n", "", "", "truth",
                "covers", "below", "shown", "called", "same", "few", "none", "n_eff", "block",
                "smallest", "told");
    for (const Scenario& scenario : all_scenarios()) {
        if (argc <= 3 || scenario.name.find(argv[3]) != std::string::npos) {
            print(scenario, simulate(scenario, simulations, resamples), simulations);
        }
    }
    return 0;
}
