// Plain text stays plain text in a man page, however it begins, and every line of it is short.
#include "cmd/help/help.hpp"
#include "tests/test.hpp"

namespace driftless {
namespace {

TEST(Roff, EscapesSyntaxAndHasNoLongLine) {
    expect_each(Roff::plain, gives("--url", "\\-\\-url"), gives(".5 of it", "\\&.5 of it"),
                gives("a\\b", "a\\eb"),
                gives("'$DIR' \"`x`\" ~^", "\\(aq$DIR\\(aq \\(dq\\(gax\\(ga\\(dq \\(ti\\(ha"));
    EXPECT_EQ(Roff("driftless-replay", "2026-11-25", "0.1.0").page(),
              ".TH DRIFTLESS\\-REPLAY 1 2026-11-25 \"driftless 0.1.0\" \"User Commands\"\n");
    Roff indented("p", "2026-11-25", "1");
    indented.section("X");
    indented.text("Some text\nover two lines:\n  one   1\n  two   2\n\nAnd more.\n");
    const std::string page = indented.page();
    EXPECT_EQ(page.substr(page.find('\n') + 1),
              ".SH \"X\"\nSome text over two lines:\n.nf\none   1\ntwo   2\n.fi\n.PP\nAnd more.\n");
    Roff other_roff("p", "2026-11-25", "1");
    std::string words = "  verbatim";
    for (int i = 0; i < 60; ++i) {
        words += " --flag'" + std::string(static_cast<std::size_t>(i % 7), 'x');
    }
    other_roff.text(words + "\n\n" + words.substr(2));
    std::istringstream lines(other_roff.page());
    std::string verbatim;
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_LE(line.size(), 80U) << line;
    }
    EXPECT_GT(count, 20U);
}

}  // namespace
}  // namespace driftless
