#include "engine/events/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/io/sockets.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Reads of one call: the thread that reads has others to look after.
constexpr int reads_max = 16;

/// The attributes and actions of a spawn, destroyed whatever comes.
struct Spawn {
    Spawn() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~Spawn() {
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    Spawn(const Spawn&) = delete;
    Spawn& operator=(const Spawn&) = delete;

    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

/// 0, or why not.
int spawn(const std::string& command, int output, pid_t& process) {
    Spawn how;
    posix_spawn_file_actions_addopen(&how.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&how.actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&how.actions, output, STDERR_FILENO);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how.attributes, &none);
    posix_spawnattr_setsigdefault(&how.attributes, &all);
    posix_spawnattr_setpgroup(&how.attributes, 0);
    posix_spawnattr_setflags(
        &how.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string words[] = {"sh", "-c", command};
    std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    return ::posix_spawn(&process, "/bin/sh", &how.actions, &how.attributes, arguments.data(),
                         environ);
}

}  // namespace

Result<Child> Child::start(const std::string& command) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "open a pipe for its output");
    }
    (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pid_t process = 0;
    const int failure = spawn(command, ends[1], process);
    ::close(ends[1]);
    if (failure != 0) {
        ::close(ends[0]);
        return error_from_errno(failure, "start /bin/sh");
    }
    Child child(process, static_cast<int>(::syscall(SYS_pidfd_open, process, 0)), ends[0]);
    if (child.end_fd_ < 0) {
        return error_from_errno(errno, "watch it");  // its destructor ends it
    }
    return child;
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      end_fd_(std::exchange(other.end_fd_, -1)),
      output_fd_(std::exchange(other.output_fd_, -1)) {}

Child::~Child() {
    if (process_ != 0) {
        kill();
        (void)::waitpid(process_, nullptr, 0);
    }
    for (const int fd : {end_fd_, output_fd_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

void Child::read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read) {
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

void Child::ask_to_end() {
    CHECK(process_ > 0);
    (void)::kill(-process_, SIGTERM);
}

void Child::kill() {
    CHECK(process_ > 0);
    (void)::kill(-process_, SIGKILL);
}

// While its leader is not reaped, nobody else can get the number of the group.
std::optional<ChildEnd> Child::reap() {
    if (process_ == 0) {
        return std::nullopt;
    }
    siginfo_t facts{};
    if (::waitid(P_PID, static_cast<id_t>(process_), &facts, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        facts.si_pid == 0) {
        return std::nullopt;
    }
    kill();
    int status = 0;
    (void)::waitpid(process_, &status, 0);
    process_ = 0;
    ChildEnd end;
    if (WIFEXITED(status)) {
        end.code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        end.signal = WTERMSIG(status);
    }
    return end;
}

}  // namespace driftless
