// Truth of stamps: what the client calls the time to first token, against the mock's own clock.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "engine/machines/calibration_floor.hpp"
#include "perf/macro/benches.hpp"
#include "perf/macro/echo.hpp"
#include "perf/macro/stage.hpp"
#include "proto/json/document.hpp"

namespace driftless::perf {

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int passes = 3;

/// From the first read of a request to the send of its first token, by row, as the mock logged it.
std::unordered_map<std::uint64_t, std::int64_t> read_ttft(const std::string& path) {
    std::unordered_map<std::uint64_t, std::int64_t> found;
    std::ifstream file(path);
    JsonDocument document;
    for (std::string line; std::getline(file, line);) {
        const Result<JsonValue> entry = document.parse(line);
        CHECK(static_cast<bool>(entry));
        const auto row = entry.value().find("row").as_u64();
        const auto start = entry.value().find("start_ns").as_i64();
        const auto first = entry.value().find("token_ns").at(0).as_i64();
        if (row && start && first) {
            found[*row] = *first - *start;
        }
    }
    return found;
}

std::string us(double ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f us", ns / 1e3);
    return text;
}

}  // namespace

void bench_stamps() {
    constexpr std::uint32_t streams = 1000;
    const Cores cores = take_cores();
    const std::string log = std::filesystem::temp_directory_path() /
                            ("driftless-stamps-" + std::to_string(::getpid()) + ".jsonl");
    std::vector<Line> lines;
    for (std::int64_t i = 0; i < streams; ++i) {
        lines.push_back({i * 2 * ms, 16, 50});  // 2 s, each 1 s long: 500 streams at 50/s at once
    }
    std::vector<double> p50, p99, floor_p50, floor_p99;
    for (int pass = 0; pass < passes; ++pass) {
        StageResult result;
        {
            const MockProcess mock(
                cores.other, {"--ttft", "20ms", "--itl", "20ms", "--log", log, "--wait", "spin"});
            Spread floor = round_trips(500, cores.other);
            floor_p50.push_back(static_cast<double>(floor.p50_ns));
            floor_p99.push_back(static_cast<double>(floor.p99_ns));
            result = play(lines, mock, cores, {}, [](Driver&, std::int64_t, std::int64_t) {});
        }
        const auto truth = read_ttft(log);
        std::vector<std::int64_t> over;
        for (const Record& record : result.records) {
            CHECK(record.ttft_ns.has_value());
            over.push_back(*record.ttft_ns - truth.at(record.row));
        }
        const Spread spread = spread_of(over);
        p50.push_back(static_cast<double>(spread.p50_ns));
        p99.push_back(static_cast<double>(spread.p99_ns));
    }
    (void)std::filesystem::remove(log);
    const auto ratio = [](const std::vector<double>& figure, const std::vector<double>& floor) {
        char text[32];
        (void)std::snprintf(text, sizeof text, "%.2f", median(figure) / median(floor));
        return std::string(text);
    };
    print_row("client's TTFT minus the mock's, p50 (floor: a byte there and back)", us(median(p50)),
              us(median(floor_p50)), ratio(p50, floor_p50), "<= 50 us");
    print_row("the same, p99", us(median(p99)), us(median(floor_p99)), ratio(p99, floor_p99),
              "<= 500 us");
}

}  // namespace driftless::perf
