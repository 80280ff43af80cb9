// What the kernel counts of a thread: CPU time is that of the thread's own clock, a fresh page is a
// fault, and what cannot be counted says why.
#include "engine/host/thread_meter.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>

namespace driftless {
namespace {

std::int64_t thread_clock_ns() {
    timespec time{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// User and system time together are the thread's CPU clock, which is asked before and after.
TEST(ThreadMeter, CpuTimeIsThatOfTheThreadsClock) {
    const ThreadMeter meter;
    const std::int64_t before_ns = thread_clock_ns();
    const ThreadUse before = meter.read();
    while (thread_clock_ns() < before_ns + 20'000'000) {  // bounded by its own CPU time
    }
    const ThreadUse use = meter.read() - before;
    const std::int64_t after_ns = thread_clock_ns();
    constexpr std::int64_t rounding_ns = 2'000;  // two figures in whole microseconds
    EXPECT_LE(use.user_ns + use.system_ns, after_ns - before_ns + rounding_ns);
    EXPECT_GE(use.user_ns + use.system_ns, 20'000'000 - 1'000'000);
    EXPECT_GE(use.voluntary_switches, 0);
    EXPECT_GE(use.involuntary_switches, 0);
}

TEST(ThreadMeter, AFreshPageIsAFault) {
    constexpr std::size_t bytes = 1 << 20;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
    const ThreadMeter meter;
    const ThreadUse before = meter.read();
    for (std::size_t at = 0; at < bytes; at += 65'536) {
        static_cast<volatile char*>(memory)[at] = 1;
    }
    const ThreadUse use = meter.read() - before;
    EXPECT_GE(use.minor_faults, 16);
    EXPECT_GE(use.major_faults, 0);
    ::munmap(memory, bytes);
}

// Counted or explained, never both and never neither.
TEST(ThreadMeter, InstructionsAreCountedOrExplained) {
    const ThreadMeter meter;
    const ThreadUse use = meter.read();
    EXPECT_EQ(use.instructions < 0, !meter.why_no_instructions().empty());
}

TEST(ThreadUse, WhatIsUnknownStaysUnknown) {
    const ThreadUse unknown;
    ThreadUse known;
    known.instructions = 7;
    EXPECT_EQ((known - unknown).instructions, -1);
    EXPECT_EQ((unknown - known).instructions, -1);
    EXPECT_EQ((known - known).instructions, 0);
}

}  // namespace
}  // namespace driftless
