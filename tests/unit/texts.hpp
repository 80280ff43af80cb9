/// Texts in tests: whether one holds a part, and a command line as its words.
#pragma once

#include "tests/test.hpp"

namespace driftless {

/// For EXPECT_TRUE and EXPECT_FALSE, which then print the whole text.
inline testing::AssertionResult says(std::string_view text, std::string_view part) {
    const bool found = text.find(part) != text.npos;
    return (found ? testing::AssertionSuccess() : testing::AssertionFailure())
           << (found ? "\"" : "no \"") << part << "\" in \"" << text << '"';
}

/// All of these; then it prints the first that is missing.
inline testing::AssertionResult says(std::string_view text,
                                     std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        if (const testing::AssertionResult found = says(text, part); !found) {
            return found;
        }
    }
    return testing::AssertionSuccess();
}

/// `expect_saying(refusal, gives("--end 9q", "is not a duration"))`.
template <typename Of, typename... Cases>
void expect_saying(const Of& of, const Cases&... cases) {
    const auto expect = [&of](const auto& one) {
        EXPECT_TRUE(says(of(one.first), one.second)) << testing::PrintToString(one.first);
    };
    (expect(cases), ...);
}

/// One that holds `what`, whose first one becomes `with`.
inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return at == text.npos ? text : text.replace(at, what.size(), with);
}

/// Calls `use` with the pieces of a text, cut once at each place, and then into single bytes.
template <class Use>
void each_cut(std::string_view text, Use use) {
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        use(std::vector<std::string_view>{text.substr(0, at), text.substr(at)});
        bytes.push_back(text.substr(at, 1));
    }
    use(bytes);
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

using Texts = std::vector<std::string>;
using Words = Texts;

/// Split at blanks, as a shell without quotes does.
inline Words words_of(const std::string& line) {
    std::istringstream text(line);
    return {std::istream_iterator<std::string>(text), {}};
}

/// As one line: a word with a blank in it stands in quotes.
inline std::string line_of_words(const Words& words) {
    std::string line;
    for (const std::string& word : words) {
        line += line.empty() ? "" : " ";
        line += word.find(' ') == word.npos ? word : "'" + word + "'";
    }
    return line;
}

}  // namespace driftless
