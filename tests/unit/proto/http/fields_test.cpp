// Header fields are found by name as HTTP compares names, and only in lines of their own.

#include "proto/http/fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/proto/http/cuts.hpp"

namespace driftless {

namespace {

constexpr std::string_view head =
    "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\n"
    "content-type:text/event-stream; charset=utf-8  \r\nX-Request-Id:\tr-1\nContent-Type: other\r\n"
    "X-Long-Request-Id: no\r\n\r\n";

// Case does not matter, blanks around the value are not part of it, the first field wins.
TEST(Fields, FindsTheFirstFieldOfAName) {
    EXPECT_EQ(header_value(head, "SERVER"), "llama.cpp");
    EXPECT_EQ(header_value(head, "Content-Type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(header_value(head, "x-request-id"), "r-1");
}

// An empty value is there; an absent field has no data.
TEST(Fields, TellsEmptyFromAbsent) {
    EXPECT_NE(header_value(head, "access-control-allow-origin").data(), nullptr);
    EXPECT_EQ(header_value(head, "access-control-allow-origin"), "");
    EXPECT_EQ(header_value(head, "request-id").data(), nullptr);
    EXPECT_EQ(header_value(head, "origin").data(), nullptr);
    EXPECT_EQ(header_value("", "origin").data(), nullptr);
}

// What servers say of their connections' limits is read from any head, however it is cut.

struct Case {
    std::string fields;
    KeepAliveLimits limits;
};

// As servers send them (node, llama-server's cpp-httplib, Apache), and as nobody should.
const std::vector<Case> cases = {
    {"Keep-Alive: timeout=5\r\n", {5, {}}},
    {"Connection: keep-alive\r\nKeep-Alive: timeout=5, max=100\r\n", {5, 100}},
    {"keep-alive:max=7,timeout=65\n", {65, 7}},
    {"KEEP-ALIVE: \t TimeOut = 15 ; MAX=\"3\" \r\n", {15, 3}},
    {"Keep-Alive: timeout=0\r\n", {0, {}}},
    {"Keep-Alive: timeout=4294967295\r\n", {4294967295u, {}}},
    {"Keep-Alive: timeout=4294967296\r\n", {4294967295u, {}}},
    {"Keep-Alive: timeout=9\r\nX: y\r\nKeep-Alive: timeout=6, max=2\r\n", {6, 2}},
    {"Keep-Alive: timeout=\r\n", {}},
    {"Keep-Alive: timeout=-1, max=1x, =3, ,\r\n", {}},
    {"Keep-Alive: 5\r\n", {}},
    {"Keep-Alive:\r\n", {}},
    {"X-Keep-Alive: timeout=5\r\n", {}},
    {"Keep-Alive-X: timeout=5\r\n", {}},
    {"Keep-Alive : timeout=5\r\n", {}},
    {"Server: Keep-Alive: timeout=5\r\n", {}},
    {"Connection: keep-alive\r\n", {}},
};

std::string head_of(const Case& wanted) {
    return "HTTP/1.1 200 OK\r\n" + wanted.fields + "Content-Length: 0\r\n\r\n";
}

KeepAliveLimits scan(const std::vector<std::string_view>& pieces) {
    KeepAliveScanner scanner;
    for (const std::string_view piece : pieces) {
        scanner.feed(piece);
    }
    return scanner.limits();
}

TEST(KeepAlive, IsReadWholeByteByByteAndAtEverySplit) {
    for (const Case& wanted : cases) {
        const std::string head = head_of(wanted);
        each_cut(head, [&](const std::vector<std::string_view>& pieces) {
            EXPECT_EQ(scan(pieces), wanted.limits) << head << pieces[0].size();
        });
    }
}

// A value is kept up to a limit (limit - 1, limit, limit + 1); no number is read in part, and what
// stands before the limit holds.
TEST(KeepAlive, BoundsItsValue) {
    for (const std::string tail : {"timeout=5", "timeout=50", "timeout=5000", "timeout=50 "}) {
        for (const int more : {-1, 0, 1, 2, 20}) {
            for (const std::string end : {"\n", "\r\n"}) {
                const std::size_t bytes =
                    KeepAliveScanner::value_bytes_max + static_cast<std::size_t>(more);
                const std::string first = "max=7;";
                const std::string blanks(bytes - tail.size() - first.size(), ' ');
                const KeepAliveLimits limits =
                    scan({"HTTP/1.1 200 OK\nKeep-Alive:" + first + blanks + tail + end});
                const bool whole = more <= 0;
                EXPECT_EQ(limits.timeout_s.has_value(), whole) << tail << more;
                EXPECT_EQ(limits.max, 7u) << tail << more;
                if (whole) {
                    EXPECT_EQ(std::to_string(*limits.timeout_s),
                              tail.substr(8, tail.find(' ') - 8));
                }
            }
        }
    }
}

// Through the parser: those of the final head alone, and of this message alone.
TEST(KeepAlive, BelongsToOneFinalHead) {
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nKeep-Alive: timeout=1\r\n\r\n";
    const std::string head = interim + head_of({"Keep-Alive: timeout=5, max=9\r\n", {}});
    each_parsed(head, [](ResponseParser& parser) {
        EXPECT_EQ(parser.keep_alive_limits(), (KeepAliveLimits{5, 9}));
        parser.reset();
        EXPECT_EQ(parser.keep_alive_limits(), KeepAliveLimits{});
    });
}

}  // namespace

}  // namespace driftless
