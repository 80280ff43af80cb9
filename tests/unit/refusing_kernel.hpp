/// A kernel that refuses: what a test runs while some system calls fail with an errno of its
/// choice. By a seccomp filter on a thread that ends with the test, so that nothing else sees it.
/// RefusingKernel: tests that skip where the host forbids such filters.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <initializer_list>
#include <thread>

#include "tests/test.hpp"

namespace driftless {

/// One system call; only with this argument (its lower 32 bits), where `place` is 0 to 5.
struct RefusedCall {
    long call = 0;
    int sys_errno = 0;
    int place = -1;
    std::uint32_t argument = 0;
};

inline std::vector<sock_filter> filter_of(std::initializer_list<RefusedCall> refusals) {
    const auto load = [](std::size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    };
    const auto skip_unless = [](std::uint32_t value, std::uint8_t steps) {
        return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, steps);
    };
    std::vector<sock_filter> filter;
    for (const RefusedCall& one : refusals) {
        const bool any = one.place < 0;
        filter.push_back(load(offsetof(seccomp_data, nr)));
        filter.push_back(skip_unless(static_cast<std::uint32_t>(one.call), any ? 1 : 3));
        if (!any) {
            filter.push_back(load(offsetof(seccomp_data, args) +
                                  sizeof(std::uint64_t) * static_cast<std::size_t>(one.place)));
            filter.push_back(skip_unless(one.argument, 1));
        }
        filter.push_back(BPF_STMT(BPF_RET | BPF_K,
                                  SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(one.sys_errno)));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter;
}

/// Runs `body` on its own thread, and threads that it starts, with these refusals. False where the
/// host allows no filter: then nothing ran.
template <typename Body>
[[nodiscard]] bool while_refusing(std::initializer_list<RefusedCall> refusals, Body body) {
    std::vector<sock_filter> filter = filter_of(refusals);
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    bool filtered = false;
    std::thread thread([&] {
        filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
        if (filtered) {
            body();
        }
    });
    thread.join();
    return filtered;
}

class RefusingKernel : public testing::Test {
  protected:
    void SetUp() override {
        if (!while_refusing({}, [] {})) {
            GTEST_SKIP() << "no seccomp filters here";
        }
    }
};

}  // namespace driftless
