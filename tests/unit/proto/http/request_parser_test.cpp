// A server reads the same request from the same bytes, however they arrive.
#include "proto/http/request_parser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

// What a server sees of the requests in `bytes`, fed in the given pieces: one line a request.
std::string read_all(const std::vector<std::string>& pieces) {
    RequestParser parser;
    std::string seen;
    for (const std::string& piece : pieces) {
        std::string_view rest = piece;
        while (true) {
            const RequestParser::Step step = parser.feed(rest);
            rest.remove_prefix(step.consumed);
            if (step.piece == RequestPiece::head_done) {
                seen += std::string(parser.method()) + " " + std::string(parser.target()) +
                        " length=" + std::to_string(parser.content_length()) +
                        " id=" + std::string(parser.header("x-request-id")) +
                        (parser.keep_alive() ? " keep" : " close") +
                        (parser.expects_continue() ? " expects" : "") + " [";
            } else if (step.piece == RequestPiece::body) {
                seen += step.span;
            } else if (step.piece == RequestPiece::done) {
                seen += "]\n";
                parser.reset();
                if (rest.empty()) {
                    break;
                }
            } else if (step.piece == RequestPiece::error) {
                EXPECT_STRNE(parser.error_text(), "");
                return seen + "error\n";
            } else {
                EXPECT_TRUE(rest.empty());
                break;
            }
        }
    }
    return seen + (parser.idle() ? "" : "unfinished\n");
}

// Whole, byte by byte and at every split: the same.
void expect_seen(const std::string& bytes, const std::string& expected) {
    EXPECT_EQ(read_all({bytes}), expected);
    std::vector<std::string> singles;
    for (const char byte : bytes) {
        singles.emplace_back(1, byte);
    }
    EXPECT_EQ(read_all(singles), expected) << "byte by byte";
    for (std::size_t at = 1; at < bytes.size(); ++at) {
        ASSERT_EQ(read_all({bytes.substr(0, at), bytes.substr(at)}), expected) << "split at " << at;
    }
}

// The head that our own client sends, with its body.
TEST(RequestParser, ReadsAReplayRequest) {
    expect_seen(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
        "Content-Type: application/json\r\nX-Request-Id: r-000017\r\nContent-Length: 13\r\n\r\n"
        "{\"model\":\"m\"}",
        "POST /v1/chat/completions length=13 id=r-000017 keep [{\"model\":\"m\"}]\n");
}

// Two requests in one segment are two requests, in order (pipelining).
TEST(RequestParser, ReadsPipelinedRequests) {
    expect_seen(
        "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /v1/models?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /health length=0 id= keep []\nGET /v1/models?x=1 length=0 id= close []\n");
}

// A chunked body with an extension and a trailer reads as its content.
TEST(RequestParser, RemovesChunks) {
    expect_seen(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4;a=b\r\nWiki\r\n5\r\npedia\r\n0\r\nX-T: 1\r\n\r\n",
        "POST / length=0 id= keep [Wikipedia]\n");
}

// curl asks before it sends a large body, and offers HTTP/2, which is ignored.
TEST(RequestParser, SeesExpectAndIgnoresUpgrade) {
    expect_seen(
        "POST /x HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n"
        "content-length: 2\r\n\r\nhi",
        "POST /x length=2 id= keep expects [hi]\n");
}

// Any close wins, HTTP/1.0 closes unless it asks not to.
TEST(RequestParser, DecidesKeepAlive) {
    expect_seen("GET / HTTP/1.1\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
                "GET / length=0 id= close []\n");
    expect_seen("GET / HTTP/1.0\r\n\r\n", "GET / length=0 id= close []\n");
    expect_seen("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / length=0 id= keep []\n");
}

// What is no request is an error at the same byte for every split.
TEST(RequestParser, RefusesNonsense) {
    expect_seen("\x16\x03\x01\x02", "error\n");
}

// Head bytes at limit - 1, limit, limit + 1.
TEST(RequestParser, BoundsTheHead) {
    for (const int over : {-1, 0, 1}) {
        const std::string begin = "GET / HTTP/1.1\r\nX: ";
        const std::string end = "\r\n\r\n";
        const std::size_t fill = request_head_bytes_max - begin.size() - end.size() +
                                 static_cast<std::size_t>(over);  // wraps to one less for -1
        RequestParser parser;
        const RequestParser::Step step = parser.feed(begin + std::string(fill, 'x') + end);
        EXPECT_EQ(step.piece, over <= 0 ? RequestPiece::head_done : RequestPiece::error);
        EXPECT_EQ(parser.head_too_large(), over > 0);
    }
}

// Header fields at limit and limit + 1.
TEST(RequestParser, BoundsTheNumberOfFields) {
    for (const unsigned over : {0u, 1u}) {
        std::string head = "GET / HTTP/1.1\r\n";
        for (unsigned i = 0; i < request_headers_max + over; ++i) {
            head += "A: b\r\n";
        }
        RequestParser parser;
        const RequestParser::Step step = parser.feed(head + "\r\n");
        EXPECT_EQ(step.piece, over == 0 ? RequestPiece::head_done : RequestPiece::error);
    }
}

}  // namespace
}  // namespace driftless
