// UTF-8 is judged and cut as RFC 3629 defines it.
#include "proto/json/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

// Every code point that exists is written and read back with its length; RFC 3629 section 3 gives
// the borders between lengths.
TEST(Utf8, WritesAndMeasuresEveryCodePoint) {
    for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) {
            continue;
        }
        char out[4];
        const auto length = static_cast<std::size_t>(write_utf8(out, point) - out);
        const std::size_t expected = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        ASSERT_EQ(length, expected);
        ASSERT_EQ(utf8_length({out, length}), length) << point;
        ASSERT_EQ(utf8_length({out, length - 1}), 0u) << point;
    }
}

// Bytes that no code point has.
TEST(Utf8, RefusesTheRest) {
    for (const char* bytes :
         {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3(", "\xE2\x82("}) {
        EXPECT_EQ(utf8_length(bytes), 0u);
    }
    EXPECT_EQ(utf8_valid_prefix("ab\xC3\xA9\xFF"), 4u);
    EXPECT_EQ(utf8_valid_prefix("ab"), 2u);
}

// Cut at most at the limit, never inside a code point; bytes that are no UTF-8 are cut anywhere.
TEST(Utf8, CutsAtCodePoints) {
    const std::string euro = "a\xE2\x82\xAC!";
    EXPECT_EQ(cut_at_code_point(euro, 0), "");
    EXPECT_EQ(cut_at_code_point(euro, 1), "a");
    EXPECT_EQ(cut_at_code_point(euro, 2), "a");
    EXPECT_EQ(cut_at_code_point(euro, 3), "a");
    EXPECT_EQ(cut_at_code_point(euro, 4), "a\xE2\x82\xAC");
    EXPECT_EQ(cut_at_code_point(euro, 5), euro);
    EXPECT_EQ(cut_at_code_point("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
}

// Bytes that are no UTF-8 become one U+FFFD each; text that is valid is handed back uncopied.
TEST(Utf8, FixesBytesOneByOne) {
    std::string storage;
    const std::string_view valid = "a\xE2\x82\xAC";
    EXPECT_EQ(to_valid_utf8(valid, storage).data(), valid.data());
    EXPECT_EQ(to_valid_utf8("a\xFF\xE2\x82z", storage), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace driftless
