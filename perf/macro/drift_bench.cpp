// How late rows leave, against a bare spin of the same thread in the same seconds.
#include <algorithm>
#include <cstdio>

#include "perf/macro/benches.hpp"
#include "perf/macro/stage.hpp"
#include "proto/core/hash.hpp"

namespace driftless::perf {

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int passes = 5;
constexpr Duration spin_length = microseconds(100);
constexpr std::int64_t spin_room_ns = ms;       // no floor is measured nearer to a due instant
constexpr std::int64_t spin_every_ns = 2 * ms;  // so that the floor itself does not use up the core

/// Spins to instants of its own between rows, and keeps how late each spin ended.
class SpinFloor {
  public:
    explicit SpinFloor(std::size_t spins_max) { late_.reserve(spins_max); }

    void operator()(Driver& driver, std::int64_t at_ns, std::int64_t until_ns) {
        if (until_ns < spin_room_ns || until_ns == INT64_MAX || at_ns < next_ns_) {
            return;
        }
        next_ns_ = at_ns + spin_every_ns;
        const Instant due = driver.now() + spin_length;
        Instant now = driver.now();
        while (now < due) {
            now = driver.now();
        }
        late_.push_back((now - due).ns);
    }
    std::vector<std::int64_t>& late() { return late_; }

  private:
    std::vector<std::int64_t> late_;
    std::int64_t next_ns_ = 0;
};

/// Drift of the rows from `first` on, ns.
std::vector<std::int64_t> drift_of(const StageResult& result, std::uint32_t first) {
    std::vector<std::int64_t> drift;
    for (const Record& record : result.records) {
        CHECK(record.outcome == Outcome::ok);
        if (record.row >= first) {
            drift.push_back(*record.drift_ns);
        }
    }
    return drift;
}

std::string us(double ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
    return text;
}

std::string times(double ratio) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

/// Percentiles of each pass, and their medians over the passes.
class Passes {
  public:
    void add(std::vector<std::int64_t> values) {
        std::sort(values.begin(), values.end());
        passes_.push_back(std::move(values));
    }
    double at(std::size_t per_mille) const {
        std::vector<double> of_pass;
        for (const std::vector<std::int64_t>& values : passes_) {
            of_pass.push_back(
                static_cast<double>(values[(values.size() * per_mille + 999) / 1000 - 1]));
        }
        return median(of_pass);
    }
    /// Share of values above a bound, in percent.
    double above(std::int64_t bound) const {
        std::vector<double> of_pass;
        for (const std::vector<std::int64_t>& values : passes_) {
            const auto first = std::upper_bound(values.begin(), values.end(), bound);
            of_pass.push_back(100 * static_cast<double>(values.end() - first) /
                              static_cast<double>(values.size()));
        }
        return median(of_pass);
    }

  private:
    std::vector<std::vector<std::int64_t>> passes_;
};

void print_percentile(const std::string& what, const Passes& drift, const Passes& spin,
                      std::size_t per_mille, const std::string& bar) {
    print_row(what, us(drift.at(per_mille)), us(spin.at(per_mille)),
              times(drift.at(per_mille) / std::max(spin.at(per_mille), 1.0)), bar);
}

// Where one instant in a hundred meets an interrupt, p99 is either side of a cliff; this is not.
void print_share(const Passes& drift, const Passes& spin) {
    constexpr std::int64_t bound_ns = 1000;
    const auto percent = [](double share) {
        char text[32];
        (void)std::snprintf(text, sizeof text, "%.2f %%", share);
        return std::string(text);
    };
    print_row("share of them later than 1 us", percent(drift.above(bound_ns)),
              percent(spin.above(bound_ns)),
              times(drift.above(bound_ns) / std::max(spin.above(bound_ns), 0.01)), "");
}

/// A row of one token every 1 to 5 ms, at random: evenly spaced rows and the timer tick of 4 ms
/// meet again and again, or never.
std::vector<Line> fires_alone(std::uint64_t seed) {
    std::vector<Line> lines;
    std::int64_t at = 0;
    for (std::uint64_t state = seed; lines.size() < 1000; state += golden_gamma) {
        lines.push_back({at, 16, 1});
        at += ms + static_cast<std::int64_t>(mix64(state) % (4 * ms));
    }
    return lines;
}

/// 1,000 streams at 50 chunks/s from the first second on, then 200 rows a second of one token each,
/// at random instants, for two seconds.
std::vector<Line> streams_and_fires(std::uint64_t seed) {
    constexpr std::int64_t streams = 1000;
    constexpr std::int64_t second = 1000 * ms;
    std::vector<Line> lines;
    for (std::int64_t i = 0; i < streams; ++i) {
        lines.push_back({i * second / streams, 16, 175});  // 3.5 s of 20 ms each
    }
    std::int64_t at = second + 100 * ms;
    for (std::uint64_t state = seed; at < 3 * second;) {
        lines.push_back({at, 16, 1});
        state += golden_gamma;
        at += ms + static_cast<std::int64_t>(mix64(state) % (8 * ms));
    }
    return lines;
}

}  // namespace

void bench_drift_idle() {
    const Cores cores = take_cores();
    const MockProcess mock(cores.other, {"--ttft", "1ms", "--itl", "1ms"});
    Passes drift;
    Passes spin;
    for (int pass = 0; pass < passes; ++pass) {
        const std::vector<Line> lines = fires_alone(static_cast<std::uint64_t>(pass));
        SpinFloor floor(lines.size() * 20);
        const StageResult result = play(lines, mock, cores, {}, std::ref(floor));
        drift.add(drift_of(result, 0));
        spin.add(floor.late());
    }
    print_percentile("drift, nothing else to do, p50", drift, spin, 500, "<= 1 us");
    print_percentile("the same, p90", drift, spin, 900, "");
    print_percentile("the same, p99", drift, spin, 990, "ratio <= 3");
    print_share(drift, spin);
}

void bench_drift_streams() {
    constexpr std::uint32_t streams = 1000;
    const Cores cores = take_cores();
    const MockProcess mock(cores.other, {"--ttft", "1ms", "--itl", "20ms", "--jitter", "0.05"});
    Passes guarded;
    Passes bare;
    Passes spin;
    for (int pass = 0; pass < passes; ++pass) {
        for (const bool guard : {true, false}) {
            const std::vector<Line> lines = streams_and_fires(static_cast<std::uint64_t>(pass));
            SpinFloor floor(20'000);
            StageOptions options;
            options.guard = guard;
            const StageResult result = play(lines, mock, cores, options, std::ref(floor));
            (guard ? guarded : bare).add(drift_of(result, streams));
            if (guard) {
                spin.add(floor.late());
            }
        }
    }
    print_percentile("drift beside 1,000 streams of 50/s, p50", guarded, spin, 500, "<= 2 us");
    print_percentile("the same, p90", guarded, spin, 900, "");
    print_percentile("the same, p99", guarded, spin, 990, "ratio <= 5");
    print_share(guarded, spin);
    print_percentile("without the guard, p50 (floor: with it)", bare, guarded, 500, "");
    print_percentile("the same, p90", bare, guarded, 900, "");
    print_percentile("the same, p99", bare, guarded, 990, "ratio >= 2");
}

}  // namespace driftless::perf
