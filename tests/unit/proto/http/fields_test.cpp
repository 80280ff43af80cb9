// Header fields are found by name as HTTP compares names, and only in lines of their own.
#include "proto/http/fields.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace driftless
