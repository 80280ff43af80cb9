#include "engine/host/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
// A signal that comes just before a wait does not end it: the caller sees it this much later.
constexpr std::int64_t slice_ms = 200;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) {
        pointers.push_back(const_cast<char*>(text.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

/// What the new process does before it becomes the program. Until then it has our memory, and the
/// thread that started it stands still: only system calls here. Returns an errno.
int become(const ChildCommand& command, char* const* argv, char* const* envp, pid_t parent) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD}) {
        (void)::signal(number, SIG_DFL);  // what is ignored stays ignored across exec
    }
    if (command.own_group && ::setpgid(0, 0) != 0) {
        return errno;
    }
    if (command.dies_with_us) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {  // it ended before the kernel knew
            ::_exit(1);
        }
    }
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0 || ::dup2(nowhere, STDIN_FILENO) < 0 ||
        ::dup2(command.output >= 0 ? command.output : nowhere, STDOUT_FILENO) < 0 ||
        ::dup2(command.messages >= 0 ? command.messages : nowhere, STDERR_FILENO) < 0) {
        return errno;
    }
    sigset_t none;
    (void)::sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)::execve(command.program.c_str(), argv, envp);
    return errno;
}

void reap(pid_t id) {
    while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

Result<Child> Child::start(const ChildCommand& command) {
    const std::vector<char*> argv = pointers_to(command.arguments);
    const std::vector<char*> envp = pointers_to(command.environment);
    (void)::signal(SIGCHLD, SIG_DFL);  // who started us may ignore it: then no end could be read
    // Until exec the child has our handlers: no signal may reach them there.
    sigset_t all;
    sigset_t before;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = ::getpid();
    volatile int failed = 0;  // written by the child, which has our memory until it is the program
    const pid_t id = ::vfork();
    if (id == 0) {
        failed = become(command, argv.data(), envp.data(), parent);
        ::_exit(127);
    }
    if (id < 0) {
        failed = errno;
    }
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int handle = failed == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, id, 0)) : -1;
    if (handle >= 0) {
        return Child(id, handle);
    }
    if (failed == 0) {
        failed = errno;
    }
    if (id > 0) {
        (void)::kill(id, SIGKILL);
        reap(id);
    }
    return error_from_errno(failed, "start a process");
}

std::optional<ChildEnd> Child::wait(std::int64_t ns) {
    const std::int64_t ms = std::clamp<std::int64_t>((ns + ns_per_ms - 1) / ns_per_ms, 0, slice_ms);
    pollfd ended{handle_, POLLIN, 0};
    const int got = ::poll(&ended, 1, static_cast<int>(ms));
    if (got <= 0) {
        return std::nullopt;
    }
    siginfo_t end{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &end, WEXITED | WNOWAIT | WNOHANG) != 0) {
        return ChildEnd{};  // somebody else reaped it
    }
    if (end.si_pid != id_) {
        return std::nullopt;
    }
    return end.si_code == CLD_EXITED ? ChildEnd{end.si_status, 0} : ChildEnd{-1, end.si_status};
}

void Child::signal(int number) const {
    (void)::kill(id_, number);
}

void Child::signal_group(int number) const {
    (void)::kill(-id_, number);
}

Child::~Child() {
    if (id_ > 0) {
        (void)::kill(id_, SIGKILL);
        reap(id_);
    }
    if (handle_ >= 0) {
        (void)::close(handle_);
    }
}

std::vector<std::string> own_environment(const std::vector<std::string>& without) {
    std::vector<std::string> kept;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view entry = *one;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (std::find(without.begin(), without.end(), name) == without.end()) {
            kept.emplace_back(entry);
        }
    }
    return kept;
}

Result<int> open_output(const std::string& path) {
    const int number =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return number >= 0 ? Result<int>(number)
                       : Result<int>(error_from_errno(errno, "create a file"));
}

}  // namespace driftless
