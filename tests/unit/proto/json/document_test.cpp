// JSON is read as RFC 8259 says, values keep their text, and nothing of it can break the reader.

#include "proto/json/document.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace driftless {

namespace {

using namespace std::string_literals;

// Every text here is valid JSON (RFC 8259, sections 2 to 7), and its root keeps its text.
TEST(JsonDocument, AcceptsEveryKindOfValue) {
    JsonDocument document;
    for (const std::string text : {"null",
                                   "true",
                                   "false",
                                   "0",
                                   "-0",
                                   "1.5e-7",
                                   "1E+2",
                                   "\"\"",
                                   "[]",
                                   "{}",
                                   "[[]]",
                                   "[{},[],\"\"]",
                                   R"({"":1})",
                                   R"({"a":{"b":[null]}})",
                                   R"("\u0000\"\\\/\b\f\n\r\t")",
                                   "\"\x7F\"",
                                   "\"\xE2\x80\xA8\"",
                                   "\"{[,:]}\"",
                                   "18446744073709551616",
                                   "1e999"}) {
        for (const std::string blank : {"", " ", "\t\r\n "}) {
            const Result<JsonValue> root = document.parse(blank + text + blank);
            ASSERT_TRUE(root) << text;
            EXPECT_EQ(root.value().raw(), text);
            EXPECT_FALSE(root.value().next().present());
        }
    }
}

// None of these is JSON; each is refused with its place.
TEST(JsonDocument, RefusesWhatIsNoJson) {
    JsonDocument document;
    for (const std::string text : {"",
                                   " ",
                                   "nul",
                                   "nulll",
                                   "True",
                                   "[",
                                   "]",
                                   "{",
                                   "}",
                                   "[1",
                                   "[1,",
                                   "[1,]",
                                   "[,1]",
                                   "[1 2]",
                                   "[1]]",
                                   "{\"a\"}",
                                   "{\"a\":}",
                                   "{\"a\":1,}",
                                   "{a:1}",
                                   "{1:1}",
                                   "{\"a\" 1}",
                                   "{,}",
                                   "{\"a\":1]",
                                   "[1}",
                                   "[\"a\":1]",
                                   "01",
                                   "-",
                                   "+1",
                                   ".5",
                                   "1.",
                                   "1.e1",
                                   "1e",
                                   "1e+",
                                   "0x1",
                                   "1a",
                                   "NaN",
                                   "-Infinity",
                                   "\"",
                                   "\"a",
                                   "\"\\\"",
                                   "'a'",
                                   "\"\\q\"",
                                   "\"\\u12\"",
                                   "\"\\u12g4\"",
                                   "\"\\",
                                   "\"a\"b",
                                   "\"a\"\"b\"",
                                   "1\"a\"",
                                   "1 2",
                                   "{} {}",
                                   "null,",
                                   "//",
                                   "\"\n\"",
                                   "\"\t\"",
                                   "[1,\f2]",
                                   "[1\f2]",
                                   "\v1",
                                   "true false",
                                   "\xEF\xBB\xBF"
                                   "1"}) {
        const Result<JsonValue> root = document.parse(text);
        ASSERT_FALSE(root) << text;
        EXPECT_EQ(root.error().code, ErrorCode::bad_json) << text;
        EXPECT_LE(document.error_offset(), text.size()) << text;
    }
    ASSERT_FALSE(document.parse({})) << "no text at all";
    ASSERT_FALSE(document.parse("\"a\0b\""s)) << "NUL inside a string";
    ASSERT_FALSE(document.parse("[1,\0 2]"s)) << "NUL between tokens";
    ASSERT_FALSE(document.parse("1\0"s)) << "NUL after the root";
}

// The place of an error is where a person would point.
TEST(JsonDocument, SaysWhereTheErrorIs) {
    JsonDocument document;
    const auto offset_of = [&document](std::string_view text) {
        EXPECT_FALSE(document.parse(text));
        return document.error_offset();
    };
    EXPECT_EQ(offset_of(R"({"a":1,"b":x})"), 11u);
    EXPECT_EQ(offset_of("[1,2"), 4u);
    EXPECT_EQ(offset_of("[1] 2"), 4u);
    EXPECT_EQ(offset_of("[\"a\xFF\"]"), 3u);
    EXPECT_EQ(offset_of("[\"a\x01\"]"), 3u);
}

