// Others' words leave the program without secrets, whole, cut or one inside the other.
#include <gtest/gtest.h>

#include "proto/core/text.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

TEST(Masked, LeavesNoSecret) {
    const Texts secrets = {"sk-abc123", ""};
    EXPECT_EQ(masked("key sk-abc123 and sk-abc123", secrets, 256), "key *** and ***");
    EXPECT_EQ(masked("sk-abc123sk-abc123", secrets, 256), "******");
    EXPECT_EQ(masked("", secrets, 256), "");
    EXPECT_EQ(masked("a longer-key", {"longer-key", "longer"}, 256), "a ***");
    EXPECT_EQ(masked("****", {"****"}, 256), "***");
}

// A secret across the cut is replaced first, at every offset.
TEST(Masked, LeavesNoPartOfASecretThatIsCut) {
    const std::string secret = "sk-0123456789abcdefghij";
    for (std::size_t before = 0; before < 40; ++before) {
        const std::string head(before, 'x');
        const std::string whole = masked(head + secret + " tail", {secret}, 32);
        EXPECT_EQ(whole, (head + "*** tail").substr(0, 32)) << before;
    }
    for (std::size_t left = 1; left < secret.size(); ++left) {
        const std::string cut = masked("is " + secret.substr(0, left), {secret}, 256);
        EXPECT_EQ(cut, left < secret_bytes_min ? "is " + secret.substr(0, left) : "is ***") << left;
    }
}

// JSON, JSON within JSON, URLs, URLs within URLs, HTML, and a mix of them.
TEST(Masked, LeavesNoSecretThatIsEscaped) {
    const Texts secrets = {"abcd/Top\"se&cret1/ef gh=="};
    for (const std::string_view spelled : {
             R"(abcd\/Top\"se&cret1\/ef gh\u003d\u003D)",
             R"(abcd\\\/Top\\\"se&cret1/ef gh\\u003d=)",
             R"(abcd%2FTop%22se%26cret1%2fef+gh%3D%3d)",
             R"(abcd%252FTop%2522se%2526cret1%252fef%2520gh%253D%253d)",
             R"(abcd/Top&quot;se&amp;cret1&#47;ef gh&#x3D;&#61;)",
             R"(\u0061bcd\x2fTop"se\u0026cret1/ef%20gh==)",
         }) {
        const std::string text = "key " + std::string(spelled) + " and more";
        EXPECT_EQ(masked(text, secrets, 256), "key *** and more") << spelled;
        for (std::size_t left = 24; left < text.size() - 9; ++left) {  // cut, inside escapes too
            EXPECT_EQ(masked(text.substr(0, left), secrets, 256), "key ***") << text << left;
        }
    }
    EXPECT_EQ(masked(R"(a\\\\b)", {R"(a\\b)"}, 256), "***");
    EXPECT_EQ(masked(R"(a\\bcd)", {R"(a\bcd)"}, 256), "***");
    EXPECT_EQ(masked("\\u00e4bcd \xC3\xA4"
                     "bcd",
                     {"\xC3\xA4"
                      "bcd"},
                     256),
              "*** ***");
    EXPECT_EQ(masked("a%25%2Fb%25252Fcd a%252Fb", {"a%/b/cd", "a%2Fb"}, 256), "*** ***");
    EXPECT_EQ(masked("50% of \\ & + abcx", {"abcd%\\"}, 256), "50% of \\ & + abcx");
}

TEST(Masked, CutsAtCodePoints) {
    const std::string text = std::string(255, 'x') + "\xC3\xA4";
    EXPECT_EQ(masked(text, {}, 256), std::string(255, 'x'));
    EXPECT_EQ(masked(text, {}, 257), text);
    EXPECT_EQ(masked(std::string(256, 'x'), {}, 256).size(), 256u);
}

}  // namespace
}  // namespace driftless
