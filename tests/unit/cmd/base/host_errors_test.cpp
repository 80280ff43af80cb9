#include <gtest/gtest.h>

#include <cerrno>

#include "cmd/base/this_host.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

constexpr Error eperm{ErrorCode::denied, EPERM, "set up io_uring"};

// The likeliest cause is named: the sysctl where it is set, else a filter, else the kernel.
TEST(RingErrors, NameTheCauseAndTheRemedy) {
    const std::string filtered = ring_refusal(eperm, {.filtered = true, .kernel = "6.8"});
    EXPECT_TRUE(says(filtered, "cannot set up io_uring on Linux 6.8: "));
    EXPECT_TRUE(says(filtered, "seccomp filter forbids it"));
    EXPECT_TRUE(says(filtered, "driftless help pod.yaml"));

    const std::string disabled = ring_refusal(eperm, {.disabled = 2, .kernel = "6.8"});
    EXPECT_TRUE(says(disabled, "sysctl kernel.io_uring_disabled=0"));
    EXPECT_FALSE(says(disabled, "seccomp"));

    const Error einval{ErrorCode::unsupported, EINVAL, "set up io_uring"};
    const std::string old = ring_refusal(einval, {.kernel = "5.15"});
    EXPECT_TRUE(says(old, "on Linux 5.15: "));
    EXPECT_TRUE(says(old, "Linux 6.1 or newer"));
}

// Where permission is not the matter, no remedy is guessed.
TEST(RingErrors, GuessNoRemedyForOtherErrors) {
    const Error full{ErrorCode::exhausted, ENOMEM, "set up io_uring"};
    const std::string said = ring_refusal(full, {.filtered = true, .kernel = "6.8"});
    EXPECT_FALSE(says(said, "seccomp"));
    EXPECT_EQ(said.find(';'), std::string::npos);
}

// A small limit of locked memory, as containers and older systems have, is named.
TEST(RingErrors, NameTheLimitOfLockedMemory) {
    const Error full{ErrorCode::exhausted, ENOMEM, "set up io_uring"};
    const std::string said =
        ring_refusal(full, {.filtered = true, .kernel = "6.8", .locked_kib = 64});
    EXPECT_TRUE(says(said, "this user can lock 64 KiB: ulimit -l 8192"));
    EXPECT_FALSE(says(said, "seccomp"));
}

// The host that runs this test has a kernel with a name.
TEST(RingErrors, ReadsThisHost) {
    EXPECT_FALSE(read_ring_bars().kernel.empty());
}

}  // namespace
}  // namespace driftless
