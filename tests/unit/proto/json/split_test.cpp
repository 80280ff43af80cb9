// An array's elements come out whole, however its bytes come in; what is no array is known as such.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"

namespace driftless {
namespace {

using State = JsonElements::State;
using Texts = std::vector<std::string>;

struct Cut {
    Texts elements;
    State state = State::before;
    bool operator==(const Cut&) const = default;
};

Cut cut(const std::vector<std::string>& pieces) {
    JsonElements elements;
    Cut out;
    for (const std::string& piece : pieces) {
        elements.feed(piece);
        while (const auto element = elements.next()) {
            out.elements.emplace_back(*element);
            EXPECT_EQ(elements.number(), out.elements.size());
        }
    }
    out.state = elements.state();
    return out;
}

// Whole, at every split, and byte by byte.
Cut cut_every_way(const std::string& text) {
    const Cut whole = cut({text});
    for (std::size_t split = 0; split <= text.size(); ++split) {
        EXPECT_EQ(cut({text.substr(0, split), text.substr(split)}), whole) << text << " " << split;
    }
    std::vector<std::string> bytes;
    for (const char byte : text) {
        bytes.emplace_back(1, byte);
    }
    EXPECT_EQ(cut(bytes), whole) << text;
    return whole;
}

TEST(JsonElements, GivesEachElementWithoutTheSpaceAround) {
    EXPECT_EQ(cut_every_way(" [ {\"a\": [1, 2]} ,\n\"x\", [] ] \n"),
              (Cut{{"{\"a\": [1, 2]}", "\"x\"", "[]"}, State::behind}));
    EXPECT_EQ(cut_every_way("[1]"), (Cut{{"1"}, State::behind}));
    EXPECT_EQ(cut_every_way("[]"), (Cut{{}, State::behind}));
    EXPECT_EQ(cut_every_way("[ \n ]\n"), (Cut{{}, State::behind}));
}

TEST(JsonElements, LeavesStringsAsTheyAre) {
    EXPECT_EQ(cut_every_way(R"(["],[", "\"],", "\\", {"}": "{"}])"),
              (Cut{{R"("],[")", R"("\"],")", R"("\\")", R"({"}": "{"})"}, State::behind}));
}

TEST(JsonElements, LeavesWhatIsNoElementToTheParser) {
    EXPECT_EQ(cut_every_way("[1,,2]"), (Cut{{"1", "", "2"}, State::behind}));
    EXPECT_EQ(cut_every_way("[1,]"), (Cut{{"1", ""}, State::behind}));
    EXPECT_EQ(cut_every_way("[1 2, nul]"), (Cut{{"1 2", "nul"}, State::behind}));
}

TEST(JsonElements, KnowsWhatDoesNotEnd) {
    EXPECT_EQ(cut_every_way("[1, {\"a\": 2}"), (Cut{{"1"}, State::inside}));
    EXPECT_EQ(cut_every_way("[\"]"), (Cut{{}, State::inside}));
    EXPECT_EQ(cut_every_way("[[1]"), (Cut{{}, State::inside}));
    EXPECT_EQ(cut_every_way(" "), (Cut{{}, State::before}));
}

TEST(JsonElements, KnowsWhatStandsOutside) {
    EXPECT_EQ(cut_every_way("{}"), (Cut{{}, State::wrong}));
    EXPECT_EQ(cut_every_way("[1] [2]"), (Cut{{"1"}, State::wrong}));
    EXPECT_EQ(cut_every_way("[],"), (Cut{{}, State::wrong}));
}

TEST(JsonElements, BoundsAnElement) {
    const std::string text(json_element_bytes_max, '1');
    EXPECT_EQ(cut({"[", text, "]"}).state, State::behind);
    EXPECT_EQ(cut({"[", text, "1", "]"}).state, State::too_long);
}

}  // namespace
}  // namespace driftless
