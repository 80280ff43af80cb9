// CSV fields are quoted where RFC 4180 asks for it, and nowhere else.

#include <gtest/gtest.h>

#include "cmd/report/export_cells.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

std::string field(std::string_view text) {
    std::string out;
    append_csv_field(out, text);
    return out;
}

// The examples of RFC 4180, sections 2.5 to 2.7, and each character that needs quotes alone.
TEST(CsvField, QuotesWhatNeedsIt) {
    EXPECT_EQ(field("aaa"), "aaa");
    EXPECT_EQ(field(""), "");
    EXPECT_EQ(field("b \r\nbb"), "\"b \r\nbb\"");
    EXPECT_EQ(field("b\"bb"), "\"b\"\"bb\"");
    EXPECT_EQ(field(","), "\",\"");
    EXPECT_EQ(field("a\n"), "\"a\n\"");
    EXPECT_EQ(field("a\r"), "\"a\r\"");
    EXPECT_EQ(field("\"\""), "\"\"\"\"\"\"");
    EXPECT_EQ(field(" a;b\t'c'"), " a;b\t'c'");
}

// Names and messages come from servers: a spreadsheet computes none of them.
TEST(CsvField, HoldsNoFormula) {
    EXPECT_EQ(field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    EXPECT_EQ(field("=1,2"), "\"'=1,2\"");
    for (const char* text : {"@SUM(0)", "+1+1", "-1+1", "-", "\ta", "\uFF1D1", "\uFF0B1"}) {
        EXPECT_EQ(field(text), std::string("'") + text);
    }
    for (const char* text : {"-1", "-1.5e-3", "-0", "a=b", "1-2", "'=1"}) {
        EXPECT_EQ(field(text), text);
    }
}

// What others said stays text inside a page, and base64 is that of RFC 4648.

std::string html(std::string_view text) {
    std::string out;
    append_xml_text(out, text);
    return out;
}

std::string base64(std::string_view text) {
    std::string out;
    append_base64_of(out, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return out;
}

TEST(Html, EscapesWhatMarksItUp) {
    EXPECT_EQ(html("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    EXPECT_EQ(html("tab\there"), "tab\\u0009here");
    EXPECT_EQ(html(""), "");
}

// No "<" at all is left, so that no script can end; the JSON reader sees the same words.
TEST(Html, HoldsAnyJsonInAScript) {
    for (const char* words :
         {"</script><script>alert(1)</script>", "<!--<script>", "<", "", "a<"}) {
        std::string json;
        JsonWriter(json).string(words);
        std::string script;
        append_script_json(script, json);
        EXPECT_EQ(script.find('<'), script.npos) << script;
        JsonDocument document;
        EXPECT_EQ(document.parse(script).value().as_string(), words);
    }
}

// The test vectors of RFC 4648, section 10.
TEST(Html, WritesBase64) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foob"), "Zm9vYg==");
    EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xFB\xEF\xFF"), "++//");
}

}  // namespace

}  // namespace driftless
