// A block says what the standard says that it says (WHATWG HTML, 9.2.6).
#include "proto/sse/events.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::string describe(std::string_view block) {
    std::string joined;
    const SseEvent event = read_sse_event(block, joined);
    return std::string(event.name) + (event.has_data ? "=" : "") + std::string(event.data);
}

// The examples of the standard, and its rules one by one.
TEST(SseEvents, FollowTheStandard) {
    EXPECT_EQ(describe("data: YHOO\ndata: +2\ndata: 10\n\n"), "=YHOO\n+2\n10");
    EXPECT_EQ(describe(": test stream\n\n"), "");
    EXPECT_EQ(describe("data: first event\nid: 1\n\n"), "=first event");
    EXPECT_EQ(describe("data:  third event\n\n"), "= third event");
    EXPECT_EQ(describe("data\n\n"), "");  // an empty event is not dispatched
    EXPECT_EQ(describe("data\ndata\n\n"), "\n");
    EXPECT_EQ(describe("data:test\n\n"), describe("data: test\n\n"));
    EXPECT_EQ(describe("event: add\ndata: 73857293\n\n"), "add=73857293");
    EXPECT_EQ(describe("event: a\nevent: b\ndata: x: y\n\n"), "b=x: y");
}

// Line ends of every kind, blank lines before, a byte order mark, no end at all.
TEST(SseEvents, ToleratesItsSurroundings) {
    EXPECT_EQ(describe("\ndata: a\r\ndata: b\r\n\r"), "=a\nb");
    EXPECT_EQ(describe("data: a\rdata: b\r\r"), "=a\nb");
    EXPECT_EQ(describe("\xEF\xBB\xBF"
                       "data: a\n\n"),
              "=a");
    EXPECT_EQ(describe("\n\xEF\xBB\xBF"
                       "data: a\n\n"),
              "=a");
    EXPECT_EQ(describe("data: a"), "=a");
    EXPECT_EQ(describe("data: a \t\n"), "=a \t");
    EXPECT_EQ(describe("DATA: a\ndata : b\n data: c\n"), "");
    EXPECT_EQ(describe({}), "");
}

// Blanks alone are no data, in any framing.
TEST(SseEvents, TakesBlanksForNoData) {
    std::string joined;
    for (const char* const block :
         {"data:\n\n", "data: \n\n", "data:  \r\n", "data: \t\ndata:\n"}) {
        EXPECT_FALSE(read_sse_event(block, joined).has_data) << block;
    }
    EXPECT_FALSE(read_cut_event(Framing::lines, " \r\n", joined).has_data);
    EXPECT_TRUE(read_cut_event(Framing::lines, " {}\n", joined).has_data);
    EXPECT_TRUE(read_cut_event(Framing::whole, "{\n\n}", joined).has_data);
}

// The first bytes tell an event stream from a page or a JSON text, at every split.
TEST(SseEvents, KnowsHowAStreamBegins) {
    for (const std::string stream : {"data: a", "\r\n\ndata:{}", ": ping", "event: x", "id:1",
                                     "retry: 3", "\xEF\xBB\xBF\ndata: a"}) {
        EXPECT_EQ(begins_event_stream(stream), true) << stream;
        for (std::size_t bytes = 0; bytes < stream.size(); ++bytes) {
            EXPECT_NE(begins_event_stream(stream.substr(0, bytes)), false) << stream << bytes;
        }
    }
    for (const char* const other :
         {"{\"data\":1}", "<html>", "dat: a", "data {", " data: a", "Oops"}) {
        EXPECT_EQ(begins_event_stream(other), false) << other;
    }
}

// One line of data is not copied.
TEST(SseEvents, DoesNotCopyOneLine) {
    const std::string_view block = "data: a\n\n";
    std::string joined = "untouched";
    EXPECT_EQ(read_sse_event(block, joined).data.data(), block.data() + 6);
    EXPECT_EQ(joined, "untouched");
}

}  // namespace
}  // namespace driftless
