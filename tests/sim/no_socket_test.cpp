// A host that has no socket left, and connects that are all refused: rows, preflight and
// calibration end with the reason, and nothing stays behind.
#include <gtest/gtest.h>

#include "engine/machines/calibration_floor.hpp"
#include "engine/server/preflight.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

/// 200 rows in such weather; no law is broken.
std::vector<Record> run_in(const Weather& weather) {
    SimOptions options{.seed = 17, .weather = weather};
    const SimResult result = run(make_trace(17, 200), options);
    EXPECT_EQ(broken_laws(result), "");
    return result.records;
}

/// Rows that failed for our own lack, whose errors all say `reason`.
std::size_t failed_for_our_lack(const std::vector<Record>& records, const std::string& reason) {
    std::size_t failed = 0;
    for (const Record& record : records) {
        if (record.outcome == Outcome::client_failed) {
            ++failed;
            EXPECT_TRUE(says(record.error.value_or(""), reason));
        }
    }
    return failed;
}

// Where a socket can be made now and then, other rows get theirs.
TEST(NoSocket, RowsEndWithTheReason) {
    for (const double none : {0.5, 1.0}) {
        Weather weather;
        weather.no_socket = none;
        const std::vector<Record> records = run_in(weather);
        const std::size_t failed = failed_for_our_lack(records, "Too many open files");
        EXPECT_EQ(failed == records.size(), none == 1.0);
        for (const Record& record : records) {
            if (record.outcome == Outcome::client_failed) {
                EXPECT_EQ(record.tainted, std::vector<std::string>{"client_failed"});
            }
        }
    }
}

// Every port to the server is taken: none of its doing.
TEST(NoSocket, RowsWithoutAPortFailForOurOwnLack) {
    Weather weather;
    weather.no_port = 0.5;
    const std::vector<Record> records = run_in(weather);
    for (const Record& record : records) {
        EXPECT_NE(record.outcome, Outcome::connect_failed);
    }
    const std::size_t failed = failed_for_our_lack(records, "EADDRNOTAVAIL");
    EXPECT_GT(failed, 0u);
    EXPECT_LT(failed, records.size());
}

// A send that finds no memory ends its row at once: the server would wait for the rest of it.
TEST(NoSocket, RowsWithoutMemoryForTheirSendFailForOurOwnLack) {
    Weather weather;
    weather.no_memory = 0.2;
    const std::vector<Record> records = run_in(weather);
    for (const Record& record : records) {
        EXPECT_NE(record.outcome, Outcome::timeout_first_byte);
        EXPECT_NE(record.outcome, Outcome::send_failed);
    }
    EXPECT_GT(failed_for_our_lack(records, "ENOBUFS"), 0u);
}

// Its place is free from then on, not since its fire: what the cap held back meanwhile is not late.
TEST(NoSocket, RowsWithoutMemoryFillTheirPlaceUntilTheyFail) {
    SimOptions options{.seed = 17, .inflight_max = 2};
    options.weather.no_memory = 0.2;
    options.weather.block_send = 0.3;
    options.weather.short_send = 0.5;
    const SimResult result = run(make_trace(17, 200), options);
    EXPECT_EQ(broken_laws(result), "");
    EXPECT_GT(failed_for_our_lack(result.records, "ENOBUFS"), 0u);
    constexpr std::int64_t loop_ns = 5'000'000;
    for (const Record& record : result.records) {
        EXPECT_LE(record.drift_ns.value_or(0) - record.held_ns, loop_ns) << record.row;
    }
}

TEST(NoSocket, PreflightSaysSo) {
    Weather weather;
    weather.no_socket = 1;
    SimDriver driver(3, weather, mock::CoreOptions{});
    Loop loop(driver, 8);
    PreflightPlan plan{.dialect = &dialect_of(Api::openai_chat), .words = &WordTable::built_in()};
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    const std::string& said = preflight.failure().text;
    EXPECT_TRUE(says(said, "make a socket failed (exhausted)"));
    EXPECT_FALSE(says(said, "--wait-ready"));
}

// The thread behind the bare fires, which nobody reached, ends.
TEST(Calibration, SaysThatItCannotConnect) {
    Weather weather;
    weather.refuse_connect = 1;
    SimDriver driver(3, weather, mock::CoreOptions{});
    const Result<FireFloors> floors = measure_fires(driver, 1, seconds(1), nullptr, 0);
    ASSERT_FALSE(floors);
    EXPECT_EQ(floors.error().code, ErrorCode::refused);
    EXPECT_EQ(driver.sockets_open(), 0u);
    weather.no_socket = 1;
    SimDriver without(3, weather, mock::CoreOptions{});
    EXPECT_EQ(measure_fires(without, 1, seconds(1), nullptr, 0).error().code, ErrorCode::exhausted);
    std::vector<std::int64_t> none;
    EXPECT_EQ(spread_of(none).count, 0u);
}

}  // namespace
}  // namespace driftless::sim
