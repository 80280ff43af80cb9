// The keyed hash is HMAC-SHA-256 as RFC 4231 has it, value after value under one secret.
#include "engine/base/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string hex_of(KeyedHash& hash, std::string_view text) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::string hex;
    for (const unsigned char byte : hash.of({bytes, text.size()})) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        hex += digits;
    }
    return hex;
}

// RFC 4231, 4.2 to 4.4 and 4.7 (a key longer than a block of SHA-256).
TEST(KeyedHash, IsTheOneOfTheRfc) {
    Result<KeyedHash> one = KeyedHash::create(std::string(20, '\x0b'));
    ASSERT_TRUE(one);
    const char* const hi = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
    EXPECT_EQ(hex_of(one.value(), "Hi There"), hi);
    EXPECT_NE(hex_of(one.value(), "Hi there"), hi);
    EXPECT_EQ(hex_of(one.value(), "Hi There"), hi);
    Result<KeyedHash> jefe = KeyedHash::create("Jefe");
    ASSERT_TRUE(jefe);
    EXPECT_EQ(hex_of(jefe.value(), "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    Result<KeyedHash> bytes = KeyedHash::create(std::string(20, '\xaa'));
    ASSERT_TRUE(bytes);
    EXPECT_EQ(hex_of(bytes.value(), std::string(50, '\xdd')),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    Result<KeyedHash> large = KeyedHash::create(std::string(131, '\xaa'));
    ASSERT_TRUE(large);
    EXPECT_EQ(hex_of(large.value(), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(KeyedHash, WipesASecret) {
    std::string secret = "a secret that is long enough to stand on the heap";
    const char* const bytes = secret.data();
    const std::size_t size = secret.size();
    wipe(secret);
    EXPECT_TRUE(secret.empty());
    secret.reserve(1);  // the same storage
    EXPECT_FALSE(says(std::string(bytes, size), "secret"));
}

}  // namespace
}  // namespace driftless
