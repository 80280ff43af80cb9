// What is written reads back, in the order that its format wants, and what cannot be held is named.
#include "proto/trace/write.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::vector<std::string> mooncake(const Trace& trace, std::vector<WrittenRow> rows,
                                  std::vector<std::string>* losses = nullptr) {
    TraceWriter writer(trace, mooncake_target, std::move(rows));
    std::vector<std::string> lines = lines_of(writer);
    if (losses != nullptr) {
        *losses = writer.losses();
    }
    return lines;
}

using Lines = std::vector<std::string>;

// A Mooncake trace comes out as it went in: ids by first use, whole milliseconds.
TEST(Write, MooncakeIsItself) {
    const ReadTrace got = read({row("0", 1000, 5, "0, 1"), row("27482", 513, 52, "0, 2")});
    ASSERT_TRUE(got.usable);
    Lines losses;
    EXPECT_EQ(
        mooncake(got.trace, all_rows(got.trace), &losses),
        (Lines{R"({"timestamp":0,"input_length":1000,"output_length":5,"hash_ids":[0,1]})",
               R"({"timestamp":27482,"input_length":513,"output_length":52,"hash_ids":[0,2]})"}));
    EXPECT_EQ(losses, Lines{});
}

// Ids of two namespaces and of 64 bits become one numbering; a floor rule's tails get ids that
// nothing shares.
TEST(Write, MooncakeHasOneNumbering) {
    const ReadTrace got = read({
        R"({"schema":"driftless.trace","version":1,"block_size":16,"tail_rule":"floor"})",
        R"({"at_ns":0,"input_length":33,"output_length":1,"hash_ids":[18446744073709551615,5]})",
        R"({"at_ns":0,"input_length":33,"output_length":1,"hash_ids":[18446744073709551615,5],)"
        R"("name_space":1})",
        R"({"at_ns":1500001,"input_length":33,"output_length":1,)"
        R"("hash_ids":[18446744073709551615,6]})",
        R"({"at_ns":2000000,"input_length":17,"output_length":1})",
    });
    ASSERT_TRUE(got.usable) << got.first_error();
    Lines losses;
    const Lines lines = mooncake(got.trace, all_rows(got.trace), &losses);
    const auto ids = [&](std::size_t i) { return lines[i].substr(lines[i].find("\"hash_ids\"")); };
    EXPECT_EQ(ids(0), R"("hash_ids":[0,1,2]})");
    EXPECT_EQ(ids(1), R"("hash_ids":[3,4,5]})");
    EXPECT_EQ(ids(2), R"("hash_ids":[0,6,7]})");
    EXPECT_EQ(ids(3), R"("hash_ids":[8,9]})");
    EXPECT_TRUE(lines[2].starts_with(R"({"timestamp":2,)"));
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_TRUE(says(losses[0], "--block-size 16"));
    EXPECT_TRUE(says(losses[1], "1 time with a fraction"));
}

// What --spread and --replicate make of times reads back: whole milliseconds, the nearest ones, in
// the same order.
TEST(Write, MooncakeRoundsToWholeMilliseconds) {
    const ReadTrace got = read({row("0", 1, 1, "0"), row("1", 2, 1, "1"), row("2", 3, 1, "2")});
    ASSERT_TRUE(got.usable);
    Lines losses;
    const Lines lines = mooncake(got.trace, {{0, 499'999}, {1, 500'000}, {2, 1'500'001}}, &losses);
    const ReadTrace again = read(lines);
    ASSERT_TRUE(again.usable) << again.first_error();
    EXPECT_TRUE(lines[0].starts_with(R"({"timestamp":0,"input_length":1,)"));
    EXPECT_TRUE(lines[1].starts_with(R"({"timestamp":1,"input_length":2,)"));
    EXPECT_TRUE(lines[2].starts_with(R"({"timestamp":2,"input_length":3,)"));
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_TRUE(losses[0].starts_with("3 times with fractions of a ms, rounded"));
}

// Turns of a session keep their order and their pauses; other waits are lost, and counted.
TEST(Write, MooncakeHoldsTurnsOnly) {
    const ReadTrace got = read({
        R"({"schema":"driftless.trace","version":1,"block_size":0})",
        R"({"at_ns":0,"input_length":1,"output_length":1,"session":"a"})",
        R"({"at_ns":9,"input_length":1,"output_length":1,"session":"a","after":[{"row":0,"delay_ns":2500000}]})",
        R"({"at_ns":9,"input_length":1,"output_length":1,"session":"b","after":[{"row":0,"trigger":"dispatch"}]})",
        R"({"at_ns":9,"input_length":1,"output_length":1,"after":[{"row":2}]})",
    });
    ASSERT_TRUE(got.usable) << got.first_error();
    Lines losses;
    const Lines lines = mooncake(got.trace, all_rows(got.trace), &losses);
    EXPECT_TRUE(says(lines[1], R"("session_id":"a","delay":2.5})"));
    EXPECT_FALSE(says(lines[2], "delay"));
    const auto has = [&](const char* text) {
        return std::any_of(losses.begin(), losses.end(),
                           [&](const std::string& one) { return one.starts_with(text); });
    };
    EXPECT_TRUE(has("1 row that waits for something other"));
    EXPECT_TRUE(has("1 row that waits for others and has no session"));
}

