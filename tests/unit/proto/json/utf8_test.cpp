// No byte of a server's reaches the terminal that does more there than show a letter.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "proto/core/text.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

TEST(Printable, EscapesWhatControlsATerminal) {
    EXPECT_EQ(printable("\x1B]0;owned\x07\x1B[2Jbad\nkey"),
              R"(\u001b]0;owned\u0007\u001b[2Jbad\u000akey)");
    EXPECT_EQ(printable(std::string_view("\0\x1F \x7E\x7F", 5)), R"(\u0000\u001f ~\u007f)");
    EXPECT_EQ(printable("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u0080\\u009b\\u009f\xC2\xA0");
    EXPECT_EQ(printable("a\x9B\x31m\xC2"), "a\xEF\xBF\xBD\x31m\xEF\xBF\xBD");
}

// The neighbours of each range are shown as they are.
TEST(Printable, EscapesWhatTurnsHidesOrBreaksText) {
    for (const std::uint32_t code :
         {0x00ADu, 0x061Cu, 0x180Eu, 0x200Bu, 0x200Cu, 0x200Du, 0x200Eu,  0x200Fu,  0x2028u,
          0x2029u, 0x202Au, 0x202Bu, 0x202Cu, 0x202Du, 0x202Eu, 0x2060u,  0x2066u,  0x2067u,
          0x2068u, 0x2069u, 0x206Fu, 0xFEFFu, 0xFFF9u, 0xFFFBu, 0xE0001u, 0xE0000u, 0xE007Fu}) {
        char bytes[4];
        const std::string text(bytes, write_utf8(bytes, code));
        char expected[16];
        std::snprintf(expected, sizeof expected, code > 0xFFFF ? "a\\U%08xb" : "a\\u%04xb", code);
        EXPECT_EQ(printable("a" + text + "b"), expected);
        EXPECT_EQ(printable_lines("a" + text + "b"), expected);
    }
    for (const std::uint32_t code : {0x7Eu,   0xA0u,   0xACu,   0xAEu,   0x61Bu,   0x61Du,  0x180Du,
                                     0x180Fu, 0x200Au, 0x2010u, 0x2027u, 0x202Fu,  0x205Fu, 0x2070u,
                                     0xFEFEu, 0xFF00u, 0xFFF8u, 0xFFFCu, 0xDFFFFu, 0xE0080u}) {
        char bytes[4];
        const std::string text(bytes, write_utf8(bytes, code));
        EXPECT_EQ(printable(text), text) << code;
    }
}

// In JSON files what is unprintable is escaped as JSON has it, in keys and values of any source;
// what is read back is the same text.
TEST(Printable, EscapesInsideJson) {
    std::string json =
        "before\xE2\x80\xAE{\"k\xE2\x80\xA8\":\n\"\xC2\x85\x7F\xC3\xA9 "
        "0123456789\xE2\x80\xAEx\xF3\xA0\x80\x81\xF0\x9F\x9A\x80\"}";
    escape_unprintable_json(json, 9);
    EXPECT_EQ(json,
              "before\xE2\x80\xAE{\"k\\u2028\":\n\"\\u0085\\u007f\xC3\xA9 "
              "0123456789\\u202ex\\udb40\\udc01\xF0\x9F\x9A\x80\"}");
    JsonDocument document;
    EXPECT_EQ(document.parse(std::string_view(json).substr(9)).value().first().as_string(),
              "\xC2\x85\x7F\xC3\xA9 0123456789\xE2\x80\xAEx\xF3\xA0\x80\x81\xF0\x9F\x9A\x80");
    for (std::size_t blanks = 0; blanks < 20; ++blanks) {  // at each place of a word of 8 bytes
        std::string text = std::string(blanks, ' ') + "\xC2\x9B\x7F";
        escape_unprintable_json(text, 0);
        EXPECT_EQ(text, std::string(blanks, ' ') + "\\u009b\\u007f");
    }
    for (const char* kept : {"", "{}", "\"\xE4\xBD\xA0\xE5\xA5\xBD\"", "\xFF\xC2", "a\xE2\x80"}) {
        std::string text = kept;
        escape_unprintable_json(text, 0);
        EXPECT_EQ(text, kept);
    }
}

TEST(Printable, LinesOfOursStay) {
    EXPECT_EQ(printable_lines("a\nb\tc\r\n"), "a\nb\\u0009c\\u000d\n");
    EXPECT_EQ(printable("a\nb"), "a\\u000ab");
}

TEST(Printable, LeavesWordsAsTheyAre) {
    for (const char* words :
         {"", "a \"quoted\" \\ word", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\x80"}) {
        EXPECT_EQ(printable(words), words);
    }
}

// UTF-8 is judged and cut as RFC 3629 defines it.

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
