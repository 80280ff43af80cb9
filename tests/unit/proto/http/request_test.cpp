// Requests: where they go, and their heads as bytes.

#include "proto/http/request.hpp"

#include <regex>

#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

struct Case {
    const char* text;
    const char* host;
    int port;
    const char* path;
};

/// Names the case in a test's report.
void PrintTo(const Case& form, std::ostream* out) {
    *out << form.text;
}

class UrlForms : public testing::TestWithParam<Case> {};

TEST_P(UrlForms, AreRead) {
    const Result<Url> url = parse_url(GetParam().text);
    ASSERT_TRUE(url) << GetParam().text;
    EXPECT_EQ(std::tuple(url.value().host, url.value().port, url.value().path),
              std::tuple(GetParam().host, GetParam().port, GetParam().path));
    EXPECT_FALSE(url.value().unix_socket);
}

INSTANTIATE_TEST_SUITE_P(All, UrlForms,
                         testing::Values(Case{"http://127.0.0.1:8000", "127.0.0.1", 8000, ""},
                                         Case{"HTTP://Host.Example", "Host.Example", 80, ""},
                                         Case{"localhost:8000", "localhost", 8000, ""},
                                         Case{"localhost", "localhost", 80, ""},
                                         Case{"http://h:8000/", "h", 8000, ""},
                                         Case{"http://h:8000/v1/", "h", 8000, "/v1"},
                                         Case{"h/proxy/v1//", "h", 80, "/proxy/v1"},
                                         Case{"http://[::1]:8000/v1", "::1", 8000, "/v1"},
                                         Case{"[fe80::1]", "fe80::1", 80, ""},
                                         Case{"http://h:65535", "h", 65535, ""}));

TEST(Url, TakesUnixSocketsAndHttps) {
    const Url url = parse_url("unix:/run/server.sock").value();
    EXPECT_TRUE(url.unix_socket);
    EXPECT_EQ(url.host, "/run/server.sock");
    EXPECT_EQ(to_text(url), "unix:/run/server.sock");
    EXPECT_EQ(host_header(url), "localhost");
    EXPECT_FALSE(parse_url("unix:"));
    EXPECT_EQ(parse_url("unix:@name/with.dots").value().host, "@name/with.dots");
    EXPECT_EQ(to_text(parse_url("UNIX:@name").value()), "unix:@name");
    for (const char* text : {"", "http://", "http://:80", "ftp://h", "http://h:0", "http://h:65536",
                             "http://h:", "http://h:80x", "http://h:-1", "http://a:1:2",
                             "http://[::1", "http://[::1]x", "http://[h]:80", "http://h/?a=1",
                             "http://h/#a", "http://u:p@h", "http://h h", "h\r\n"}) {
        EXPECT_FALSE(parse_url(text)) << text;
    }
    // The scheme decides on TLS and on the port that goes without saying (RFC 9110, 4.2).
    const Url plain = parse_url("HTTPS://host/v1").value();
    EXPECT_TRUE(plain.tls);
    EXPECT_EQ(plain.port, 443);
    EXPECT_EQ(host_header(plain), "host");
    EXPECT_EQ(to_text(plain), "https://host/v1");
    EXPECT_EQ(host_header(parse_url("https://host:80").value()), "host:80");
    EXPECT_EQ(to_text(parse_url("https://[::1]:8443").value()), "https://[::1]:8443");
    EXPECT_FALSE(parse_url("http://host:443").value().tls);
    EXPECT_EQ(host_header(parse_url("http://host:443").value()), "host:443");
    // The Host header leaves the default port out (RFC 9110, 7.2) and keeps brackets.
    EXPECT_EQ(host_header(parse_url("http://h").value()), "h");
    EXPECT_EQ(host_header(parse_url("http://h:80").value()), "h");
    EXPECT_EQ(host_header(parse_url("http://h:8000").value()), "h:8000");
    EXPECT_EQ(host_header(parse_url("http://[::1]:8000").value()), "[::1]:8000");
    EXPECT_EQ(to_text(parse_url("[::1]:8000/v1/").value()), "http://[::1]:8000/v1");
}

