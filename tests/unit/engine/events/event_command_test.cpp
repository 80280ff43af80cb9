// Commands beside the engine: what they say, how they end, and that nothing of them is left.
#include "engine/events/event_command.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace driftless {
namespace {

/// Everything that a command says, and how it ended.
struct Heard {
    explicit Heard(const std::string& command, std::size_t kept_max = 4096)
        : child(std::move(EventCommand::start(command)).value()) {
        while (!end) {
            wait();
            child.read_output(said, kept_max, bytes);
            end = child.end();
        }
        child.read_output(said, kept_max, bytes);
    }
    void wait() const {
        pollfd watched[] = {{child.end_fd(), POLLIN, 0}, {child.output_fd(), POLLIN, 0}};
        ASSERT_GT(::poll(watched, 2, 60'000), 0);
    }
    EventCommand child;
    std::string said;
    std::uint64_t bytes = 0;
    std::optional<ChildEnd> end;
};

bool is_alive(pid_t process) {
    return ::kill(process, 0) == 0 || errno != ESRCH;
}

TEST(EventCommand, IsHeardToItsEnd) {
    const Heard good("echo one; echo two >&2");
    EXPECT_EQ(good.said, "one\ntwo\n");
    EXPECT_EQ(good.end->exit_code, 0);
    EXPECT_EQ(Heard("exit 7").end->exit_code, 7);
    EXPECT_EQ(Heard("./is-not-there").end->exit_code, 127);
    EXPECT_EQ(Heard("kill -9 $$").end->signal, 9);
    EXPECT_EQ(Heard("cat").end->exit_code, 0) << "standard input is empty";
}

// At the limit - 1, at it, at it + 1: all is read, so much is kept.
TEST(EventCommand, KeepsSoMuchOfWhatItSays) {
    for (const std::size_t bytes : {99u, 100u, 101u, 200'000u}) {
        const Heard heard("head -c " + std::to_string(bytes) + " /dev/zero", 100);
        EXPECT_EQ(heard.said.size(), std::min<std::size_t>(bytes, 100));
        EXPECT_EQ(heard.bytes, bytes);
    }
}

// No signal is blocked or ignored there, whatever its parent does.
TEST(EventCommand, HasSignalsOfItsOwn) {
    struct sigaction before{};
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGTERM, &ignore, &before), 0);
    EXPECT_EQ(Heard("kill -TERM $$; echo alive").said, "");
    ASSERT_EQ(::sigaction(SIGTERM, &before, nullptr), 0);
}

// What it leaves behind in its group ends with it, and all of it where it is given up.
TEST(EventCommand, LeavesNobodyBehind) {
    const Heard heard("sleep 1000 > /dev/null 2>&1 & echo $!");
    const pid_t left = std::stoi(heard.said);
    for (int i = 0; i < 1000 && is_alive(left); ++i) {
        ::usleep(10'000);  // polls the kernel: whoever adopted it reaps it
    }
    EXPECT_FALSE(is_alive(left));
    Result<EventCommand> given_up = EventCommand::start("sleep 1000 & wait");
    ASSERT_TRUE(given_up);
}

TEST(EventCommand, EndsWhenItIsAsked) {
    Result<EventCommand> made = EventCommand::start("sleep 1000");
    ASSERT_TRUE(made);
    EXPECT_FALSE(made.value().end());
    made.value().ask_to_end();
    pollfd watched{made.value().end_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
    EXPECT_EQ(made.value().end()->signal, SIGTERM);
    EXPECT_EQ(made.value().end()->signal, SIGTERM) << "as often as asked";
}

}  // namespace
}  // namespace driftless
