// URLs as people type them lead to the right host, port and path, or are refused with a reason.
#include <gtest/gtest.h>

#include <ostream>

#include "proto/http/request.hpp"

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
    EXPECT_EQ(url.value().host, GetParam().host);
    EXPECT_EQ(url.value().port, GetParam().port);
    EXPECT_EQ(url.value().path, GetParam().path);
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

TEST(Url, TakesUnixSocketsWhole) {
    const Result<Url> url = parse_url("unix:/run/server.sock");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url.value().unix_socket);
    EXPECT_EQ(url.value().host, "/run/server.sock");
    EXPECT_EQ(to_text(url.value()), "unix:/run/server.sock");
    EXPECT_EQ(host_header(url.value()), "localhost");
    EXPECT_FALSE(parse_url("unix:"));
    EXPECT_EQ(parse_url("unix:@name/with.dots").value().host, "@name/with.dots");
    EXPECT_EQ(to_text(parse_url("UNIX:@name").value()), "unix:@name");
}

TEST(Url, RefusesWhatItCannotKeep) {
    for (const char* text : {"", "http://", "http://:80", "ftp://h", "http://h:0", "http://h:65536",
                             "http://h:", "http://h:80x", "http://h:-1", "http://a:1:2",
                             "http://[::1", "http://[::1]x", "http://[h]:80", "http://h/?a=1",
                             "http://h/#a", "http://u:p@h", "http://h h", "h\r\n"}) {
        EXPECT_FALSE(parse_url(text)) << text;
    }
}

// The scheme decides on TLS and on the port that goes without saying (RFC 9110, 4.2).
TEST(Url, ReadsHttps) {
    const Url plain = parse_url("HTTPS://host/v1").value();
    EXPECT_TRUE(plain.tls);
    EXPECT_EQ(plain.port, 443);
    EXPECT_EQ(host_header(plain), "host");
    EXPECT_EQ(to_text(plain), "https://host/v1");
    EXPECT_EQ(host_header(parse_url("https://host:80").value()), "host:80");
    EXPECT_EQ(to_text(parse_url("https://[::1]:8443").value()), "https://[::1]:8443");
    EXPECT_FALSE(parse_url("http://host:443").value().tls);
    EXPECT_EQ(host_header(parse_url("http://host:443").value()), "host:443");
}

// The Host header leaves the default port out (RFC 9110, 7.2) and keeps brackets.
TEST(Url, WritesTheHostHeader) {
    EXPECT_EQ(host_header(parse_url("http://h").value()), "h");
    EXPECT_EQ(host_header(parse_url("http://h:80").value()), "h");
    EXPECT_EQ(host_header(parse_url("http://h:8000").value()), "h:8000");
    EXPECT_EQ(host_header(parse_url("http://[::1]:8000").value()), "[::1]:8000");
    EXPECT_EQ(to_text(parse_url("[::1]:8000/v1/").value()), "http://[::1]:8000/v1");
}

// What both sides share is written once, by whole segments; slashes are never doubled.
TEST(Url, JoinsPaths) {
    constexpr const char* chat = "/v1/chat/completions";
    EXPECT_EQ(join_path("", chat), chat);
    EXPECT_EQ(join_path("/", chat), chat);
    EXPECT_EQ(join_path("/v1", chat), chat);
    EXPECT_EQ(join_path("/v1/", chat), chat);
    EXPECT_EQ(join_path(chat, chat), chat);
    EXPECT_EQ(join_path("/proxy", chat), "/proxy/v1/chat/completions");
    EXPECT_EQ(join_path("/proxy/v1/chat", chat), "/proxy/v1/chat/completions");
    EXPECT_EQ(join_path("/proxyv1", chat), "/proxyv1/v1/chat/completions");
    EXPECT_EQ(join_path("/v", chat), "/v/v1/chat/completions");
    EXPECT_EQ(join_path("/v1/v1", chat), "/v1/v1/chat/completions");
}

// Other endpoints of the same server stand where the API stands.
TEST(Url, FindsTheRootBesideTheApi) {
    constexpr const char* chat = "/v1/chat/completions";
    EXPECT_EQ(root_path("", chat), "");
    EXPECT_EQ(root_path("/v1", chat), "");
    EXPECT_EQ(root_path("/proxy/v1/chat/completions", chat), "/proxy");
    EXPECT_EQ(root_path("/proxy", chat), "/proxy");
}

// A place has a port, and nothing that a URL would say beside it.
TEST(Url, ReadsPlacesToConnectTo) {
    const auto place = [](const char* text) {
        const Result<Url> url = parse_place(text);
        return url ? place_text(url.value()) : "refused";
    };
    EXPECT_EQ(place("proxy:8443"), "proxy:8443");
    EXPECT_EQ(place("[::1]:80"), "[::1]:80");
    EXPECT_EQ(place("unix:/run/s"), "unix:/run/s");
    EXPECT_EQ(place("unix:@proxy"), "unix:@proxy");
    for (const char* text : {"", "proxy", "[::1]", "::1", "::1:80", "http://proxy:80", "proxy:80/",
                             "proxy:80/v1", ":80", "proxy:", "proxy:0", "proxy:65536",
                             "unix:", "u:p@proxy:80", "proxy:80?a", "pro xy:80"}) {
        EXPECT_EQ(place(text), "refused") << text;
    }
}

TEST(Url, TellsUrlsFromPaths) {
    EXPECT_TRUE(looks_like_url("http://h/v1"));
    EXPECT_TRUE(looks_like_url("unix:/a"));
    EXPECT_FALSE(looks_like_url("/v1/completions"));
    EXPECT_FALSE(looks_like_url("v1/completions"));
    EXPECT_FALSE(looks_like_url(""));
}

}  // namespace
}  // namespace driftless
