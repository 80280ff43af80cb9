// Flags about heads: which fields of an answer stand in the records.
#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

Words recorded(const Words& flags) {
    return options_with(flags).request.record_headers;
}

Words times(std::size_t count) {
    Words words;
    for (std::size_t i = 0; i < count; ++i) {
        words.insert(words.end(), {"--record-header", "X-" + std::to_string(i)});
    }
    return words;
}

TEST(HeaderOptions, NameWhatIsRecorded) {
    EXPECT_EQ(recorded({}), Words{});
    EXPECT_EQ(recorded({"--record-header", "X-Pod", "--record-header=x-worker"}),
              (Words{"X-Pod", "x-worker"}));
    EXPECT_EQ(recorded(times(7)).size(), 7U);
    EXPECT_EQ(recorded(times(8)).size(), 8U);
    EXPECT_TRUE(says(refusal_with(times(9)), "--record-header is given 9 times; give at most 8"));
    EXPECT_TRUE(says(refusal_with({"--record-header", "X-Pod", "--record-header", "x-pod"}),
                     "--record-header x-pod is given twice"));
    for (const char* wrong : {"", "X Pod", "X-Pod: a", "X\r\nY", "X-\xC3\xA4"}) {
        EXPECT_TRUE(says(refusal_with({"--record-header", wrong}), "is not a header name"))
            << wrong;
    }
}

// A trace of the user's own is not replaced silently.
TEST(HeaderOptions, NameTracesWhenAsked) {
    EXPECT_FALSE(options_with({}).request.traceparent);
    EXPECT_TRUE(options_with({"--traceparent"}).request.traceparent);
    EXPECT_TRUE(says(refusal_with({"--traceparent", "--header", "Traceparent: 00-1-2-00"}),
                     "cannot be combined"));
}

// Values with placeholders are kept apart from those that are the same for all rows.
TEST(HeaderOptions, TakeValuesFromTheRow) {
    const ReplayCommandLine line =
        parse_flags({"--header", "X-Team: a", "--header", "X-Session: s-{session}/{turn}",
                     "--header", R"(X-Json: {"a":{"b":1}})", "--header", "X-Text: {{row}}",
                     "--header", "X-Tenant={kept.tenant name}", "--keep", "tenant name"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const ReplayOptions& options = line.options;
    ASSERT_EQ(options.request.headers.size(), 3U);
    EXPECT_EQ(options.request.headers[1].value, R"({"a":{"b":1}})");
    EXPECT_EQ(options.request.headers[2].value, "{row}");
    ASSERT_EQ(options.request.row_headers.size(), 2U);
    EXPECT_EQ(options.request.row_headers[0].name, "X-Session");
    EXPECT_EQ(options.request.row_headers[0].pieces.size(), 4U);
    EXPECT_EQ(options.request.row_headers[1].pieces.at(0).text, "tenant name");
}

TEST(HeaderOptions, RefuseWhatNoRowCanFill) {
    EXPECT_TRUE(
        says(refusal_with({"--header", "X-A: {rwo}"}), "--header X-A: {rwo} is not one of {row},"));
    EXPECT_TRUE(says(refusal_with({"--header", "X-A: {session }"}), "{session } is not one of"));
    EXPECT_TRUE(says(refusal_with({"--header", "X-A: a{session"}), "{session is not one of"));
    EXPECT_TRUE(says(refusal_with({"--header", "X-A: {kept}"}), "{kept} is not one of"));
    EXPECT_TRUE(says(refusal_with({"--header", "X-A: {kept.team}"}), "add --keep team"));
    EXPECT_TRUE(
        says(refusal_with({"--header", "X-A: {kept.team}", "--keep", "teams"}), "--keep team"));
    EXPECT_TRUE(says(refusal_with({"--header", "Host: {session}"}), "the same for all rows"));
    EXPECT_TRUE(
        says(refusal_with({"--header", "authorization: Bearer {session}"}), "a key is the same"));
    EXPECT_TRUE(says(refusal_with({"--api", "anthropic", "--header", "X-Api-Key: {row}"}),
                     "a key is the same"));
    EXPECT_TRUE(
        says(refusal_with({"--traceparent", "--header", "traceparent: {kept.t}", "--keep", "t"}),
             "cannot be combined"));
}

// A family of headers is set at once, behind those of the user.
TEST(HeaderOptions, NameSessionsToRouters) {
    EXPECT_TRUE(options_with({}).request.row_headers.empty());
    const ReplayCommandLine line =
        parse_flags({"--session-headers", "agentx", "--header", "x-session-id: fixed", "--header",
                     "X-Own: {pass}"});
    ASSERT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    const RequestFlags& request = line.options.request;
    ASSERT_EQ(request.row_headers.size(), 6U);
    EXPECT_EQ(request.row_headers[0].name, "X-Own");
    EXPECT_EQ(request.row_headers[1].name, "X-Correlation-ID");
    EXPECT_EQ(request.row_headers[5].name, "X-Dynamo-Parent-Session-ID");
    EXPECT_EQ(to_text(request.row_headers[5].pieces.at(0)), "parent");
    EXPECT_TRUE(says(refusal_with({"--session-headers", "x"}), "is not one of none, agentx"));
}

// Nobody sends a row where there are no users; a pass there always is.
TEST(HeaderOptions, KnowUsersOnlyWhereTheyPlay) {
    EXPECT_TRUE(says(refusal_with({"--header", "X-U: {user}"}), "add --users N, or remove {user}"));
    EXPECT_EQ(options_with({"--header", "X-U: {user}", "--users", "2"}).request.row_headers.size(),
              1U);
    EXPECT_EQ(options_with({"--header", "X-P: {pass}"}).request.row_headers.size(), 1U);
}

// Where to connect is no URL; the target keeps its name.
TEST(HeaderOptions, ConnectElsewhere) {
    const ReplayOptions options = options_with({"--connect-to", "[::1]:9"});
    ASSERT_TRUE(options.server.connect_to);
    EXPECT_EQ(place_text(*options.server.connect_to), "[::1]:9");
    EXPECT_EQ(host_header(options.server.targets.at(0).url), "h:8000");
    EXPECT_FALSE(options_with({}).server.connect_to);
    EXPECT_TRUE(says(refusal_with({"--connect-to", "http://p:1"}), "use HOST:PORT or unix:PATH"));
    EXPECT_TRUE(says(refusal_with({"--connect-to", "p"}), "use HOST:PORT or unix:PATH"));
}

// AIBrix says which pod answered: no flag is needed for that, and none is in its way.
TEST(HeaderOptions, NameWhatTheGatewaySays) {
    EXPECT_EQ(recorded({"--api", "aibrix"}), (Words{"target-pod", "target-pod-ip", "request-id"}));
    EXPECT_EQ(recorded({"--api", "aibrix", "--record-header", "Target-Pod"}),
              (Words{"Target-Pod", "target-pod-ip", "request-id"}));
    Words words = times(8);
    words.insert(words.end(), {"--api", "aibrix"});
    EXPECT_EQ(recorded(words).size(), 11U);
}

}  // namespace
}  // namespace driftless
