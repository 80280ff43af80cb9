// Child: how a process ends is told, also one that cannot begin; what is left running is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "engine/host/threads.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

ChildCommand shell(const std::string& text) {
    ChildCommand command;
    command.program = "/bin/sh";
    command.arguments = {"sh", "-c", text};
    command.environment = own_environment();
    return command;
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

TEST(Child, SaysHowItEnded) {
    Result<Child> three = Child::start(shell("exit 3"));
    ASSERT_TRUE(three);
    EXPECT_EQ(end_of(three.value()).exit_code, 3);
    EXPECT_EQ(end_of(three.value()).exit_code, 3);  // as often as asked
    Result<Child> killed = Child::start(shell("kill -9 $$"));
    ASSERT_TRUE(killed);
    const ChildEnd end = end_of(killed.value());
    EXPECT_EQ(end.exit_code, -1);
    EXPECT_EQ(end.signal, SIGKILL);
}

// A supervisor may start us so; then the kernel would forget how a child ended.
TEST(Child, SaysSoWhereChildrenWereIgnored) {
    (void)::signal(SIGCHLD, SIG_IGN);
    Result<Child> three = Child::start(shell("exit 3"));
    ASSERT_TRUE(three);
    EXPECT_EQ(end_of(three.value()).exit_code, 3);
}

TEST(Child, AProgramThatIsNotThere) {
    ChildCommand command = shell("");
    command.program = "/nowhere/at/all";
    const Result<Child> child = Child::start(command);
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, ErrorCode::not_found);
}

TEST(Child, GetsItsEnvironmentAndItsFiles) {
    const ScratchFolder folder;
    const Result<int> file = open_output(folder / "out");
    ASSERT_TRUE(file);
    ChildCommand command = shell("echo $A; echo $B >&2; cat");
    command.environment = {"A=one", "B=two"};
    command.output = command.messages = file.value();
    Result<Child> child = Child::start(command);
    (void)::close(file.value());
    ASSERT_TRUE(child);
    EXPECT_EQ(end_of(child.value()).exit_code, 0);
    EXPECT_EQ(read_bytes(folder / "out"), "one\ntwo\n");
}

// A command that ignores SIGPIPE, as ours do, must not hand that on: `yes | head` would not end.
TEST(Child, SignalsAreTheDefaultOnes) {
    (void)::signal(SIGPIPE, SIG_IGN);
    Result<Child> child = Child::start(shell("kill -PIPE $$; exit 0"));
    (void)::signal(SIGPIPE, SIG_DFL);
    ASSERT_TRUE(child);
    EXPECT_EQ(end_of(child.value()).signal, SIGPIPE);
}

TEST(Child, AGroupEndsWithWhatItStarted) {
    const ScratchFolder folder;
    const std::string pid_file = folder / "pid";
    Result<Child> child = Child::start(shell("sleep 600 & echo $! > " + pid_file + "; exit 0"));
    ASSERT_TRUE(child);
    EXPECT_EQ(end_of(child.value()).exit_code, 0);
    const pid_t left = static_cast<pid_t>(std::stol(read_bytes(pid_file)));
    EXPECT_EQ(::kill(left, 0), 0);  // it goes on, until its group is ended
    child.value().signal_group(SIGKILL);
    for (int tries = 0; tries < 10000 && ::kill(left, 0) == 0; ++tries) {
        std::ifstream stat("/proc/" + std::to_string(left) + "/stat");
        const std::string line(std::istreambuf_iterator<char>(stat), {});
        if (line.find(") Z") != line.npos) {
            return;  // dead, and its new parent has not looked yet
        }
        ::usleep(1000);
    }
    EXPECT_NE(::kill(left, 0), 0);
}

TEST(Child, IsKilledWithItsOwner) {
    pid_t id = 0;
    {
        Result<Child> child = Child::start(shell("sleep 600"));
        ASSERT_TRUE(child);
        id = child.value().id();
        EXPECT_FALSE(child.value().wait(1));
    }
    EXPECT_NE(::kill(id, 0), 0);
}

}  // namespace
}  // namespace driftless
