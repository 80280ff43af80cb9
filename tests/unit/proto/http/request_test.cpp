// Placeholders are found, text stays text, and what is neither is named.

#include "proto/http/request.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <set>
#include <string>

#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

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

TEST(FieldTemplate, FindsItsPlaceholders) {
    EXPECT_EQ(taken_apart("{session}"), "<session>");
    EXPECT_EQ(taken_apart("a{row}b{turn}"), "a|<row>|b|<turn>");
    EXPECT_EQ(taken_apart("{row}{row}"), "<row>|<row>");
    EXPECT_EQ(taken_apart("{tree}{parent}-{pass}@{user}"), "<tree>|<parent>|-|<pass>|@|<user>");
    EXPECT_EQ(taken_apart("{kept.user}"), "<kept.user>");
    EXPECT_EQ(taken_apart("{kept.user name.x-1}!"), "<kept.user name.x-1>|!");
}

// JSON, format strings and lone braces pass; doubled braces around a name are single ones.
TEST(FieldTemplate, LeavesTextAlone) {
    for (const char* text : {"", "plain", "{", "}", "{}", "{ ro w }", "a{b", "a}b", R"({"a":1})",
                             R"({"a":{"b":[{}]}})", "{{", "}}", "{{}}", "%{a b}", "[a-z]{3}"}) {
        EXPECT_EQ(taken_apart(text), text);
    }
    EXPECT_EQ(taken_apart("{{row}}"), "{row}");
    EXPECT_EQ(taken_apart("a{{kept.x y}}b{row}"), "a{kept.x y}b|<row>");
    EXPECT_EQ(taken_apart("{{rwo}}"), "{rwo}");
    EXPECT_EQ(taken_apart("{{row}"), "{|<row>");
    EXPECT_EQ(taken_apart("{row}}"), "<row>|}");
}

TEST(FieldTemplate, NamesWhatItDoesNotKnow) {
    EXPECT_EQ(taken_apart("{rwo}"), "? rwo");
    EXPECT_EQ(taken_apart("{row}{Session}{x}"), "? Session");
    EXPECT_EQ(taken_apart("{kept}"), "? kept");
    EXPECT_EQ(taken_apart("{kept.}"), "? kept.");
    EXPECT_EQ(taken_apart("{{rwo}"), "? rwo");
    EXPECT_EQ(taken_apart("{ row }"), "?  row ");
    EXPECT_EQ(taken_apart("{session }"), "? session ");
    EXPECT_EQ(taken_apart("a{session"), "? session");
    EXPECT_EQ(taken_apart("{session{row}"), "? session");
    EXPECT_EQ(taken_apart("{kept.a"), "? kept.a");
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
TEST(RequestHead, WritesAPost) {
    const RequestHeadSpec spec{
        "POST", "/v1/chat/completions", "127.0.0.1:8000", {{"Authorization", "Bearer EMPTY"}}};
    EXPECT_EQ(head_of(spec, "r-000017", 137),
              "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
              "Content-Type: application/json\r\nAuthorization: Bearer EMPTY\r\n"
              "X-Request-Id: r-000017\r\nContent-Length: 137\r\n\r\n");
    EXPECT_FALSE(says(head_of(spec, "", 0), "X-Request-Id"));
    EXPECT_TRUE(says(head_of(spec, "", 0), "Content-Length: 0\r\n"));
}

// A get has neither length nor type.
TEST(RequestHead, WritesAGet) {
    EXPECT_EQ(head_of({"GET", "/v1/models", "[::1]", {}}, "", 0),
              "GET /v1/models HTTP/1.1\r\nHost: [::1]\r\n\r\n");
}

// What the user sets himself stands once.
TEST(RequestHead, LetsTheUserReplaceFields) {
    const RequestHeadSpec spec{
        "POST", "/", "a", {{"host", "b"}, {"content-type", "text/json"}, {"x-request-id", "mine"}}};
    EXPECT_EQ(head_of(spec, "ours", 1),
              "POST / HTTP/1.1\r\nhost: b\r\ncontent-type: text/json\r\nx-request-id: mine\r\n"
              "Content-Length: 1\r\n\r\n");
}

// Fields of one request stand among the others.
TEST(RequestHead, TakesFieldsOfOneRequest) {
    const RequestHead head({"POST", "/", "a", {{"X-All", "1"}}});
    const std::string_view fields = "X-One: 2\r\nX-Two: 3\r\n";
    std::string out(head.bytes_max(2, fields.size()), '?');
    out.resize(head.write(out.data(), "id", 7, fields));
    EXPECT_EQ(out,
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-All: 1\r\n"
              "X-One: 2\r\nX-Two: 3\r\nX-Request-Id: id\r\nContent-Length: 7\r\n\r\n");
}

// The bound holds for the longest length there is.
TEST(RequestHead, BoundsItsSize) {
    const RequestHead head({"POST", "/", "a", {}});
    std::string out(head.bytes_max(3), '?');
    EXPECT_EQ(head.write(out.data(), "abc", std::numeric_limits<std::uint64_t>::max()), out.size());
}

// Both spellings of other tools; whichever of ':' and '=' comes first divides.
TEST(ParseHeader, TakesColonAndEqualsSign) {
    const auto parsed = [](std::string_view text) {
        const Result<Header> header = parse_header(text);
        return header ? header.value().name + "|" + header.value().value : "refused";
    };
    EXPECT_EQ(parsed("X-A: b"), "X-A|b");
    EXPECT_EQ(parsed("X-A=b"), "X-A|b");
    EXPECT_EQ(parsed("X-A:b=c"), "X-A|b=c");
    EXPECT_EQ(parsed("X-A=b:c"), "X-A|b:c");
    EXPECT_EQ(parsed(" X-A : \tb c \t"), "X-A|b c");
    EXPECT_EQ(parsed("X-A:"), "X-A|");
    EXPECT_EQ(parsed("X-A: \xC3\xA9"), "X-A|\xC3\xA9");
}

// Nothing gets in that would make another head of ours, or that belongs to the framing.
TEST(ParseHeader, RefusesWhatBreaksAHead) {
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

// A traceparent is what the specification says, and no two rows share one.

std::string field_of(std::string_view run_id, std::uint64_t row) {
    char text[traceparent_bytes];
    const char* end = write_traceparent(text, trace_context_of(run_id, row));
    EXPECT_EQ(end, text + traceparent_bytes);
    return {text, traceparent_bytes};
}

// W3C Trace Context, 3.2: version, trace id, parent id, flags; lower-case hex, ids not zero.
TEST(TraceContext, IsWrittenAsSpecified) {
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
}

// The same row of the same run has one name for ever; other rows and other runs have others.
TEST(TraceContext, NamesEachRowOfEachRun) {
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
    EXPECT_EQ(traces.size(), 30'000u);
    EXPECT_EQ(spans.size(), 30'000u);
}

}  // namespace

}  // namespace driftless
