// Others' words leave the program without secrets, whole, cut or one inside the other.
#include "proto/record/masked.hpp"

#include <gtest/gtest.h>

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

TEST(Masked, CutsAtCodePoints) {
    const std::string text = std::string(255, 'x') + "\xC3\xA4";
    EXPECT_EQ(masked(text, {}, 256), std::string(255, 'x'));
    EXPECT_EQ(masked(text, {}, 257), text);
    EXPECT_EQ(masked(std::string(256, 'x'), {}, 256).size(), 256u);
}

}  // namespace
}  // namespace driftless
