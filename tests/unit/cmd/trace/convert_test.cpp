// The salt is read from a file or the environment, and is long enough, or the refusal says so.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cmd/trace/trace.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string from_env(const char* value, std::string& salt) {
    ::setenv("DRIFTLESS_TEST_SALT", value, 1);
    const std::string why = read_salt("", "DRIFTLESS_TEST_SALT", salt);
    ::unsetenv("DRIFTLESS_TEST_SALT");
    return why;
}

TEST(Salt, HasItsLimits) {
    std::string salt;
    EXPECT_TRUE(says(from_env("123456789012345", salt), "holds 15 bytes"));
    EXPECT_EQ(from_env("1234567890123456", salt), "");
    EXPECT_EQ(salt, "1234567890123456");
    EXPECT_EQ(from_env(std::string(4096, 'x').c_str(), salt), "");
    EXPECT_TRUE(says(from_env(std::string(4097, 'x').c_str(), salt), "4097"));
    EXPECT_TRUE(says(from_env("                    ", salt), "holds 0 bytes"));
    EXPECT_TRUE(says(read_salt("", "DRIFTLESS_TEST_NOT_SET", salt), "openssl rand"));
}

TEST(Salt, ComesFromAFileWithoutItsNewline) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("driftless-salt-" + std::to_string(::getpid()));
    std::ofstream(path, std::ios::binary) << "a salt of some bytes\r\n";
    std::string salt;
    EXPECT_EQ(read_salt(path, "", salt), "");
    EXPECT_EQ(salt, "a salt of some bytes");
    std::filesystem::remove(path);
    EXPECT_TRUE(says(read_salt(path, "", salt), "No such file"));
}

}  // namespace
}  // namespace driftless
