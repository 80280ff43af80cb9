// A block says what the standard says that it says (WHATWG HTML, 9.2.6).

#include "proto/http/sse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/core/hash.hpp"

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

// Streams are cut where the standard ends events, for every framing and every split.

// Each event's bytes, those of comments in parentheses, then what is pending: "<a>(:)<b>c".
std::string cut(Framing framing, const std::vector<std::string_view>& pieces) {
    EventScanner scanner;
    scanner.reset(framing);
    std::string out;
    std::string block;
    for (std::string_view bytes : pieces) {
        while (!bytes.empty()) {
            const std::size_t end = scanner.next(bytes);
            block += bytes.substr(0, end == 0 ? bytes.size() : end);
            bytes.remove_prefix(end == 0 ? bytes.size() : end);
            if (end != 0) {
                out += (scanner.cut_keep_alive() ? "(" : "<") + block +
                       (scanner.cut_keep_alive() ? ")" : ">");
                block.clear();
            }
        }
    }
    return out + (scanner.pending() ? block : "");
}

void expect_cuts(Framing framing, std::string_view bytes, std::string_view expected) {
    EXPECT_EQ(cut(framing, {bytes}), expected);
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
        ASSERT_EQ(cut(framing, {bytes.substr(0, at), bytes.substr(at)}), expected) << at;
    }
}

// An event ends with an empty line, however lines end.
TEST(EventScanner, CutsAtEmptyLines) {
    expect_cuts(Framing::sse, "data: a\n\ndata: b\n\n", "<data: a\n\n><data: b\n\n>");
    expect_cuts(Framing::sse, "a\r\n\r\nb\r\n\r\n", "<a\r\n\r><\nb\r\n\r>");
    expect_cuts(Framing::sse, "a\r\rb\r\n\nc\n\r\nd", "<a\r\r><b\r\n\n><c\n\r>\nd");
    expect_cuts(Framing::sse, "a\nb\n\nc\n", "<a\nb\n\n>c\n");
}

// Comments alone are told from events that have a field, wherever their lines stand.
TEST(EventScanner, TellsCommentsFromEvents) {
    expect_cuts(Framing::sse, ": ping\n\ndata: a\n\n:\n\n", "(: ping\n\n)<data: a\n\n>(:\n\n)");
    expect_cuts(Framing::sse, ":a\r\n:b\r\n\r\n:c\ndata: a\n\n",
                "(:a\r\n:b\r\n\r)<\n:c\ndata: a\n\n>");
    expect_cuts(Framing::sse, "data: a\n:c\n\n:\n\n", "<data: a\n:c\n\n>(:\n\n)");
    expect_cuts(Framing::sse, "\n\n: ping\n\n: pi", "(\n\n: ping\n\n): pi");
    expect_cuts(Framing::lines, ":\n{}\n", "<:\n><{}\n>");
}

// So is data without a value, and in NDJSON a line of blanks.
TEST(EventScanner, TellsEmptyDataFromEvents) {
    expect_cuts(Framing::sse, "data:\n\ndata: \n\ndata:  \r\r",
                "(data:\n\n)(data: \n\n)(data:  \r\r)");
    expect_cuts(Framing::sse, "data:\n:c\ndata:\t\n\ndata: 1\n\n",
                "(data:\n:c\ndata:\t\n\n)<data: 1\n\n>");
    expect_cuts(Framing::sse, "data:\ndata:x\n\ndata\n\n", "<data:\ndata:x\n\n>(data\n\n)");
    expect_cuts(Framing::sse, "<html>\n\ndatum\n\n", "<<html>\n\n><datum\n\n>");
    expect_cuts(Framing::lines, " \t\n{}\n", "( \t\n)<{}\n>");
}

// Blank lines open no event of their own and are not pending.
TEST(EventScanner, IgnoresBlankLines) {
    expect_cuts(Framing::sse, "\n\r\n\ra\n\n\n\n", "<\n\r\n\ra\n\n>");
    expect_cuts(Framing::sse, "", "");
    expect_cuts(Framing::sse, "\r", "");
}

// One event a line for NDJSON; blank lines are none.
TEST(EventScanner, CutsLines) {
    expect_cuts(Framing::lines, "{}\n{\"a\":1}\r\n\n{}\n{", "<{}\n><{\"a\":1}\r><\n\n{}\n>{");
}

// A whole body is one event that never ends by itself.
TEST(EventScanner, KeepsWholeBodies) {
    expect_cuts(Framing::whole, "a\n\nb\n\n", "a\n\nb\n\n");
    expect_cuts(Framing::whole, "", "");
}

// Against the standard read naively, a byte at a time: random line ends, random lengths around the
// window in which line ends are searched.
TEST(EventScanner, AgreesWithANaiveReading) {
    Random random(11);
    for (int round = 0; round < 300; ++round) {
        std::string bytes;
        for (int i = 0; i < 12; ++i) {
            bytes +=
                std::string(random.below(4) == 0 ? 1020 + random.below(10) : random.below(3), 'x');
            bytes += random.below(2) == 0 ? "\n" : random.below(2) == 0 ? "\r" : "\r\n";
        }
        std::string expected = "<";
        bool line = false;
        bool block = false;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            expected += bytes[i];
            const bool half = bytes[i] == '\n' && i > 0 && bytes[i - 1] == '\r';
            if (bytes[i] != '\n' && bytes[i] != '\r') {
                line = true;
            } else if (!half) {
                if (!line && block) {
                    expected += "><";
                    block = false;
                }
                block = block || line;
                line = false;
            }
        }
        const std::size_t last = expected.rfind('<');
        expected = block ? expected.erase(last, 1) : expected.substr(0, last);
        const std::size_t at = random.below(bytes.size());
        const std::string_view view = bytes;
        ASSERT_EQ(cut(Framing::sse, {view}), expected);
        ASSERT_EQ(cut(Framing::sse, {view.substr(0, at), view.substr(at)}), expected);
    }
}

}  // namespace

}  // namespace driftless
