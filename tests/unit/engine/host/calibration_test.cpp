// A calibration survives its file, and holds for the host that it was made on only.
#include "engine/host/calibration.hpp"

#include <gtest/gtest.h>

#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

Calibration example() {
    Calibration c;
    c.date = "2026-11-21T03:45:12Z";
    c.kernel = "Linux 6.8.0";
    c.cpu_model = "A \"fast\" CPU";
    c.cpus_online = 8;
    c.engine_cpu = 7;
    c.wake_spin = {1, 2, 3, 4, 5};
    c.wake_hybrid = {6, 7, 8, 9, 10};
    c.wake_sleep = {11, 12, 13, 14, 15};
    c.spin_gaps_per_s = 1.5;
    c.spin_gap_max_ns = 66'000;
    c.spin_lost_share = 0.0625;
    c.fire_small = {16, 17, 18, 19, 20};
    c.fire_large = {21, 22, 23, 24, 25};
    c.rehearsals.resize(2);
    c.rehearsals[1] = {200, 10'000, 9'990, 0.25, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, true, 0.75};
    c.chunks_per_s_max = 140'000;
    c.chunks_extrapolated = true;
    c.file_limit = 20'000;
    c.connections_max = 19'936;
    c.steal_share = 0.125;
    c.run_delay_share = 0.5;
    c.engines = 3;
    return c;
}

/// The one that the example was made on.
HostFacts example_host() {
    HostFacts host;
    host.kernel = example().kernel;
    host.cpu_model = example().cpu_model;
    host.cpus_online = example().cpus_online;
    return host;
}

// What others had of the CPU while a host was measured, by each thing that shows it.
TEST(Calibration, SaysThatOthersWereAtWork) {
    Calibration c;
    EXPECT_TRUE(noise_of(c).empty());
    c.steal_share = c.run_delay_share = c.spin_lost_share = noise_max;
    c.rehearsals.resize(2);
    c.rehearsals[0].taken_share = noise_max;
    EXPECT_TRUE(noise_of(c).empty());
    EXPECT_DOUBLE_EQ(taken_share(c), 2 * noise_max);  // stolen, and waited for what was left
    c.run_delay_share = 0.5;
    ASSERT_EQ(noise_of(c).size(), 1u);
    EXPECT_EQ(noise_of(c)[0], "other programs used the engine's CPU for up to 50.0 % of the time");
    c.steal_share = c.spin_lost_share = c.rehearsals[0].taken_share = noise_max + 0.001;
    ASSERT_EQ(noise_of(c).size(), 2u) << "one fact, however many things show it";
    EXPECT_TRUE(noise_of(c)[1].ends_with(" % to 50.0 % of the time")) << noise_of(c)[1];
    c.rehearsals[1].taken_share = 0.75;
    EXPECT_DOUBLE_EQ(taken_share(c), 0.75);
}

TEST(Calibration, ComesBackFromItsFile) {
    JsonDocument document;
    const std::string text = to_json(example());
    const Result<Calibration> read = read_calibration(document, text);
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(read.value()), text);
    EXPECT_EQ(read.value().rehearsals[1].receive_delay.count, 2u);
    EXPECT_EQ(read.value().spin_lost_share, 0.0625);
}

TEST(Calibration, AFileThatContradictsItselfIsRefused) {
    const auto is_read = [](const Calibration& c) {
        JsonDocument document;
        return static_cast<bool>(read_calibration(document, to_json(c)));
    };
    EXPECT_TRUE(is_read(example()));
    Calibration unsorted = example();
    unsorted.wake_spin.p50_ns = unsorted.wake_spin.p99_ns + 1;
    EXPECT_FALSE(is_read(unsorted));
    Calibration negative = example();
    negative.rehearsals[1].drift = {1, -3, -2, -1, 0};
    EXPECT_FALSE(is_read(negative));
    Calibration taken = example();
    taken.rehearsals[0].taken_share = 1e9;
    EXPECT_FALSE(is_read(taken));
    Calibration stolen = example();
    stolen.steal_share = -0.5;
    EXPECT_FALSE(is_read(stolen));
}

TEST(Calibration, AFileThatLacksAFigureIsRefused) {
    JsonDocument document;
    std::string text = to_json(example());
    text.replace(text.find("\"p99_ns\":13"), 8, "\"p98_ns\"");
    EXPECT_EQ(read_calibration(document, text).error().code, ErrorCode::missing);
    EXPECT_EQ(read_calibration(document, "[]").error().code, ErrorCode::bad_json);
    EXPECT_EQ(read_calibration(document, "{\"schema\": 2}").error().code, ErrorCode::unsupported);
}

// Without a rehearsal the floor is what a thread that sleeps shows.
TEST(Calibration, HasAFloorWithoutRehearsals) {
    Calibration some = example();
    some.rehearsals.clear();
    EXPECT_EQ(drift_floor_ns(some, 1'000), 13);
}

TEST(Calibration, HoldsForOneKernelAndOneMachine) {
    HostFacts host = example_host();
    EXPECT_EQ(why_not_of(example(), host, {.engines = 3}), "");
    host.cpus_online = 4;
    EXPECT_TRUE(says(why_not_of(example(), host, {.engines = 3}), "8 x"));
    host.kernel = "Linux 6.9.0";
    EXPECT_TRUE(says(why_not_of(example(), host, {.engines = 3}), "6.9.0"));
}

// Engines disturb each other: what one alone promises says nothing of one among three, nor the
// other way what three read of one.
TEST(Calibration, HoldsForItsNumberOfEngines) {
    const HostFacts host = example_host();
    EXPECT_EQ(why_not_of(example(), host, {.engines = 1}),
              "the calibration was made with 3 engines, but this run has 1");
    EXPECT_NE(why_not_of(example(), host, {.engines = 4}), "");
    EXPECT_EQ(why_not_of(example(), host, {.engines = engines_auto}), "") << "not decided yet";
    JsonDocument document;
    std::string text = to_json(example());
    text.erase(text.find("\"engines\":3,"), 12);
    const Result<Calibration> older = read_calibration(document, text);
    ASSERT_TRUE(older);
    EXPECT_EQ(older.value().engines, 1u);
}

// What a thread before all others promises says nothing of one among them; the other way it holds.
TEST(Calibration, OfAnotherPriorityHoldsOneWay) {
    const HostFacts host = example_host();
    EXPECT_EQ(why_not_of(example(), host, {.realtime = true, .engines = 3}), "");
    Calibration realtime = example();
    realtime.realtime = true;
    JsonDocument document;
    const Result<Calibration> read = read_calibration(document, to_json(realtime));
    ASSERT_TRUE(read);
    EXPECT_EQ(why_not_of(read.value(), host, {.realtime = true, .engines = 3}), "");
    EXPECT_TRUE(says(why_not_of(read.value(), host, {}), "this run has no --realtime"));
}

TEST(Calibration, OfBeforeThereWasAnotherPriorityCanBeRead) {
    std::string text = to_json(example());
    const std::string key = "\"realtime\":false,";
    text.erase(text.find(key), key.size());
    JsonDocument document;
    const Result<Calibration> read = read_calibration(document, text);
    ASSERT_TRUE(read);
    EXPECT_FALSE(read.value().realtime);
}

}  // namespace
}  // namespace driftless
