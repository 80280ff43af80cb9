// Threads and child processes.

#include "engine/host/threads.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "engine/host/host.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

/// The keeper's thread, among those of this process; 0: there is none.
int keeper() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        const std::string name(std::istreambuf_iterator<char>(file), {});
        if (name == "keeper\n") {
            return std::stoi(task.path().filename());
        }
    }
    return 0;
}

TEST(Scheduling, SlicesAndKeepers) {
    std::thread([] {
        const std::int64_t slice_ns = ask_for_slice(engine_slice_ns);
        EXPECT_TRUE(slice_ns == engine_slice_ns || slice_ns == 0) << slice_ns;
        const Result<Granted> granted = schedule_engine(Scheduling::slice);
        ASSERT_TRUE(granted);
        EXPECT_EQ(granted.value().slice_ns, slice_ns) << "what is granted is read back";
        EXPECT_EQ(granted.value().scheduling,
                  slice_ns == 0 ? Scheduling::ordinary : Scheduling::slice);
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    }).join();
    CpuKeeper kept;
    ASSERT_TRUE(kept.start(allowed_cpus().front()));
    int thread = 0;
    for (int tries = 0; thread == 0 && tries < 100'000; ++tries) {
        thread = keeper();
        ::sched_yield();
    }
    ASSERT_NE(thread, 0);
    cpu_set_t cpus;
    ASSERT_EQ(::sched_getaffinity(thread, sizeof cpus, &cpus), 0);
    EXPECT_EQ(CPU_COUNT(&cpus), 1);
    EXPECT_NE(CPU_ISSET(allowed_cpus().front(), &cpus), 0);
    EXPECT_GT(kept.stop(), 0);
    EXPECT_EQ(keeper(), 0);
    EXPECT_EQ(parse_running("0.20 0.18 0.12 1/80 11206\n"), 1u);
    EXPECT_EQ(parse_running("12.20 0.18 0.12 37/1080 11206\n"), 37u);
    for (const char* text : {"", " ", "0.20 0.18 0.12", "0.20 0.18 0.12 x/80 1", "1 2 3 4"}) {
        EXPECT_FALSE(parse_running(text)) << text;
    }
    const auto needed = [](const CpuNeed& need) { return need.others_need_it(); };
    EXPECT_FALSE(needed({32, 20, 4, 32'000'000, 300'000}));
    EXPECT_TRUE(needed({32, 20, 4, 32'000'000, 700'000})) << "others ran there";
    EXPECT_TRUE(needed({32, 0, 4, 32'000'000, 0})) << "no CPU was ever idle";
    EXPECT_TRUE(needed({32, 8, 17, 32'000'000, 0})) << "threads waited";
    EXPECT_FALSE(needed({}));
}

// A process of another session, and so perhaps of another group of threads.
TEST(Scheduling, KeepersAndYieldsTakeNothingFromOthers) {
    const std::uint32_t cpu = allowed_cpus().front();
    const pid_t busy = ::fork();
    if (busy == 0) {
        (void)::setsid();
        const cpu_set_t cpus = cpu_set_of({cpu});
        (void)::sched_setaffinity(0, sizeof cpus, &cpus);
        for (;;) {  // until it is killed
        }
    }
    ASSERT_GT(busy, 0);
    CpuKeeper kept;
    ASSERT_TRUE(kept.start(cpu));
    const timespec a_second{1, 0};
    (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &a_second, nullptr);
    EXPECT_LT(kept.stop(), 250'000'000) << "its part of two equals is half a second";
    (void)::kill(busy, SIGKILL);
    (void)::waitpid(busy, nullptr, 0);
    // Where it is not free no CPU is kept awake.
    std::thread([] {
        const std::uint32_t other_cpu = allowed_cpus().front();
        const cpu_set_t cpus = cpu_set_of({other_cpu});
        ASSERT_EQ(::sched_setaffinity(0, sizeof cpus, &cpus), 0);
        if (!yielding_is_free(other_cpu)) {
            GTEST_SKIP() << "it takes its part here";
        }
        CpuKeeper other_kept;
        ASSERT_TRUE(other_kept.start(other_cpu));
        const std::int64_t begin_ns = monotonic_ns();
        while (monotonic_ns() - begin_ns < 50'000'000) {
        }
        EXPECT_LT(other_kept.stop(), 50'000'000 / 4);
    }).join();
}

// Of an ordinary thread: it asks for what it has, or is refused, which is all the same.
TEST(Scheduling, WhoNeverSleepsStepsAsideForASecond) {
    std::thread([] {
        StepsAside aside;
        Instant now{0};
        const auto after = [&aside, &now](Duration passed, Duration slept) {
            now = now + passed;
            aside.note_sleep(slept);
            EXPECT_TRUE(aside.is_due(now));
            aside.look(now);
        };
        after(milliseconds(1), Duration{0});  // the first look only begins
        EXPECT_FALSE(aside.is_aside() || aside.is_due(now + milliseconds(99)));
        after(milliseconds(100), milliseconds(10));
        EXPECT_FALSE(aside.is_aside());
        after(milliseconds(100), milliseconds(9));
        EXPECT_TRUE(aside.is_aside());
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
        after(milliseconds(100), milliseconds(50));
        EXPECT_TRUE(aside.is_aside()) << "for a second";
        after(seconds(1), milliseconds(19));
        EXPECT_TRUE(aside.is_aside()) << "it does not sleep enough yet";
        after(milliseconds(100), milliseconds(20));
        EXPECT_EQ(aside.times(), 1U);
        const bool is_back = (::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
        EXPECT_EQ(aside.is_aside(), !is_back) << "where it may";
    }).join();
}

// What the kernel counts of a thread: CPU time is that of the thread's own clock, a fresh page is a
// fault, and what cannot be counted says why.

std::int64_t thread_clock_ns() {
    timespec time{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

using ThreadRefused = RefusingKernel;

struct Starts {
    std::atomic<bool> ran = false;
    void run() { ran = true; }
};

TEST_F(ThreadRefused, AThreadStartsWhereItsClassAndCpusAreUnknown) {
    EXPECT_TRUE(while_refusing({{SYS_sched_setscheduler, EPERM}}, [] {
        Starts starts;
        SideThread thread;
        const cpu_set_t unknown{};
        ASSERT_TRUE(thread.start<&Starts::run>("side", &unknown, starts));
        thread.join();
        EXPECT_TRUE(starts.ran);
    }));
}

// User and system time together are the thread's CPU clock, which is asked before and after.
TEST(ThreadMeter, CountsCpuTimeFaultsAndInstructions) {
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
    constexpr std::size_t bytes = 1 << 20;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
    const ThreadUse untouched = meter.read();
    for (std::size_t at = 0; at < bytes; at += 65'536) {
        static_cast<volatile char*>(memory)[at] = 1;
    }
    const ThreadUse touched = meter.read() - untouched;
    EXPECT_GE(touched.minor_faults, 16);
    EXPECT_GE(touched.major_faults, 0);
    ::munmap(memory, bytes);
    // Counted or explained, never both and never neither.
    const ThreadUse other_use = meter.read();
    EXPECT_EQ(other_use.instructions < 0, !meter.why_no_instructions().empty());
}

TEST(ThreadUse, WhatIsUnknownStaysUnknown) {
    const ThreadUse unknown;
    ThreadUse known{.instructions = 7};
    EXPECT_EQ((known - unknown).instructions, -1);
    EXPECT_EQ((unknown - known).instructions, -1);
    EXPECT_EQ((known - known).instructions, 0);
}

// Child: how a process ends is told, also one that cannot begin; what is left running is killed.

constexpr std::int64_t second = 1'000'000'000;

ChildCommand shell(const std::string& text) {
    return ChildCommand{
        .program = "/bin/sh", .arguments = {"sh", "-c", text}, .environment = own_environment()};
}

ChildEnd end_of(Child& child) {
    for (int tries = 0; tries < 300; ++tries) {
        if (const std::optional<ChildEnd> end = child.wait(second); end) {
            return *end;
        }
    }
    ADD_FAILURE() << "does not end";
    return {};
}

TEST(Child, SaysHowItEndedAndGetsItsEnvironment) {
    Child three = Child::start(shell("exit 3")).value();
    EXPECT_EQ(end_of(three).exit_code, 3);
    EXPECT_EQ(end_of(three).exit_code, 3);  // as often as asked
    Child killed = Child::start(shell("kill -9 $$")).value();
    const ChildEnd end = end_of(killed);
    EXPECT_EQ(std::tuple(end.exit_code, end.signal), std::tuple(-1, SIGKILL));
    ChildCommand command = shell("");
    command.program = "/nowhere/at/all";
    const Result<Child> child = Child::start(command);
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, ErrorCode::not_found);
    // A supervisor may start us so; then the kernel would forget how a child ended.
    (void)::signal(SIGCHLD, SIG_IGN);
    three = Child::start(shell("exit 3")).value();
    EXPECT_EQ(end_of(three).exit_code, 3);
    const ScratchFolder folder;
    const Fd file = open_output(folder / "out").value();
    command = shell("echo $A; echo $B >&2; cat");
    command.environment = {"A=one", "B=two"};
    command.output = command.messages = file.number();
    Result<Child> other_child = Child::start(command);
    ASSERT_TRUE(other_child);
    EXPECT_EQ(end_of(other_child.value()).exit_code, 0);
    EXPECT_EQ(read_bytes(folder / "out"), "one\ntwo\n");
    // A command that ignores SIGPIPE, as ours do, must not hand that on: `yes | head` would not
    // end.
    (void)::signal(SIGPIPE, SIG_IGN);
    Result<Child> signalled = Child::start(shell("kill -PIPE $$; exit 0"));
    (void)::signal(SIGPIPE, SIG_DFL);
    ASSERT_TRUE(signalled);
    EXPECT_EQ(end_of(signalled.value()).signal, SIGPIPE);
}

TEST(Child, EndsWithItsGroupAndItsOwner) {
    const ScratchFolder folder;
    const std::string pid_file = folder / "pid";
    Child child = Child::start(shell("sleep 600 & echo $! > " + pid_file + "; exit 0")).value();
    EXPECT_EQ(end_of(child).exit_code, 0);
    const pid_t left = static_cast<pid_t>(std::stol(read_bytes(pid_file)));
    EXPECT_EQ(::kill(left, 0), 0);  // it goes on, until its group is ended
    child.signal_group(SIGKILL);
    for (int tries = 0; tries < 10000 && ::kill(left, 0) == 0; ++tries) {
        std::ifstream stat("/proc/" + std::to_string(left) + "/stat");
        const std::string line(std::istreambuf_iterator<char>(stat), {});
        if (line.find(") Z") != line.npos) {
            return;  // dead, and its new parent has not looked yet
        }
        ::usleep(1000);
    }
    EXPECT_NE(::kill(left, 0), 0);
    pid_t id = 0;
    {
        Child other_child = Child::start(shell("sleep 600")).value();
        id = other_child.id();
        EXPECT_FALSE(other_child.wait(1));
    }
    EXPECT_NE(::kill(id, 0), 0);
}

}  // namespace
}  // namespace driftless
