// Streams are cut where the standard ends events, for every framing and every split.
#include "proto/sse/scanner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

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
