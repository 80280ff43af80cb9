// What Mooncake rows leave open is decided by the whole trace, or asked for: the unit of fractions,
// equal keys, a block size that loses most ids, outputs that are not recorded.
#include <gtest/gtest.h>

#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

/// Rows with times of a tenth of a millisecond, `gap_ms` apart on average.
std::vector<std::string> tenths(int rows, int gap_ms, std::int64_t first_ms = 0) {
    std::vector<std::string> lines;
    for (int i = 0; i < rows; ++i) {
        lines.push_back(row(std::to_string(first_ms + std::int64_t{i} * gap_ms) + ".5", 9, 1, "1"));
    }
    return lines;
}

// Fractions are milliseconds where, as seconds, rows would come less than once a minute for more
// than eleven days (one row fewer is in doubt), or after the year 5000. Else the user says.
TEST(Mooncake, TakesFractionsOfAMillisecondWhereNoDoubtIsLeft) {
    const ReadTrace sure = read(tenths(5001, 200));
    ASSERT_TRUE(sure.usable) << sure.first_error();
    EXPECT_EQ(sure.trace.time_unit, "ms");
    EXPECT_EQ(sure.trace.rows[1].at_ns, 200'000'000);
    EXPECT_FALSE(read(tenths(5000, 200)).usable) << "999,800: less than eleven days";
    EXPECT_FALSE(read(tenths(20'000, 59)).usable) << "a row a second, as seconds";
    EXPECT_TRUE(read(tenths(20'000, 61)).usable);
    EXPECT_TRUE(read(tenths(2, 100, 1'700'000'000'000)).usable) << "now, in ms";
    const ReadTrace epoch_s = read(tenths(2, 100, 1'700'000'000));
    EXPECT_EQ(epoch_s.first_error(),
              "t.jsonl:1: timestamp \"1700000000.5\" has a fraction: it may be in milliseconds, as "
              "in Mooncake traces, or in seconds; choose --time-unit s or --time-unit ms");
    EXPECT_EQ(epoch_s.errors.count, 1U);
}

// Seconds since 1970 are not taken for milliseconds: a day of rows would be over in 86 s.
TEST(Mooncake, AsksAboutSecondsSinceTheEpoch) {
    const auto reads = [](std::int64_t first, const std::string& unit = "") {
        ReadOptions options;
        options.time_unit = unit;
        return read(
            {row(std::to_string(first), 9, 1, "1"), row(std::to_string(first + 1), 9, 1, "1")},
            options);
    };
    EXPECT_EQ(reads(1'732'060'801).first_error(),
              "the first time \"1732060801\" is read as milliseconds, and looks like seconds since "
              "1970; choose --time-unit s or --time-unit ms");
    EXPECT_EQ(reads(1'732'060'801).errors.count, 1U);
    EXPECT_EQ(reads(1'732'060'801, "s").trace.rows[1].at_ns, 1'000'000'000);
    EXPECT_EQ(reads(1'732'060'801, "ms").trace.rows[1].at_ns, 1'000'000);
    EXPECT_TRUE(reads(1'262'303'999).usable) << "2009";
    EXPECT_FALSE(reads(1'262'304'000).usable);
    EXPECT_FALSE(reads(2'208'988'799).usable);
    EXPECT_TRUE(reads(2'208'988'800).usable) << "2040";
    EXPECT_TRUE(reads(1'732'060'801'000).usable) << "milliseconds since 1970";
    ReadOptions named;
    named.format = "mooncake";  // which says nothing of what the file has
    EXPECT_FALSE(read({row("1732060801", 9, 1, "1")}, named).usable);
    EXPECT_FALSE(read({R"({"timestamp": 1732060801, "requests": [{"prompt_length": 5,)"
                       R"( "output_length": 1}]})"})
                     .usable)
        << "every format whose times are in ms";
}

// Seconds from 0 on, read as milliseconds, come at a thousand times their rate: that is said.
TEST(Mooncake, SaysThatTimesAreDense) {
    const auto remarks = [](int rows, int gap, const std::string& unit = "", bool rate = false) {
        ReadOptions options{.time_unit = unit, .times_free = rate};
        std::vector<std::string> lines;
        for (int i = 0; i < rows; ++i) {
            lines.push_back(row(std::to_string(i / 2 * gap), 9, 1, "1"));
        }
        const ReadTrace got = read(lines, options);
        EXPECT_TRUE(got.usable) << got.first_error();
        return got.trace.remarks.empty() ? 0 : got.trace.remarks[0].count;
    };
    EXPECT_EQ(remarks(6, 1), 6U) << "0, 0, 1, 1, 2, 2";
    EXPECT_EQ(remarks(4, 1), 0U) << "two instants say nothing";
    EXPECT_EQ(remarks(4000, 4), 4000U);
    EXPECT_EQ(remarks(4000, 5), 0U) << "200 instants a second";
    EXPECT_EQ(remarks(4000, 1, "ms"), 0U);
    EXPECT_EQ(remarks(4000, 1, "", true), 0U) << "a rate decides";
    EXPECT_EQ(remarks(4000, 1, "auto"), 4000U);
    EXPECT_EQ(remarks(200'000, 1), 200'000U) << "within 100 s";
    EXPECT_EQ(remarks(200'004, 1), 0U);
}

// Of two members with one name the last counts, as in the field's other readers; a null takes the
// value away.
TEST(Mooncake, TakesTheLastOfEqualKeys) {
    const ReadTrace got = read({R"({"timestamp": 5, "input_length": 9, "output_length": 1})",
                                R"({"timestamp": 0, "timestamp": 25, "input_length": 7,)"
                                R"( "input_length": 8, "output_length": 1})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[1].at_ns, 20'000'000);
    EXPECT_EQ(got.trace.rows[1].input_length, 8U);
    EXPECT_FALSE(
        read({R"({"timestamp": 5, "timestamp": null, "input_length": 9, "output_length": 1})"})
            .usable);
}

// A file with blocks of 32 tokens is not read as one with blocks of 512, --lenient or not, once
// more than one id in a hundred would be lost: the size that fits is named.
TEST(Mooncake, LenientDoesNotThrowTheSharingAway) {
    const auto lines = [](int rows_of_32, int rows_of_512) {
        std::vector<std::string> all(static_cast<std::size_t>(rows_of_32), row("0", 64, 5, "1, 2"));
        all.insert(all.end(), static_cast<std::size_t>(rows_of_512), row("0", 600, 5, "1, 2"));
        return all;
    };
    ReadOptions options;
    options.lenient = true;
    const ReadTrace got = read(lines(60, 1), options);
    EXPECT_EQ(got.first_error(),
              "t.jsonl: hash_ids would lose 60 of 122 ids at blocks of 512 tokens; --block-size 32 "
              "fits 60 of 61 rows, and best of all sizes");
    options.block_size = 32;
    EXPECT_TRUE(read(lines(60, 1), options).usable);
    options.block_size = 0;
    EXPECT_TRUE(read(lines(1, 49), options).usable) << "1 of 100";
    EXPECT_TRUE(read(lines(1, 48), options).usable) << "1 of 98, where 512 fits best";
}

// Rows without an output length: refused with both ways out, filled, or sent without a limit.
TEST(Mooncake, ReadsRowsWithoutOutputLengths) {
    const std::vector<std::string> lines = {
        R"({"timestamp": 0, "input_length": 9, "hash_ids": [1]})",
        R"({"timestamp": 1, "input_length": 9, "output_length": 3, "hash_ids": [1]})"};
    EXPECT_EQ(read(lines).first_error(),
              "t.jsonl:1: output_length is missing; use --default-output N to ask such rows for N "
              "tokens, or replay --output free for no limit");
    ReadOptions filled;
    filled.default_output = 64;
    EXPECT_EQ(read(lines, filled).trace.rows[0].output_length, 64U);
    EXPECT_EQ(read(lines, filled).trace.rows[1].output_length, 3U);
    ReadOptions unlimited;
    unlimited.output_free = true;
    EXPECT_EQ(read(lines, unlimited).trace.rows[0].output_length, 0U);
}

}  // namespace
}  // namespace driftless
