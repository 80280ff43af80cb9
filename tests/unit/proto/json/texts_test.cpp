// Where a JSON text ends: behind the bracket that closes it, and brackets in strings do not count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"

namespace driftless {
namespace {

/// The texts of these lines, each behind the number of the line in which it begins. One that is not
/// closed comes last.
std::vector<std::string> texts_of(const std::vector<std::string>& lines) {
    JsonTexts texts;
    std::vector<std::string> found;
    const auto note = [&] {
        found.push_back(std::to_string(texts.line()) + " " + std::string(texts.text()));
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string_view line = lines[i];
        while (texts.take(i + 1, line) == JsonTexts::Found::whole) {
            note();
            texts.clear();
        }
        EXPECT_EQ(line, "") << "a part is taken to the end of its line";
    }
    if (!texts.text().empty()) {
        note();
    }
    return found;
}

using Texts = std::vector<std::string>;

TEST(JsonTexts, EndBehindTheClosingBracket) {
    EXPECT_EQ(
        texts_of({"  ", "", R"( {"a": [1, "]}", "\"}", "\\"],)", R"("b": {} } {"c":)", "[]}"}),
        (Texts{"3 {\"a\": [1, \"]}\", \"\\\"}\", \"\\\\\"],\n\"b\": {} }", "4 {\"c\":\n[]}"}));
    EXPECT_EQ(texts_of({"{}[1]"}), (Texts{"1 {}", "1 [1]"}));
    EXPECT_EQ(texts_of({"} {}"}), (Texts{"1 }", "1 {}"})) << "a bracket that closes nothing";
    EXPECT_EQ(texts_of({"{", "1"}), (Texts{"1 {\n1\n"}));
}

// A string that is open at the end of a line ends a text that is broken.
TEST(JsonTexts, EndWhereAStringStaysOpen) {
    for (const std::string line : {R"({"a)", R"({"a\")", R"({"a\)"}) {
        EXPECT_EQ(texts_of({line, "{}"}), (Texts{"1 " + line, "2 {}"})) << line;
    }
}

TEST(JsonTexts, AreNoLongerThanALineMayBe) {
    JsonTexts texts;
    const std::string most(JsonTexts::bytes_max - 1, '[');
    std::string_view line = most;
    EXPECT_EQ(texts.take(1, line), JsonTexts::Found::part);
    line = "]";
    EXPECT_EQ(texts.take(2, line), JsonTexts::Found::too_long);
}

}  // namespace
}  // namespace driftless
