// A server reads the same request from the same bytes, however they arrive.

#include "proto/http/parsers.hpp"

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

// The response parser keeps to its limits and can be used again and again; what it reads is held by
// the golden files.

struct Reading {
    std::string head;
    std::string body;
    ResponsePiece last = ResponsePiece::need_more;
    std::size_t left = 0;  // bytes not consumed
};

Reading read(ResponseParser& parser, std::string_view bytes) {
    Reading reading;
    while (true) {
        const ResponseParser::Step step = parser.feed(bytes);
        bytes.remove_prefix(step.consumed);
        reading.last = step.piece;
        reading.left = bytes.size();
        switch (step.piece) {
            case ResponsePiece::head_bytes:
                reading.head += step.span;
                break;
            case ResponsePiece::body:
                reading.body += step.span;
                break;
            case ResponsePiece::head_done:
                break;
            default:
                return reading;
        }
    }
}

// Head bytes come as received, whole or in the smallest pieces, without interim heads.
TEST(ResponseParser, ReportsTheHeadAsReceived) {
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    const std::string head = "HTTP/1.1 200 OK\r\nserver:  a \r\nContent-Length: 0\r\n\r\n";
    ResponseParser parser;
    EXPECT_EQ(read(parser, interim + head).head, head);
    parser.reset();
    std::string collected;
    for (const char byte : "\r\n" + interim + interim + head) {
        collected += read(parser, {&byte, 1}).head;
    }
    EXPECT_EQ(collected, head);
}

// Nothing fed is nothing read, also where there is no memory behind it.
// RFC 9112, 6.3: without a length and chunks a body ends with its connection, and only then.
TEST(ResponseParser, TellsHowABodyEnds) {
    ResponseParser parser;
    EXPECT_EQ(read(parser, "HTTP/1.1 200 OK\r\n\r\nab").body, "ab");
    EXPECT_TRUE(parser.close_delimited());
    EXPECT_TRUE(parser.finish());
    parser.reset();
    EXPECT_EQ(read(parser, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").body, "ab");
    EXPECT_FALSE(parser.close_delimited());
    EXPECT_FALSE(parser.finish());
}

// Other protocols and versions are errors with words.
TEST(ResponseParser, RefusesOtherVersions) {
    for (const char* begin :
         {"HTTP/2.0 200 OK\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 99 Low\r\n\r\n"}) {
        ResponseParser parser;
        EXPECT_EQ(read(parser, begin).last, ResponsePiece::error) << begin;
        EXPECT_STRNE(parser.error_text(), "");
    }
}

TEST(ResponseParser, TakesNothing) {
    ResponseParser parser;
    EXPECT_EQ(parser.feed({}).piece, ResponsePiece::need_more);
    EXPECT_FALSE(parser.finish());
}

// Bytes behind the message belong to nobody: they are not consumed, and it is done once and for
// all.
TEST(ResponseParser, LeavesWhatFollows) {
    ResponseParser parser;
    const std::string message = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const Reading reading = read(parser, message + "HTTP/1.1 500");
    EXPECT_EQ(reading.last, ResponsePiece::done);
    EXPECT_EQ(reading.left, 12u);
    EXPECT_EQ(parser.feed("x").piece, ResponsePiece::done);
    EXPECT_TRUE(parser.finish());
    for (int i = 0; i < 3; ++i) {
        parser.reset();
        EXPECT_EQ(read(parser, message).body, "ok");
    }
}

// Head bytes at limit - 1, limit, limit + 1, interim heads included.
TEST(ResponseParser, BoundsTheHead) {
    const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
    for (const std::string& before : {std::string(), interim}) {
        for (const std::size_t size :
             {response_head_bytes_max - 1, response_head_bytes_max, response_head_bytes_max + 1}) {
            ResponseParser parser;
            const std::string fill(size - before.size() - begin.size() - 4, 'x');
            const Reading reading = read(parser, before + begin + fill + "\r\n\r\n");
            const bool fits = size <= response_head_bytes_max;
            EXPECT_EQ(reading.last, fits ? ResponsePiece::done : ResponsePiece::error) << size;
            EXPECT_EQ(parser.head_too_large(), !fits);
        }
    }
}

// Header fields at limit and limit + 1; trailers count, too.
TEST(ResponseParser, BoundsTheNumberOfFields) {
    for (const unsigned trailers : {0u, 3u}) {
        for (const unsigned over : {0u, 1u}) {
            std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
            for (unsigned i = 1; i < response_headers_max - trailers + over; ++i) {
                bytes += "A: b\r\n";
            }
            bytes += "\r\n0\r\n";
            for (unsigned i = 0; i < trailers; ++i) {
                bytes += "C: d\r\n";
            }
            ResponseParser parser;
            EXPECT_EQ(read(parser, bytes + "\r\n").last,
                      over == 0 ? ResponsePiece::done : ResponsePiece::error);
        }
    }
}

// Chunk-size lines and trailers cannot grow without end, whole or in pieces.
TEST(ResponseParser, BoundsChunkLinesAndTrailers) {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string endless(response_head_bytes_max, 'x');
    for (const std::string& bytes : {"1;" + endless, "0\r\nX: " + endless}) {
        ResponseParser whole;
        EXPECT_EQ(read(whole, head + bytes).last, ResponsePiece::error);
        EXPECT_TRUE(whole.head_too_large());
        ResponseParser pieces;
        EXPECT_EQ(read(pieces, head).last, ResponsePiece::need_more);
        for (const char byte : bytes) {
            (void)read(pieces, {&byte, 1});
        }
        EXPECT_EQ(pieces.feed("").piece, ResponsePiece::error);
    }
}

// Interim answers without end are an error, not a loop.
TEST(ResponseParser, BoundsInterimAnswers) {
    ResponseParser parser;
    Reading reading;
    for (std::size_t bytes = 0; bytes <= response_head_bytes_max; bytes += 19) {
        reading = read(parser, "HTTP/1.1 102 P\r\n\r\n\n");
    }
    EXPECT_EQ(reading.last, ResponsePiece::error);
    EXPECT_TRUE(parser.head_too_large());
}

}  // namespace

}  // namespace driftless
