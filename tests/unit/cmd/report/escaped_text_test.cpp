// Words of others inside XML and Markdown: shown as they are, and nothing in them is markup.
#include <gtest/gtest.h>

#include "cmd/report/export_cells.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string xml(std::string_view text) {
    std::string out;
    append_xml_text(out, text);
    return out;
}

std::string markdown(std::string_view text) {
    std::string out;
    append_markdown_text(out, text);
    return out;
}

TEST(EscapedText, Xml) {
    EXPECT_EQ(xml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
    EXPECT_EQ(xml("]]>"), "]]&gt;");
    EXPECT_EQ(xml("a\nb"), "a\\u000ab");
    EXPECT_EQ(xml(std::string_view("\0\x1b", 2)), "\\u0000\\u001b");
    EXPECT_EQ(xml("\xff"), "\xEF\xBF\xBD");
    // U+FFFE and U+FFFF are UTF-8, and no XML characters; U+FFFD is one.
    EXPECT_EQ(xml("a\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD"),
              "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(xml("\xE4\xB8\xAD"), "\xE4\xB8\xAD");
}

TEST(EscapedText, Markdown) {
    EXPECT_EQ(markdown("a|b"), "a\\|b");
    EXPECT_EQ(markdown("<img>&amp;[x](y)`c`*d*_e_"),
              "\\<img\\>\\&amp;\\[x\\](y)\\`c\\`\\*d\\*\\_e\\_");
    EXPECT_EQ(markdown("a\n# b"), "a\\\\u000a\\# b");
    EXPECT_EQ(markdown("plain 1.5 %"), "plain 1.5 %");
}

}  // namespace
}  // namespace driftless