// Integers are read exactly up to the ends of 64 bits; what does not fit, or is no integer, gives
// nothing, and its text is kept.
TEST(JsonDocument, ReadsIntegersExactly) {
    JsonDocument document;
    const auto read = [&document](std::string_view text) { return document.parse(text).value(); };
    EXPECT_EQ(read("18446744073709551615").as_u64(), UINT64_MAX);
    EXPECT_EQ(read("18446744073709551615").as_i64(), std::nullopt);
    EXPECT_EQ(read("18446744073709551616").as_u64(), std::nullopt);
    EXPECT_EQ(read("18446744073709551616").raw(), "18446744073709551616");
    EXPECT_EQ(read("9223372036854775807").as_i64(), INT64_MAX);
    EXPECT_EQ(read("9223372036854775808").as_i64(), std::nullopt);
    EXPECT_EQ(read("-9223372036854775808").as_i64(), INT64_MIN);
    EXPECT_EQ(read("-9223372036854775809").as_i64(), std::nullopt);
    EXPECT_EQ(read("-1").as_u64(), std::nullopt);
    EXPECT_EQ(read("0").as_u64(), 0u);
    EXPECT_EQ(read("1.0").as_u64(), std::nullopt);
    EXPECT_EQ(read("1e3").as_i64(), std::nullopt);
    EXPECT_EQ(read("\"1\"").as_u64(), std::nullopt);
}

// Doubles are the nearest ones; decimals keep every digit in raw().
TEST(JsonDocument, ReadsDoubles) {
    JsonDocument document;
    EXPECT_EQ(document.parse("0.1").value().as_double(), 0.1);
    EXPECT_EQ(document.parse("-2.5E-3").value().as_double(), -0.0025);
    EXPECT_EQ(document.parse("18446744073709551616").value().as_double(), 18446744073709551616.0);
    EXPECT_EQ(document.parse("1e999").value().as_double(), std::nullopt);
    EXPECT_EQ(document.parse("0.100000000000000000000000001").value().raw(),
              "0.100000000000000000000000001");
}

