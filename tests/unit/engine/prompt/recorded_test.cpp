// A row with a body of its own is that body, however it is cut into slices.
#include <gtest/gtest.h>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

/// Rows with these bodies; an empty one is built from its length.
Trace trace_of(const std::vector<std::string>& bodies) {
    Trace trace;
    trace.body_api = "openai-chat";
    for (const std::string& body : bodies) {
        TraceRow row{.index = static_cast<std::uint32_t>(trace.rows.size()), .input_length = 10};
        trace.rows.push_back(row);
        trace.body_bytes += body;
        trace.body_ends.push_back(trace.body_bytes.size());
    }
    return trace;
}

TEST(Recorded, BodiesAreCopiedAsTheyStand) {
    std::string long_body = "{\"a\":\"";
    for (int i = 0; i < 1000; ++i) {
        long_body += std::to_string(i);
    }
    long_body += "\"}";
    const std::vector<std::string> bodies{"{}", long_body, "{\"b\": [1, 2]}"};
    const Trace trace = trace_of(bodies);
    PromptBuilder builder(trace, WordTable::built_in(), {});
    for (const std::uint32_t tokens : {1u, 7u, 100u, 100'000u}) {
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            std::vector<char> room(builder.room_of(trace.rows[i]));
            PromptCursor cursor = builder.begin(trace.rows[i]);
            while (!builder.fill(cursor, room.data(), tokens)) {
            }
            EXPECT_EQ(std::string_view(room.data(), cursor.bytes), bodies[i]);
            Xxh64 hash;
            hash.add(bodies[i]);
            EXPECT_EQ(PromptBuilder::digest_of(cursor), hash.value());
        }
    }
}

TEST(Recorded, RowsWithoutABodyAreBuilt) {
    const Trace trace = trace_of({"{}", "", "{}"});
    PromptBuilder builder(trace, WordTable::built_in(), {});
    std::vector<char> room(builder.room_of(trace.rows[1]));
    PromptCursor cursor = builder.begin(trace.rows[1]);
    while (!builder.fill(cursor, room.data(), 3)) {
    }
    EXPECT_EQ(cursor.bytes, 10u * 4 - 1);  // ten words of the built-in table
    EXPECT_FALSE(builder.clamped(trace.rows[0]));
}

TEST(Recorded, CopiesOfATraceShareItsBodies) {
    Trace trace = trace_of({"{\"a\":1}", "{\"b\":2}"});
    trace.copy_rows = 2;
    TraceRow copy = trace.rows[1];
    copy.index = 3;
    EXPECT_EQ(trace.body_of(copy), "{\"b\":2}");
}

}  // namespace
}  // namespace driftless