// What both sides share is written once, by whole segments; slashes are never doubled.
TEST(Url, JoinsPathsAndReadsPlaces) {
    constexpr const char* chat = "/v1/chat/completions";
    EXPECT_EQ(std::tuple(join_path("", chat), join_path("/", chat), join_path("/v1", chat)),
              std::tuple(chat, chat, chat));
    EXPECT_EQ(std::tuple(join_path("/v1/", chat), join_path(chat, chat), join_path("/proxy", chat)),
              std::tuple(chat, chat, "/proxy/v1/chat/completions"));
    EXPECT_EQ(join_path("/proxy/v1/chat", chat), "/proxy/v1/chat/completions");
    EXPECT_EQ(join_path("/proxyv1", chat), "/proxyv1/v1/chat/completions");
    EXPECT_EQ(join_path("/v", chat), "/v/v1/chat/completions");
    EXPECT_EQ(join_path("/v1/v1", chat), "/v1/v1/chat/completions");
    // Other endpoints of the same server stand where the API stands.
    constexpr const char* api = "/v1/api/completions";
    EXPECT_EQ(std::tuple(root_path("", api), root_path("/v1", api)), std::tuple("", ""));
    EXPECT_EQ(root_path("/proxy/v1/api/completions", api), "/proxy");
    EXPECT_EQ(root_path("/proxy", api), "/proxy");
    // A place has a port, and nothing that a URL would say beside it.
    const auto place = [](const char* text) {
        const Result<Url> url = parse_place(text);
        return url ? place_text(url.value()) : "refused";
    };
    expect_each(place, gives("proxy:8443", "proxy:8443"), gives("[::1]:80", "[::1]:80"),
                gives("unix:/run/s", "unix:/run/s"), gives("unix:@proxy", "unix:@proxy"));
    for (const char* text : {"", "proxy", "[::1]", "::1", "::1:80", "http://proxy:80", "proxy:80/",
                             "proxy:80/v1", ":80", "proxy:", "proxy:0", "proxy:65536",
                             "unix:", "u:p@proxy:80", "proxy:80?a", "pro xy:80"}) {
        EXPECT_EQ(place(text), "refused") << text;
    }
    EXPECT_TRUE(looks_like_url("http://h/v1") && looks_like_url("unix:/a"));
    EXPECT_FALSE(looks_like_url("/v1/completions") || looks_like_url("v1/completions"));
    EXPECT_FALSE(looks_like_url(""));
}

// "text|<placeholder>|..", or "? name" where one is unknown.
std::string taken_apart(std::string_view value) {
    std::string unknown;
    const FieldTemplate field = parse_field_template({"X", std::string(value)}, unknown);
    if (!unknown.empty()) {
        return "? " + unknown;
    }
    std::string text;
    for (const TemplatePiece& piece : field.pieces) {
        text += text.empty() ? "" : "|";
        text += piece.placeholder == Placeholder::none ? piece.text : "<" + to_text(piece) + ">";
    }
    EXPECT_EQ(field.is_literal(), text.find('<') == text.npos);
    return text;
}

