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
    EXPECT_EQ(describe("data\n\n"), "=");
    EXPECT_EQ(describe("data\ndata\n\n"), "=\n");
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

// One line of data is not copied.
TEST(SseEvents, DoesNotCopyOneLine) {
    const std::string_view block = "data: a\n\n";
    std::string joined = "untouched";
    EXPECT_EQ(read_sse_event(block, joined).data.data(), block.data() + 6);
    EXPECT_EQ(joined, "untouched");
}

}  // namespace
}  // namespace driftless
