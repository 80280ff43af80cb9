/// Child: a process that we start, wait for and never forget. Its destructor kills what still runs.
/// Nothing here waits without a bound, and a signal to us ends no wait unseen: waits are cut into
/// slices, between which the caller looks at `stop_requests`.
///
/// It is started without a copy of our memory (vfork), so that no page of the engine's becomes
/// copy-on-write. It has the CPUs and the priority of the thread that starts it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

/// This program, whatever its name and folder are now.
inline constexpr const char* own_program = "/proc/self/exe";

struct ChildCommand {
    std::string program;                   ///< path of an executable
    std::vector<std::string> arguments;    ///< the first is its name
    std::vector<std::string> environment;  ///< "NAME=value", all of it
    int output = -1;                       ///< its stdout; -1: /dev/null. Stays the caller's
    int messages = -1;                     ///< its stderr, likewise
    /// A process group of its own: signals of the terminal do not reach it, and `signal_group`
    /// reaches what it starts.
    bool own_group = true;
    /// The kernel kills it when the thread that started it ends, also by SIGKILL.
    bool dies_with_us = true;
};

/// How a process ended.
struct ChildEnd {
    int exit_code = -1;  ///< -1: a signal ended it
    int signal = 0;      ///< ... this one; 0: none, or it is not known how it ended
};

class Child {
  public:
    /// Starts it; its stdin is /dev/null, signal handlers are the default ones. From here on this
    /// process does not ignore SIGCHLD. Errors: not_found,
    /// denied, exhausted, io_failed, of the program as well as of the process.
    static Result<Child> start(const ChildCommand& command);

    /// How it ended, as soon as it has. Nothing where it has not: after `ns`, after 200 ms, or when
    /// a signal came, whatever is first. The process is not reaped before the destructor: its group
    /// can be signalled until then.
    std::optional<ChildEnd> wait(std::int64_t ns);
    /// Readable when it has ended.
    int end_fd() const { return handle_; }

    void signal(int number) const;
    /// Everything in its group, also once it has ended itself. Only with `own_group`.
    void signal_group(int number) const;
    pid_t id() const { return id_; }

    /// Kills it, where it still runs, and reaps it.
    ~Child();
    Child(Child&& other) noexcept
        : id_(std::exchange(other.id_, -1)), handle_(std::exchange(other.handle_, -1)) {}
    Child& operator=(Child&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

  private:
    Child(pid_t id, int handle) : id_(id), handle_(handle) {}

    pid_t id_ = -1;
    int handle_ = -1;  ///< pidfd
};

/// The environment of this process, "NAME=value" each, without the variables named in `without`.
std::vector<std::string> own_environment(const std::vector<std::string>& without = {});

/// A new or emptied file that children write to; close-on-exec. Errors: those of open.
Result<int> open_output(const std::string& path);

}  // namespace driftless
