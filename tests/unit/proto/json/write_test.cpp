// What is written is JSON: commas, escapes and numbers as RFC 8259 has them.
#include "proto/json/write.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"

namespace driftless {
namespace {

using namespace std::string_literals;

// Nesting and commas, spelled out.
TEST(JsonWriter, PlacesCommas) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("a").begin_array().integer(1).null().begin_array().end_array();
    json.begin_object().end_object().end_array().key("b").boolean(true).key("c").raw("[ ]");
    json.key("").optional_integer(std::nullopt).key("d").optional_string("x").end_object();
    EXPECT_EQ(out, R"({"a":[1,null,[],{}],"b":true,"c":[ ],"":null,"d":"x"})");
}

// The writer goes on with the string it is given: two documents, two writers, two lines.
TEST(JsonWriter, AppendsToWhatIsThere) {
    std::string out = "{}\n";
    JsonWriter(out).begin_array().end_array();
    EXPECT_EQ(out, "{}\n[]");
}

// Every escape that is needed, none that is not; bytes that are no UTF-8 become U+FFFD one by one.
TEST(JsonWriter, EscapesStrings) {
    const auto escaped = [](std::string_view text) {
        std::string out;
        append_json_escaped(out, text);
        return out;
    };
    EXPECT_EQ(escaped("\"\\/\b\f\n\r\t"), R"(\"\\/\b\f\n\r\t)");
    EXPECT_EQ(escaped("\0\x1F\x7F"s), "\\u0000\\u001f\x7F");
    EXPECT_EQ(escaped("h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
              "h\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    EXPECT_EQ(escaped("a\xFF\xE2\x82z"), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

// Ends of the ranges; no number that JSON cannot say.
TEST(JsonWriter, WritesNumbers) {
    std::string out;
    JsonWriter json(out);
    json.begin_array().integer(INT64_MIN).integer(INT64_MAX).unsigned_integer(UINT64_MAX);
    json.number(0.1).number(1e21).number(-0.0).number(std::nan(""));
    json.number(std::numeric_limits<double>::infinity()).end_array();
    EXPECT_EQ(out,
              "[-9223372036854775808,9223372036854775807,18446744073709551615,0.1,1e+21,-0,"
              "null,null]");
}

// Any bytes come back from our reader as the text they were, any double as the same double.
TEST(JsonWriter, IsReadBack) {
    Random random(3);
    JsonDocument document;
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (std::uint64_t i = random.below(20); i > 0; --i) {
            text += static_cast<char>(random.below(128));
        }
        const double value =
            std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(600)));
        std::string out;
        JsonWriter(out).begin_object().key(text).number(value).end_object();
        const JsonValue root = document.parse(out).value();
        ASSERT_EQ(root.first().key(), text);
        ASSERT_EQ(root.find(text).as_double(), value);
    }
}

}  // namespace
}  // namespace driftless
