// The canonical format holds all that a trace holds, and refuses what contradicts itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

const std::string header =
    R"({"schema":"driftless.trace","version":1,"block_size":16,"tail_rule":"ceil"})";

// Every format's samples, strict and lenient: what is usable comes back equal, to the nanosecond.
TEST(Canonical, HoldsEveryFormat) {
    for (const char* format : {"agentic_mooncake", "azure", "burstgpt", "canonical", "dynamo",
                               "generic", "mooncake", "qwen", "weka"}) {
        int usable = 0;
        const std::filesystem::path folder(TEST_DATA "/../fuzz/corpus/" + std::string(format));
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            for (const bool lenient : {false, true}) {
                ReadOptions options{.lenient = lenient, .sessions = Sessions::open};
                if (std::string_view(format) == "generic") {
                    options.map = {{"time", "t"}, {"in", "u.i"}, {"hashes", "h"}, {"session", "s"}};
                    options.time_unit = "s";
                }
                const ReadTrace got = read(lines_of(read_bytes(entry.path())), options);
                if (got.usable) {
                    EXPECT_EQ(canonical_round_trip(got.trace), "") << entry.path();
                    ++usable;
                }
            }
        }
        EXPECT_GT(usable, 0) << format;
    }
}

TEST(Canonical, ReadsEveryField) {
    const ReadTrace got = read({
        header,
        R"({"at_ns":1000000007,"input_length":33,"output_length":4,"hash_ids":[7,18446744073709551615,9],)"
        R"("session":"s","turn":1,"name_space":3,"request_id":"a"})",
        R"({"at_ns":5000000000,"input_length":20,"output_length":1,"hash_ids":[1],"session":"s",)"
        R"("session_number":4,"after":[{"row":0,"trigger":"dispatch","delay_ns":12}]})",
        R"({"at_ns":6000000000,"input_length":20,"output_length":1})",
    });
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "canonical");
    EXPECT_EQ(trace.block_size, 16U);
    EXPECT_EQ(trace.rows[1].at_ns, 3'999'999'993);
    EXPECT_EQ(trace.ids_of(trace.rows[0])[1], 18446744073709551615U);
    EXPECT_EQ(trace.name_spaces, 2U);
    EXPECT_NE(trace.rows[0].name_space, trace.rows[1].name_space);
    ASSERT_EQ(trace.sessions.size(), 2U) << "one name, two numbers";
    EXPECT_EQ(trace.sessions[0], trace.sessions[1]);
    EXPECT_EQ(trace.rows[2].session, no_session);
    EXPECT_EQ(trace.rows[2].ids_count, 0U);
    const auto waits = trace.dependencies_of(trace.rows[1]);
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits[0].on, 0U);
    EXPECT_EQ(waits[0].trigger, Trigger::dispatch);
    EXPECT_EQ(waits[0].delay_ns, 12);
    EXPECT_EQ(trace.unknown_keys, 1U);
}

// A header that is missing or of another version, counts, rows that wait for later ones, triggers.
TEST(Canonical, RefusesWhatContradictsItself) {
    const auto problem = [](const std::vector<std::string>& lines) {
        ReadOptions options;
        options.format = "canonical";
        return read(lines, options).first_error();
    };
    const std::string row = R"({"at_ns":0,"input_length":33,"output_length":4,"hash_ids":)";
    EXPECT_TRUE(says(problem({row + "[1,2,3]}"}), "before a header"));
    EXPECT_TRUE(says(problem({R"({"schema":"driftless.trace","version":2})"}), "version"));
    EXPECT_EQ(problem({header, row + "[1,2,3]}"}), "");
    EXPECT_EQ(problem({header, row + "[1,2]}"}), "") << "the floor rule, row by row";
    EXPECT_TRUE(says(problem({header, row + "[1,2,3,4]}"}), "needs 3"));
    EXPECT_TRUE(says(problem({header, row + "[1]}"}), "needs 3"));
    const std::string uncovered =
        R"({"schema":"driftless.trace","version":1,"block_size":16,"uncovered":true})";
    EXPECT_EQ(problem({uncovered, row + "[1]}"}), "");
    EXPECT_TRUE(says(problem({header, row + R"([1,2,3],"after":[{"row":0}]})"}), "an earlier row"));
    EXPECT_TRUE(says(problem({header, row + "[1,2,3]}",
                              row + R"([1,2,3],"after":[{"row":0,"trigger":"never"}]})"}),
                     "trigger"));
    EXPECT_TRUE(says(problem({header, row + R"([1,2,3],"turn":4294967295})"}), "turn"));
}

// Several files are one trace: rows, sessions and namespaces of each are its own.
TEST(Canonical, CountsRowsByFile) {
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    for (const char* name : {"a", "b"}) {
        reader.begin_file(name);
        reader.add_line(1, header);
        reader.add_line(2, R"({"at_ns":0,"input_length":1,"output_length":1,"session":"s"})");
        reader.add_line(3, R"({"at_ns":9,"input_length":1,"output_length":1,"after":[{"row":0}]})");
    }
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(trace.name_spaces, 2U);
    EXPECT_EQ(trace.sessions.size(), 2U);
    EXPECT_EQ(trace.dependencies.at(1).row, 3U);
    EXPECT_EQ(trace.dependencies.at(1).on, 2U);
}

}  // namespace
}  // namespace driftless
