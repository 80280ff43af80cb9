// Texts of a body are filled as JSON; what a row lacks is left out with its name.
#include <gtest/gtest.h>

#include <string>

#include "proto/api/request_body.hpp"
#include "proto/json/document.hpp"

namespace driftless {
namespace {

/// Filled with R for {row}, the number 7 for {kept.a}, and nothing for {session}.
std::string filled(const std::string& object) {
    std::string unknown;
    const BodyTemplate body = parse_body_template(object, unknown);
    EXPECT_EQ(unknown, "");
    const std::string made = body.fill([](const FieldTemplate& field) {
        std::string text;
        for (const TemplatePiece& piece : field.pieces) {
            if (piece.placeholder == Placeholder::session) {
                return std::optional<std::string>();
            }
            text += piece.placeholder == Placeholder::none  ? piece.text
                    : piece.placeholder == Placeholder::row ? "R"
                                                            : "7";
        }
        return std::optional(field.pieces.size() == 1 ? text : "\"" + text + "\"");
    });
    JsonDocument document;
    EXPECT_TRUE(document.parse(made)) << made;
    return made;
}

TEST(BodyTemplate, FillsTextsAtAnyDepth) {
    EXPECT_EQ(filled(R"({ "a" : "{kept.a}", "b": ["x{row}", {"c": "{kept.a}"}], "d": 1 })"),
              R"({"a":7,"b":["xR",{"c":7}],"d":1})");
    EXPECT_EQ(filled("{}"), "{}");
}

TEST(BodyTemplate, LeavesOutWhatARowLacks) {
    EXPECT_EQ(filled(R"({"a": "{session}"})"), "{}");
    EXPECT_EQ(filled(R"({"a": "{session}", "b": 1})"), R"({"b":1})");
    EXPECT_EQ(filled(R"({"b": 1, "a": "{session}"})"), R"({"b":1})");
    EXPECT_EQ(filled(R"({"b": 1, "a": "x{session}", "c": {"d": "{session}"}, "e": "{kept.a}"})"),
              R"({"b":1,"c":{},"e":7})");
    EXPECT_EQ(filled(R"({"a": "{session}", "b": "{session}", "c": "{kept.a}"})"), R"({"c":7})");
    EXPECT_EQ(filled(R"({"a": ["{session}", "{kept.a}", "{session}"]})"), R"({"a":[7]})");
}

// Names, other braces, regular expressions and Jinja stay; doubled braces are single ones.
TEST(BodyTemplate, LeavesOtherTextAlone) {
    for (const char* text :
         {R"({"{row}":1})", R"({"a":"\"{x"})", R"({"re":"[a-z]{3}\\d{2,5}"})",
          R"({"t":"{% if x %}{{x}}{row}{% endif %}"})", R"({"j":"{\"a\":{\"b\":1}}"})"}) {
        EXPECT_EQ(filled(text), text);
    }
    EXPECT_EQ(filled(R"({"a":"{{row}}"})"), R"({"a":"{row}"})");
    std::string unknown;
    (void)parse_body_template(R"({"a": "{rwo}"})", unknown);
    EXPECT_EQ(unknown, "rwo");
}

}  // namespace
}  // namespace driftless
