#include "engine/events/event_command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

/// Reads of one call: the thread that reads has others to look after.
constexpr int reads_max = 16;

}  // namespace

Result<EventCommand> EventCommand::start(const std::string& command) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "open a pipe for its output");
    }
    (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    ChildCommand shell;
    shell.program = "/bin/sh";
    shell.arguments = {"sh", "-c", command};
    shell.environment = own_environment();
    shell.output = ends[1];
    shell.messages = ends[1];
    shell.dies_with_us = false;  // what it may do to a server goes on to its end
    Result<Child> child = Child::start(shell);
    ::close(ends[1]);
    if (!child) {
        ::close(ends[0]);
        return child.error();
    }
    return EventCommand(std::move(child).value(), ends[0]);
}

EventCommand::EventCommand(EventCommand&& other) noexcept
    : child_(std::move(other.child_)),
      owns_group_(std::exchange(other.owns_group_, false)),
      output_fd_(std::exchange(other.output_fd_, -1)) {}

EventCommand::~EventCommand() {
    if (owns_group_) {
        kill();
    }
    if (output_fd_ >= 0) {
        ::close(output_fd_);
    }
}

void EventCommand::read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read) {
    char bytes[4096];
    for (int i = 0; i < reads_max && output_fd_ >= 0; ++i) {
        const ssize_t count = ::read(output_fd_, bytes, sizeof bytes);
        if (count < 0) {
            return;  // nothing is there now
        }
        if (count == 0) {
            ::close(output_fd_);
            output_fd_ = -1;
            return;
        }
        const auto whole = static_cast<std::size_t>(count);
        kept.append(bytes, std::min(whole, kept_max - std::min(kept_max, kept.size())));
        read += whole;
    }
}

void EventCommand::ask_to_end() const {
    child_.signal_group(SIGTERM);
}

void EventCommand::kill() const {
    child_.signal_group(SIGKILL);
}

// While its leader is not reaped, nobody else can get the number of the group.
std::optional<ChildEnd> EventCommand::end() {
    const std::optional<ChildEnd> end = child_.wait(0);
    if (end && owns_group_) {
        kill();
        owns_group_ = false;
    }
    return end;
}

}  // namespace driftless
