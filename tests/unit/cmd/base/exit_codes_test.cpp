// A stage gives its value whole, or the exit code that the command ends with, and never both.
#include "cmd/base/exit_codes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace driftless {
namespace {

OrExit<std::unique_ptr<int>> half_of(int number) {
    if (number % 2 != 0) {
        return exit_input;
    }
    return std::make_unique<int>(number / 2);
}

TEST(OrExit, HasTheValueOrTheExitCode) {
    OrExit<std::unique_ptr<int>> whole = half_of(8);
    ASSERT_TRUE(whole);
    const std::unique_ptr<int> value = std::move(whole).value();
    EXPECT_EQ(*value, 4);
    const OrExit<std::unique_ptr<int>> refused = half_of(7);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.exit_code(), exit_input);
}

}  // namespace
}  // namespace driftless
