// The response parser keeps to its limits and can be used again and again; what it reads is held by
// the golden files.
#include "proto/http/response.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

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
