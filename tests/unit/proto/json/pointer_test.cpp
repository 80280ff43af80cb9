// JSON pointers lead where RFC 6901 says.
#include "proto/json/pointer.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::string found(std::string_view text, std::string_view pointer) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(text);
    const Result<JsonPointer> parsed = JsonPointer::parse(pointer);
    if (!parsed) {
        return name_of(parsed.error().code);
    }
    const JsonValue value = parsed.value().find(root.value());
    return value.present() ? std::string(value.raw()) : "absent";
}

// RFC 6901, section 5, with the document that stands there.
TEST(JsonPointer, LeadsWhereTheStandardSays) {
    const std::string text = R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,)"
                             R"("i\\j":5,"k\"l":6," ":7,"m~n":8})";
    EXPECT_EQ(found(text, ""), text);
    EXPECT_EQ(found(text, "/foo"), R"(["bar","baz"])");
    EXPECT_EQ(found(text, "/foo/0"), "\"bar\"");
    EXPECT_EQ(found(text, "/"), "0");
    EXPECT_EQ(found(text, "/a~1b"), "1");
    EXPECT_EQ(found(text, "/c%d"), "2");
    EXPECT_EQ(found(text, "/e^f"), "3");
    EXPECT_EQ(found(text, "/g|h"), "4");
    EXPECT_EQ(found(text, "/i\\j"), "5");
    EXPECT_EQ(found(text, "/k\"l"), "6");
    EXPECT_EQ(found(text, "/ "), "7");
    EXPECT_EQ(found(text, "/m~0n"), "8");
}

TEST(JsonPointer, LeadsNowhereWhereNothingIs) {
    const std::string text = R"({"a":[1,{"0":2}],"b":"x","01":3})";
    for (const char* pointer : {"/c", "/a/2", "/a/-", "/a/01", "/a/0/0", "/b/0", "/a/x", "/a/",
                                "/a/99999999999999999999"}) {
        EXPECT_EQ(found(text, pointer), "absent") << pointer;
    }
    EXPECT_EQ(found(text, "/a/1/0"), "2") << "a member may be named like an index";
    EXPECT_EQ(found(text, "/01"), "3");
    EXPECT_FALSE(JsonPointer().find({}).present());
}

TEST(JsonPointer, RefusesWhatIsNone) {
    for (const char* pointer : {"a", "a/b", "#/a", "/~", "/~2", "/a~", "/a/b~/c"}) {
        EXPECT_EQ(found("{}", pointer), "invalid") << pointer;
    }
    EXPECT_EQ(found(R"({"~1":{"/":1}})", "/~01/~1"), "1");
}

}  // namespace
}  // namespace driftless
