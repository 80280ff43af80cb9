// No byte of a server's reaches the terminal that does more there than show a letter.
#include "proto/json/printable.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(Printable, EscapesWhatControlsATerminal) {
    EXPECT_EQ(printable("\x1B]0;owned\x07\x1B[2Jbad\nkey"),
              R"(\u001b]0;owned\u0007\u001b[2Jbad\u000akey)");
    EXPECT_EQ(printable(std::string_view("\0\x1F \x7E\x7F", 5)), R"(\u0000\u001f ~\u007f)");
    EXPECT_EQ(printable("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u0080\\u009b\\u009f\xC2\xA0");
    EXPECT_EQ(printable("a\x9B\x31m\xC2"), "a\xEF\xBF\xBD\x31m\xEF\xBF\xBD");
}

TEST(Printable, LeavesWordsAsTheyAre) {
    for (const char* words :
         {"", "a \"quoted\" \\ word", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\x80"}) {
        EXPECT_EQ(printable(words), words);
    }
}

}  // namespace
}  // namespace driftless