// Two sessions of one name are told apart where their format knows them by name alone.
TEST(Write, MooncakeTellsNamesakesApart) {
    ReadTrace got = read({row("0", 1, 1, "0"), row("1", 1, 1, "0")});
    got.trace.sessions = {"a", "a"};
    got.trace.rows[0].session = 0;
    got.trace.rows[1].session = 1;
    const Lines lines = mooncake(got.trace, all_rows(got.trace));
    EXPECT_TRUE(says(lines[0], R"("session_id":"a#0")"));
    EXPECT_TRUE(says(lines[1], R"("session_id":"a#1")"));
}

// Kept columns go along, but for nulls and for names that the format has itself.
TEST(Write, CarriesKeptColumns) {
    ReadOptions options;
    options.keep = {"id", "model", "turn"};
    const ReadTrace got =
        read({R"({"timestamp":0,"input_length":1,"output_length":1,"id":"x","turn":7})",
              R"({"timestamp":1,"input_length":1,"output_length":1,"model":{"a":[1]}})"},
             options);
    ASSERT_TRUE(got.usable) << got.first_error();
    const Lines lines = mooncake(got.trace, all_rows(got.trace));
    EXPECT_TRUE(lines[0].ends_with(R"("id":"x","turn":7})"));
    EXPECT_TRUE(lines[1].ends_with(R"("model":{"a":[1]}})"));
    TraceWriter writer(got.trace, canonical_target, all_rows(got.trace));
    EXPECT_TRUE(lines_of(writer)[1].ends_with(R"("id":"x"})"));
    EXPECT_EQ(writer.losses(), Lines{"1 kept column with a name that the format uses itself"});
}

// A part of a trace: rows are numbered anew, and waits for rows that are not there are counted.
TEST(Write, NumbersAPartAnew) {
    const ReadTrace got = read({
        R"({"schema":"driftless.trace","version":1,"block_size":0})",
        R"({"at_ns":5,"input_length":1,"output_length":1})",
        R"({"at_ns":0,"input_length":2,"output_length":1,"after":[{"row":0}]})",
        R"({"at_ns":7,"input_length":3,"output_length":1,"after":[{"row":0},{"row":1}]})",
    });
    ASSERT_TRUE(got.usable) << got.first_error();
    // By time: index 1, 0, 2. Without index 0.
    TraceWriter writer(got.trace, canonical_target, {{0, 0}, {2, 70}});
    const Lines lines = lines_of(writer);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_TRUE(lines[1].starts_with(R"({"at_ns":0,"input_length":2)"));
    EXPECT_EQ(lines[2], R"({"at_ns":70,"input_length":3,"output_length":1,)"
                        R"("after":[{"row":0,"trigger":"completion","delay_ns":0}]})");
    EXPECT_EQ(writer.losses(), Lines{"2 dependencies on rows that are not written"});
}

// Bodies that stand in for the trace's own: everything else of a row stays.
TEST(Write, TakesOtherBodies) {
    const ReadTrace got = read({
        R"({"schema":"driftless.trace","version":1,"block_size":0,"body_api":"tgi"})",
        R"({"at_ns":0,"input_length":2,"output_length":1,"session":"s","body":{"inputs":"a"}})",
        R"({"at_ns":7,"input_length":3,"output_length":1,"after":[{"row":0}],"body":{"x":1}})",
    });
    ASSERT_TRUE(got.usable) << got.first_error();
    TraceWriter writer(got.trace, canonical_target, all_rows(got.trace));
    writer.replace_bodies("ollama");
    std::string head;
    writer.begin(head);
    EXPECT_TRUE(says(head, R"("body_api":"ollama")"));
    std::string rows;
    EXPECT_TRUE(writer.next(rows, R"({"prompt":"b"})"));
    EXPECT_TRUE(writer.next(rows, R"({"prompt":"c"})"));
    EXPECT_FALSE(writer.next(rows));
    EXPECT_EQ(rows, R"({"at_ns":0,"input_length":2,"output_length":1,"session":"s",)"
                    R"("body":{"prompt":"b"}})"
                    "\n"
                    R"({"at_ns":7,"input_length":3,"output_length":1,)"
                    R"("after":[{"row":0,"trigger":"completion","delay_ns":0}],)"
                    R"("body":{"prompt":"c"}})"
                    "\n");
}

// The canonical format keeps the order of the file, Mooncake goes by time.
TEST(Write, OrdersAsTheTargetWants) {
    const ReadTrace got = read({row("9", 1, 1, "0"), row("3", 2, 1, "1")});
    ASSERT_TRUE(got.usable);
    EXPECT_TRUE(mooncake(got.trace, all_rows(got.trace))[0].starts_with(
        R"({"timestamp":0,"input_length":2)"));
    TraceWriter writer(got.trace, canonical_target, all_rows(got.trace));
    EXPECT_TRUE(lines_of(writer)[1].starts_with(R"({"at_ns":6000000,"input_length":1)"));
}

}  // namespace
}  // namespace driftless
