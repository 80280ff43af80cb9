// Responses: heads, fields, lengths and events, however the bytes are cut.

#include "proto/core/hash.hpp"
#include "proto/http/parsers.hpp"
#include "proto/http/sse.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

/// Calls `use` with a parser that has read the head of an answer without a body, for each cut.
template <class Use>
void each_parsed(std::string_view head, Use use) {
    each_cut(head, [&use](const std::vector<std::string_view>& pieces) {
        ResponseParser parser;
        for (std::string_view piece : pieces) {
            ResponsePiece got = ResponsePiece::head_bytes;
            while (got != ResponsePiece::need_more && got != ResponsePiece::done) {
                const ResponseParser::Step step = parser.feed(piece);
                piece.remove_prefix(step.consumed);
                got = step.piece;
            }
        }
        use(parser);
    });
}

namespace {

// What a server sees of the requests in `bytes`, fed in the given pieces: one line a request.
std::string read_all(const std::vector<std::string_view>& pieces) {
    RequestParser parser;
    std::string seen;
    for (std::string_view rest : pieces) {
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
    each_cut(bytes, [&](const std::vector<std::string_view>& pieces) {
        ASSERT_EQ(read_all(pieces), expected) << "split at " << pieces.front().size();
    });
}

// The head that our own client sends, with its body.
TEST(RequestParser, ReadsRequests) {
    expect_seen(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
        "Content-Type: application/json\r\nX-Request-Id: r-000017\r\nContent-Length: 13\r\n\r\n"
        "{\"model\":\"m\"}",
        "POST /v1/chat/completions length=13 id=r-000017 keep [{\"model\":\"m\"}]\n");
    // Two requests in one segment are two requests, in order (pipelining).
    expect_seen(
        "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /v1/models?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /health length=0 id= keep []\nGET /v1/models?x=1 length=0 id= close []\n");
    // A chunked body with an extension and a trailer reads as its content.
    expect_seen(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4;a=b\r\nWiki\r\n5\r\npedia\r\n0\r\nX-T: 1\r\n\r\n",
        "POST / length=0 id= keep [Wikipedia]\n");
    // curl asks before it sends a large body, and offers HTTP/2, which is ignored.
    expect_seen(
        "POST /x HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n"
        "content-length: 2\r\n\r\nhi",
        "POST /x length=2 id= keep expects [hi]\n");
    // Any close wins, HTTP/1.0 closes unless it asks not to.
    expect_seen("GET / HTTP/1.1\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
                "GET / length=0 id= close []\n");
    expect_seen("GET / HTTP/1.0\r\n\r\n", "GET / length=0 id= close []\n");
    expect_seen("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / length=0 id= keep []\n");
    // What is no request is an error at the same byte for every split.
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
    // Header fields at limit and limit + 1.
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
TEST(ResponseParser, ReportsHeadsEndsAndOtherVersions) {
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
    // RFC 9112, 6.3: without a length and chunks a body ends with its connection, and only then.
    // Nothing fed is nothing read, also where there is no memory behind it.
    ResponseParser other_parser;
    EXPECT_EQ(read(other_parser, "HTTP/1.1 200 OK\r\n\r\nab").body, "ab");
    EXPECT_TRUE(other_parser.close_delimited() && other_parser.finish());
    other_parser.reset();
    EXPECT_EQ(read(other_parser, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").body, "ab");
    EXPECT_FALSE(other_parser.close_delimited() || other_parser.finish());
    ResponseParser fresh;
    EXPECT_EQ(fresh.feed({}).piece, ResponsePiece::need_more);
    EXPECT_FALSE(fresh.finish());
    // Other protocols and versions are errors with words.
    for (const char* begin :
         {"HTTP/2.0 200 OK\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 99 Low\r\n\r\n"}) {
        ResponseParser third_parser;
        EXPECT_EQ(read(third_parser, begin).last, ResponsePiece::error) << begin;
        EXPECT_STRNE(third_parser.error_text(), "");
    }
}

// Bytes behind the message belong to nobody: they are not consumed, and it is done once and for
// all.
TEST(ResponseParser, LeavesWhatFollowsAndBoundsTheHead) {
    ResponseParser parser;
    const std::string message = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const Reading reading = read(parser, message + "HTTP/1.1 500");
    EXPECT_EQ(std::tuple(reading.last, reading.left), std::tuple(ResponsePiece::done, 12u));
    EXPECT_EQ(parser.feed("x").piece, ResponsePiece::done);
    EXPECT_TRUE(parser.finish());
    for (int i = 0; i < 3; ++i) {
        parser.reset();
        EXPECT_EQ(read(parser, message).body, "ok");
    }
    // Head bytes at limit - 1, limit, limit + 1, interim heads included.
    const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
    for (const std::string& before : {std::string(), interim}) {
        for (const std::size_t size :
             {response_head_bytes_max - 1, response_head_bytes_max, response_head_bytes_max + 1}) {
            ResponseParser other_parser;
            const std::string fill(size - before.size() - begin.size() - 4, 'x');
            const Reading other_reading = read(other_parser, before + begin + fill + "\r\n\r\n");
            const bool fits = size <= response_head_bytes_max;
            EXPECT_EQ(other_reading.last, fits ? ResponsePiece::done : ResponsePiece::error)
                << size;
            EXPECT_EQ(other_parser.head_too_large(), !fits);
        }
    }
    // Header fields at limit and limit + 1; trailers count, too.
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
            ResponseParser other_parser;
            EXPECT_EQ(read(other_parser, bytes + "\r\n").last,
                      over == 0 ? ResponsePiece::done : ResponsePiece::error);
        }
    }
}

// Chunk-size lines and trailers cannot grow without end, whole or in pieces.
TEST(ResponseParser, BoundsChunkLinesTrailersAndInterimAnswers) {
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
    // Interim answers without end are an error, not a loop.
    ResponseParser parser;
    Reading reading;
    for (std::size_t bytes = 0; bytes <= response_head_bytes_max; bytes += 19) {
        reading = read(parser, "HTTP/1.1 102 P\r\n\r\n\n");
    }
    EXPECT_EQ(reading.last, ResponsePiece::error);
    EXPECT_TRUE(parser.head_too_large());
}

constexpr std::string_view head =
    "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\n"
    "content-type:text/event-stream; charset=utf-8  \r\nX-Request-Id:\tr-1\nContent-Type: other\r\n"
    "X-Long-Request-Id: no\r\n\r\n";

// Case does not matter, blanks around the value are not part of it, the first field wins.
TEST(Fields, FindsTheFirstFieldOfAName) {
    EXPECT_EQ(header_value(head, "SERVER"), "llama.cpp");
    EXPECT_EQ(header_value(head, "Content-Type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(header_value(head, "x-request-id"), "r-1");
    // An empty value is there; an absent field has no data.
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

TEST(KeepAlive, IsReadAtEverySplitWithinABoundOfOneHead) {
    for (const Case& wanted : cases) {
        const std::string head = head_of(wanted);
        each_cut(head, [&](const std::vector<std::string_view>& pieces) {
            EXPECT_EQ(scan(pieces), wanted.limits) << head << pieces[0].size();
        });
    }
    // A value is kept up to a limit (limit - 1, limit, limit + 1); no number is read in part, and
    // what stands before the limit holds.
    for (const std::string tail : {"timeout=5", "timeout=50", "timeout=5000", "timeout=50 "}) {
        for (const int more : {-1, 0, 1, 2, 20}) {
            for (const std::string end : {"\n", "\r\n"}) {
                const std::size_t bytes =
                    FieldScanner::value_bytes_max + static_cast<std::size_t>(more);
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
    // Through the parser: those of the final head alone, and of this message alone.
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nKeep-Alive: timeout=1\r\n\r\n";
    const std::string head = interim + head_of({"Keep-Alive: timeout=5, max=9\r\n", {}});
    each_parsed(head, [](ResponseParser& parser) {
        EXPECT_EQ(parser.keep_alive_limits(), (KeepAliveLimits{5, 9}));
        parser.reset();
        EXPECT_EQ(parser.keep_alive_limits(), KeepAliveLimits{});
    });
}

// When a server says that a request may come again is read from any head, however it is cut.

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t hour_ns = 3'600 * second_ns;

struct RetryCase {
    std::string fields;
    std::optional<std::int64_t> wait_ns;
};

// RFC 9110, 10.2.3 (seconds, or a date), and decimals, which some gateways send.
const std::vector<RetryCase> retry_cases = {
    {"Retry-After: 3\r\n", 3 * second_ns},
    {"retry-after:120\n", 120 * second_ns},
    {"RETRY-AFTER: \t 7 \t \r\n", 7 * second_ns},
    {"Retry-After: 0\r\n", 0},
    {"Retry-After: 1.5\r\n", 1'500'000'000},
    {"Retry-After: .25\r\n", 250'000'000},
    {"Retry-After: 0.0000000019\r\n", 1},
    {"Retry-After: 1e1\r\n", 10 * second_ns},
    // An hour at most: below, at and above it, and beyond every integer.
    {"Retry-After: 3599.999999999\r\n", hour_ns - 1},
    {"Retry-After: 3600\r\n", hour_ns},
    {"Retry-After: 3600.000000001\r\n", hour_ns},
    {"Retry-After: 18446744073709551616\r\n", hour_ns},
    {"Retry-After: 1e99999999999\r\n", hour_ns},
    // Not said.
    {"Retry-After: -1\r\n", {}},
    {"Retry-After: -0\r\n", {}},
    {"Retry-After:\r\n", {}},
    {"Retry-After: \r\n", {}},
    {"Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", {}},
    {"Retry-After: soon\r\n", {}},
    {"Retry-After: 3s\r\n", {}},
    {"Retry-After: 3, 4\r\n", {}},
    {"Retry-After: 0x10\r\n", {}},
    {"Retry-After: inf\r\n", {}},
    {"X-Retry-After: 3\r\n", {}},
    {"Retry-After-Ms: 300\r\n", {}},
    {"Retry-After : 3\r\n", {}},
    {"Server: Retry-After: 3\r\n", {}},
    {"Retry-Afte\r\nr: 3\r\n", {}},
    {"", {}},
    // Of several the last that says a number.
    {"Retry-After: 3\r\nRetry-After: 5\r\n", 5 * second_ns},
    {"Retry-After: 5\r\nX: y\r\nretry-after: 3\r\n", 3 * second_ns},
    {"Retry-After: 5\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", 5 * second_ns},
    {"Retry-After: later\r\nRetry-After: 2\r\n", 2 * second_ns},
};

std::string head_of(const std::string& fields) {
    return "HTTP/1.1 429 Too Many Requests\r\n" + fields + "Content-Length: 0\r\n\r\n";
}

std::optional<std::int64_t> scan_retry(const std::vector<std::string_view>& pieces) {
    RetryAfterScanner scanner;
    for (const std::string_view piece : pieces) {
        scanner.feed(piece);
    }
    return scanner.wait_ns();
}

TEST(RetryAfter, IsReadAtEverySplitOfOneFinalHead) {
    for (const RetryCase& wanted : retry_cases) {
        const std::string head = head_of(wanted.fields);
        each_cut(head, [&](const std::vector<std::string_view>& pieces) {
            EXPECT_EQ(scan_retry(pieces), wanted.wait_ns) << head << pieces[0].size();
        });
    }
    // A head that ends too early has said nothing before the end of the line.
    const std::string head = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 12\r\n";
    for (std::size_t bytes = 0; bytes <= head.size(); ++bytes) {
        const bool whole = bytes == head.size();
        EXPECT_EQ(scan_retry({std::string_view(head).substr(0, bytes)}),
                  whole ? std::optional(12 * second_ns) : std::nullopt)
            << bytes;
    }
    // The status line is not a field, and the next head begins anew.
    EXPECT_EQ(scan_retry({"Retry-After: 3\r\n\r\n"}), std::nullopt);
    RetryAfterScanner scanner;
    scanner.feed(head_of("Retry-After: 3\r\n"));
    EXPECT_EQ(scanner.wait_ns(), 3 * second_ns);
    scanner.reset();
    EXPECT_EQ(scanner.wait_ns(), std::nullopt);
    scanner.feed("HTTP/1.1 429 Retry-After: 3\r\n\r\n");
    EXPECT_EQ(scanner.wait_ns(), std::nullopt);
    // Through the parser: that of the final head alone, and of this message alone.
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\n";
    for (const std::string fields : {"Retry-After: 5\r\n", "X: y\r\n"}) {
        const std::string other_head = interim + head_of(fields);
        const bool is_said = fields.front() == 'R';
        each_parsed(other_head, [is_said](ResponseParser& parser) {
            EXPECT_EQ(parser.retry_after_ns(),
                      is_said ? std::optional(5 * second_ns) : std::nullopt);
            parser.reset();
            EXPECT_EQ(parser.retry_after_ns(), std::nullopt);
        });
    }
    // A value is kept up to a limit (limit - 1, limit, limit + 1), and no number is read in part.
    for (const int more : {-1, 0, 1, 2, 20}) {
        const std::size_t bytes = FieldScanner::value_bytes_max + static_cast<std::size_t>(more);
        const std::string zeros(bytes - 1, '0');
        EXPECT_EQ(scan_retry({head_of("Retry-After:" + zeros + "5\r\n")}),
                  more <= 0 ? std::optional(5 * second_ns) : std::nullopt)
            << more;
    }
}

// A block says what the standard says that it says (WHATWG HTML, 9.2.6).

std::string describe(std::string_view block) {
    std::string joined;
    const SseEvent event = read_sse_event(block, joined);
    return std::string(event.name) + (event.has_data ? "=" : "") + std::string(event.data);
}

// The examples of the standard, and its rules one by one.
TEST(SseEvents, FollowTheStandard) {
    expect_each(describe, gives("data: YHOO\ndata: +2\ndata: 10\n\n", "=YHOO\n+2\n10"),
                gives(": test stream\n\n", ""),
                gives("data: first event\nid: 1\n\n", "=first event"),
                gives("data:  third event\n\n", "= third event"));
    EXPECT_EQ(describe("data\n\n"), "");  // an empty event is not dispatched
    EXPECT_EQ(describe("data\ndata\n\n"), "\n");
    EXPECT_EQ(describe("data:test\n\n"), describe("data: test\n\n"));
    EXPECT_EQ(describe("event: add\ndata: 73857293\n\n"), "add=73857293");
    EXPECT_EQ(describe("event: a\nevent: b\ndata: x: y\n\n"), "b=x: y");
    // Line ends of every kind, blank lines before, a byte order mark, no end at all.
    expect_each(describe, gives("\ndata: a\r\ndata: b\r\n\r", "=a\nb"),
                gives("data: a\rdata: b\r\r", "=a\nb"),
                gives("\xEF\xBB\xBF"
                      "data: a\n\n",
                      "=a"),
                gives("\n\xEF\xBB\xBF"
                      "data: a\n\n",
                      "=a"),
                gives("data: a", "=a"), gives("data: a \t\n", "=a \t"),
                gives("DATA: a\ndata : b\n data: c\n", ""));
    EXPECT_EQ(describe({}), "");
}

// Blanks alone are no data, in any framing.
TEST(SseEvents, TakesBlanksForNoDataAndKnowsHowAStreamBegins) {
    std::string joined;
    for (const char* const block :
         {"data:\n\n", "data: \n\n", "data:  \r\n", "data: \t\ndata:\n"}) {
        EXPECT_FALSE(read_sse_event(block, joined).has_data) << block;
    }
    EXPECT_FALSE(read_cut_event(Framing::lines, " \r\n", joined).has_data);
    EXPECT_TRUE(read_cut_event(Framing::lines, " {}\n", joined).has_data);
    EXPECT_TRUE(read_cut_event(Framing::whole, "{\n\n}", joined).has_data);
    // One line of data is not copied.
    const std::string_view block = "data: a\n\n";
    std::string untouched = "untouched";
    EXPECT_EQ(read_sse_event(block, untouched).data.data(), block.data() + 6);
    EXPECT_EQ(untouched, "untouched");
    // The first bytes tell an event stream from a page or a JSON text, at every split.
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
TEST(EventScanner, CutsAsTheStandardEndsEvents) {
    expect_cuts(Framing::sse, "data: a\n\ndata: b\n\n", "<data: a\n\n><data: b\n\n>");
    expect_cuts(Framing::sse, "a\r\n\r\nb\r\n\r\n", "<a\r\n\r><\nb\r\n\r>");
    expect_cuts(Framing::sse, "a\r\rb\r\n\nc\n\r\nd", "<a\r\r><b\r\n\n><c\n\r>\nd");
    expect_cuts(Framing::sse, "a\nb\n\nc\n", "<a\nb\n\n>c\n");
    // Comments alone are told from events that have a field, wherever their lines stand.
    expect_cuts(Framing::sse, ": ping\n\ndata: a\n\n:\n\n", "(: ping\n\n)<data: a\n\n>(:\n\n)");
    expect_cuts(Framing::sse, ":a\r\n:b\r\n\r\n:c\ndata: a\n\n",
                "(:a\r\n:b\r\n\r)<\n:c\ndata: a\n\n>");
    expect_cuts(Framing::sse, "data: a\n:c\n\n:\n\n", "<data: a\n:c\n\n>(:\n\n)");
    expect_cuts(Framing::sse, "\n\n: ping\n\n: pi", "(\n\n: ping\n\n): pi");
    expect_cuts(Framing::lines, ":\n{}\n", "<:\n><{}\n>");
    // So is data without a value, and in NDJSON a line of blanks.
    expect_cuts(Framing::sse, "data:\n\ndata: \n\ndata:  \r\r",
                "(data:\n\n)(data: \n\n)(data:  \r\r)");
    expect_cuts(Framing::sse, "data:\n:c\ndata:\t\n\ndata: 1\n\n",
                "(data:\n:c\ndata:\t\n\n)<data: 1\n\n>");
    expect_cuts(Framing::sse, "data:\ndata:x\n\ndata\n\n", "<data:\ndata:x\n\n>(data\n\n)");
    expect_cuts(Framing::sse, "<html>\n\ndatum\n\n", "<<html>\n\n><datum\n\n>");
    expect_cuts(Framing::lines, " \t\n{}\n", "( \t\n)<{}\n>");
    // Blank lines open no event of their own and are not pending.
    expect_cuts(Framing::sse, "\n\r\n\ra\n\n\n\n", "<\n\r\n\ra\n\n>");
    expect_cuts(Framing::sse, "", "");
    expect_cuts(Framing::sse, "\r", "");
    // One event a line for NDJSON; blank lines are none.
    expect_cuts(Framing::lines, "{}\n{\"a\":1}\r\n\n{}\n{", "<{}\n><{\"a\":1}\r><\n\n{}\n>{");
    // A whole body is one event that never ends by itself.
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