TEST(FieldTemplate, FindsItsPlaceholdersAndNamesOthers) {
    expect_each(taken_apart, gives("{session}", "<session>"),
                gives("a{row}b{turn}", "a|<row>|b|<turn>"), gives("{row}{row}", "<row>|<row>"),
                gives("{tree}{parent}-{pass}@{user}", "<tree>|<parent>|-|<pass>|@|<user>"),
                gives("{kept.user}", "<kept.user>"),
                gives("{kept.user name.x-1}!", "<kept.user name.x-1>|!"));
    // JSON, format strings and lone braces pass; doubled braces around a name are single ones.
    for (const char* text : {"", "plain", "{", "}", "{}", "{ ro w }", "a{b", "a}b", R"({"a":1})",
                             R"({"a":{"b":[{}]}})", "{{", "}}", "{{}}", "%{a b}", "[a-z]{3}"}) {
        EXPECT_EQ(taken_apart(text), text);
    }
    expect_each(taken_apart, gives("{{row}}", "{row}"),
                gives("a{{kept.x y}}b{row}", "a{kept.x y}b|<row>"), gives("{{rwo}}", "{rwo}"),
                gives("{{row}", "{|<row>"), gives("{row}}", "<row>|}"), gives("{rwo}", "? rwo"),
                gives("{row}{Session}{x}", "? Session"), gives("{kept}", "? kept"),
                gives("{kept.}", "? kept."), gives("{{rwo}", "? rwo"), gives("{ row }", "?  row "),
                gives("{session }", "? session "), gives("a{session", "? session"),
                gives("{session{row}", "? session"), gives("{kept.a", "? kept.a"));
}

// Request heads hold exactly the bytes that servers expect, and nothing that spoils a stamp.

std::string head_of(const RequestHeadSpec& spec, std::string_view id, std::uint64_t body_bytes) {
    const RequestHead head(spec);
    std::string out(head.bytes_max(id.size()), '?');
    const std::size_t size = head.write(out.data(), id, body_bytes);
    EXPECT_LE(size, out.size());
    return out.substr(0, size);
}