// Escapes as in RFC 8259 section 7; pairs of surrogates make one code point, lone ones U+FFFD.
TEST(JsonDocument, UnescapesStrings) {
    JsonDocument document;
    const auto text_of = [&document](std::string_view json) {
        const auto text = document.parse(json).value().as_string();
        return std::string(text.value_or("nothing"));
    };
    EXPECT_EQ(text_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(text_of(R"("\u0041\u00e9\u20AC")"), "A\xC3\xA9\xE2\x82\xAC");
    EXPECT_EQ(text_of(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
    EXPECT_EQ(text_of(R"("a\u0000b")"), "a\0b"s);
    EXPECT_EQ(text_of(R"("\ud800\udc00")"), "\xF0\x90\x80\x80");
    EXPECT_EQ(text_of(R"("\udbff\udfff")"), "\xF4\x8F\xBF\xBF");
    EXPECT_EQ(text_of(R"("\ud83d")"), "\xEF\xBF\xBD");
    EXPECT_EQ(text_of(R"("\ude00\ud83d!")"), "\xEF\xBF\xBD\xEF\xBF\xBD!");
    EXPECT_EQ(text_of(R"("\ud83d\u0041")"),
              "\xEF\xBF\xBD"
              "A");
    EXPECT_EQ(text_of(R"("\ud83d\ud83d\ude00")"), "\xEF\xBF\xBD\xF0\x9F\x98\x80");
    EXPECT_EQ(text_of("\"\xF0\x9F\x98\x80\""), "\xF0\x9F\x98\x80");
    EXPECT_EQ(text_of("1"), "nothing");
}

// Members by name in any order and any number of times; of equal names the first; names with
// escapes are compared unescaped.
TEST(JsonDocument, FindsMembers) {
    JsonDocument document;
    const JsonValue root =
        document.parse(R"({"z":1,"a":{"b":[true]},"z":2,"":3,"\u006b\n":4})").value();
    EXPECT_EQ(root.size(), 5u);
    EXPECT_EQ(root.find("a").find("b").at(0).as_bool(), true);
    EXPECT_EQ(root.find("z").as_u64(), 1u);
    EXPECT_EQ(root.find("z").as_u64(), 1u);
    EXPECT_EQ(root.find("").as_u64(), 3u);
    EXPECT_EQ(root.find("k\n").as_u64(), 4u);
    EXPECT_FALSE(root.find("b").present());
    EXPECT_FALSE(root.find("x").find("y").at(3).first().next().present());
    EXPECT_FALSE(root.at(0).present());
    EXPECT_EQ(root.find("x").as_string(), std::nullopt);
    EXPECT_EQ(root.find("x").raw(), "");
}

// A document for traces gives the last of equal names, as the field's tools read them.
TEST(JsonDocument, FindsTheLastOfEqualNamesInTraces) {
    JsonDocument document(JsonArrays::packed);
    const JsonValue root = document.parse(R"({"z":1,"a":[1,2],"z":{"b":2},"b":3})").value();
    EXPECT_EQ(root.find("z").find("b").as_u64(), 2u);
    EXPECT_EQ(root.find("b").as_u64(), 3u);
    EXPECT_EQ(root.find("a").integers()->size(), 2u);
    EXPECT_FALSE(root.find("x").present());
}

// Iteration gives elements and members in document order, nested ones stay inside.
TEST(JsonDocument, IteratesInOrder) {
    JsonDocument document;
    const JsonValue root = document.parse(R"([ [1,[2]], {"a":[],"b":{}} , "x" ])").value();
    std::string seen;
    for (JsonValue v = root.first(); v.present(); v = v.next()) {
        seen += std::string(v.raw()) + "#" + std::to_string(v.size()) + " ";
        for (JsonValue inner = v.first(); inner.present(); inner = inner.next()) {
            seen += std::string(inner.key()) + "=" + std::string(inner.raw()) + " ";
        }
    }
    EXPECT_EQ(seen, R"([1,[2]]#2 =1 =[2] {"a":[],"b":{}}#2 a=[] b={} "x"#0 )");
    EXPECT_EQ(root.key(), "");
}

// Depth at limit - 1, limit, limit + 1; far deeper input is refused as quickly.
TEST(JsonDocument, BoundsTheDepth) {
    JsonDocument document;
    for (const unsigned depth :
         {json_depth_max - 1, json_depth_max, json_depth_max + 1, 100'000u}) {
        for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{"{\"a\":", "}"}}) {
            std::string text;
            for (unsigned i = 0; i < depth; ++i) {
                text += open;
            }
            text += open[0] == '{' ? "1" : "";
            for (unsigned i = 0; i < depth; ++i) {
                text += close;
            }
            const Result<JsonValue> root = document.parse(text);
            EXPECT_EQ(static_cast<bool>(root), depth <= json_depth_max) << depth;
            if (!root) {
                EXPECT_EQ(root.error().code, ErrorCode::too_large);
            }
        }
    }
}

// A document grows with its texts, is reused for small and large ones alike, and may be moved.
TEST(JsonDocument, IsReused) {
    JsonDocument document;
    for (const std::size_t elements : {3u, 100'000u, 1u}) {
        std::string text = "[\"\\n\"";
        for (std::size_t i = 0; i < elements; ++i) {
            text += ',' + std::to_string(i);
        }
        const JsonValue root = document.parse(text + "]").value();
        EXPECT_EQ(root.size(), elements + 1);
        EXPECT_EQ(root.at(elements).as_u64(), elements - 1);
        EXPECT_EQ(root.first().as_string(), "\n");
    }
    const JsonValue before = document.parse("[7]").value();
    JsonDocument moved = std::move(document);
    EXPECT_EQ(before.at(0).as_u64(), 7u);
}

// Bytes that are no UTF-8 are refused: overlong forms, surrogates, cut sequences.
TEST(JsonDocument, RefusesInvalidUtf8) {
    JsonDocument document;
    for (const char* bytes : {"\xFF", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                              "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
        EXPECT_FALSE(document.parse("\"" + std::string(bytes) + "\"")) << bytes;
    }
}

// Every line of a real trace reads, with the members that its format names.
TEST(JsonDocument, ReadsARealTrace) {
    std::ifstream file(SHARED_DATA "/traces/mooncake_conversation.jsonl");
    if (!file) {
        GTEST_SKIP() << "no shared trace here";
    }
    JsonDocument document;
    std::uint64_t rows = 0;
    std::uint64_t input = 0;
    for (std::string line; std::getline(file, line); ++rows) {
        const JsonValue root = document.parse(line).value();
        const std::uint64_t length = root.find("input_length").as_u64().value();
        input += length;
        ASSERT_EQ(root.find("hash_ids").size(), (length + 511) / 512);
    }
    EXPECT_EQ(rows, 12'031u);
    EXPECT_EQ(input, 144'793'823u);  // as the trace's publishers count it
}

// JSON pointers lead where RFC 6901 says.

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
