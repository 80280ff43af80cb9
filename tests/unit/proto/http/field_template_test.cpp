// Placeholders are found, text stays text, and what is neither is named.
#include "proto/http/field_template.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace driftless