// A post has a length and a type, its id stands among its fields.
TEST(RequestHead, WritesPostsGetsAndFieldsWithinABound) {
    const RequestHeadSpec spec{
        "POST", "/v1/chat/completions", "127.0.0.1:8000", {{"Authorization", "Bearer EMPTY"}}};
    EXPECT_EQ(head_of(spec, "r-000017", 137),
              "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
              "Content-Type: application/json\r\nAuthorization: Bearer EMPTY\r\n"
              "X-Request-Id: r-000017\r\nContent-Length: 137\r\n\r\n");
    EXPECT_FALSE(says(head_of(spec, "", 0), "X-Request-Id"));
    EXPECT_TRUE(says(head_of(spec, "", 0), "Content-Length: 0\r\n"));
    // A get has neither length nor type.
    EXPECT_EQ(head_of({"GET", "/v1/models", "[::1]", {}}, "", 0),
              "GET /v1/models HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    // What the user sets himself stands once.
    const RequestHeadSpec own{
        "POST", "/", "a", {{"host", "b"}, {"content-type", "text/json"}, {"x-request-id", "mine"}}};
    EXPECT_EQ(head_of(own, "ours", 1),
              "POST / HTTP/1.1\r\nhost: b\r\ncontent-type: text/json\r\nx-request-id: mine\r\n"
              "Content-Length: 1\r\n\r\n");
    // Fields of one request stand among the others.
    const RequestHead head({"POST", "/", "a", {{"X-All", "1"}}});
    const std::string_view fields = "X-One: 2\r\nX-Two: 3\r\n";
    std::string out(head.bytes_max(2, fields.size()), '?');
    out.resize(head.write(out.data(), "id", 7, fields));
    EXPECT_EQ(out,
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-All: 1\r\n"
              "X-One: 2\r\nX-Two: 3\r\nX-Request-Id: id\r\nContent-Length: 7\r\n\r\n");
    // The bound holds for the longest length there is.
    const RequestHead other_head({"POST", "/", "a", {}});
    std::string other_out(other_head.bytes_max(3), '?');
    EXPECT_EQ(other_head.write(other_out.data(), "abc", std::numeric_limits<std::uint64_t>::max()),
              other_out.size());
}

// Both spellings of other tools; whichever of ':' and '=' comes first divides.
TEST(ParseHeader, TakesColonAndEqualsSign) {
    const auto parsed = [](std::string_view text) {
        const Result<Header> header = parse_header(text);
        return header ? header.value().name + "|" + header.value().value : "refused";
    };
    expect_each(parsed, gives("X-A: b", "X-A|b"), gives("X-A=b", "X-A|b"),
                gives("X-A:b=c", "X-A|b=c"), gives("X-A=b:c", "X-A|b:c"),
                gives(" X-A : \tb c \t", "X-A|b c"), gives("X-A:", "X-A|"),
                gives("X-A: \xC3\xA9", "X-A|\xC3\xA9"));
    // Nothing gets in that would make another head of ours, or that belongs to the framing.
    for (const std::string_view text :
         {std::string_view("X-A"), std::string_view(": b"), std::string_view(""),
          std::string_view("X A: b"), std::string_view("X-A: b\r\nX-B: c"),
          std::string_view("X-A: b\0c", 8), std::string_view("X\n: b"),
          std::string_view("X-A: \x7F"), std::string_view("Content-Length: 5"),
          std::string_view("transfer-encoding: chunked"), std::string_view("Accept-Encoding: gzip"),
          std::string_view("Expect: 100-continue")}) {
        const Result<Header> header = parse_header(text);
        ASSERT_FALSE(header) << text;
        EXPECT_EQ(header.error().code, ErrorCode::invalid);
    }
}

// RFC 9562, 5.8: version 8 and the variant stand where validators look; no two requests of a run
// share an id, however many passes there are.
TEST(RequestId, IsAUuidThatNamesTheRequest) {
    using Kind = RequestName::Kind;
    const auto id = [](const RequestName& name) { return request_id_of("729377b5", name); };
    EXPECT_EQ(id({Kind::row, 34, 20'017, 1}), "729377b5-0020-8017-8001-000000000034");
    EXPECT_EQ(id({Kind::row_of_side_b, 0, 0, 0}), "729377b5-0000-8000-9000-000000000000");
    EXPECT_EQ(id({Kind::probe, 4'294'967'295, 0, 31}), "729377b5-0000-8000-a031-004294967295");
    EXPECT_EQ(id({Kind::row, 7, 9'999'999, 0}), "729377b5-9999-8999-8000-000000000007");
    EXPECT_EQ(id({Kind::row, 7, 2'147'483'647, 0}), "729377b5-7483-8647-8000-214000000007");
}

std::string field_of(std::string_view run_id, std::uint64_t row) {
    char text[traceparent_bytes];
    EXPECT_EQ(write_traceparent(text, trace_context_of(run_id, row)), text + traceparent_bytes);
    return {text, traceparent_bytes};
}

// W3C Trace Context, 3.2: version, trace id, parent id, flags; lower-case hex, ids not zero.
TEST(TraceContext, NamesEachRowOfEachRunAsSpecified) {
    const std::regex shape("traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-01\r\n");
    for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        const std::string text = field_of("0badcafe", row);
        std::smatch parts;
        ASSERT_TRUE(std::regex_match(text, parts, shape)) << text;
        EXPECT_EQ(parts[1], trace_id_text(trace_context_of("0badcafe", row)));
        EXPECT_NE(parts[1], std::string(32, '0'));
        EXPECT_NE(parts[2], std::string(16, '0'));
    }
    EXPECT_EQ(trace_id_text({0x0123456789ABCDEF, 1, 1}), "0123456789abcdef0000000000000001");
    // The same row of the same run has one name for ever; other rows and other runs have others.
    EXPECT_EQ(field_of("0badcafe", 7), field_of("0badcafe", 7));
    std::set<std::string> traces;
    std::set<std::uint64_t> spans;
    for (const char* run_id : {"0badcafe", "0badcaff", ""}) {
        for (std::uint64_t row = 0; row < 10'000; ++row) {
            const TraceContext context = trace_context_of(run_id, row);
            traces.insert(trace_id_text(context));
            spans.insert(context.span);
        }
    }
    EXPECT_EQ(std::tuple(traces.size(), spans.size()), std::tuple(30'000u, 30'000u));
}

}  // namespace
}  // namespace driftless
