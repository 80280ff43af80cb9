/// Child: a command that runs beside the engine: started, listened to, ended. It owns the process
/// and the read end of its output.
///
/// It is started without a copy of our memory (posix_spawn, a vfork inside), so that no page of the
/// engine's becomes copy-on-write. It leads a process group of its own, which the terminal does not
/// signal; what it leaves behind in that group ends with it. It has the CPUs and the priority of
/// the thread that starts it, no signal is blocked or ignored in it, and standard input is empty.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/core/result.hpp"

namespace driftless {

struct ChildEnd {
    std::optional<int> code;    ///< of the exit
    std::optional<int> signal;  ///< that ended it
};

class Child {
  public:
    /// Runs `/bin/sh -c command`. Errors: exhausted, not_found, io_failed.
    static Result<Child> start(const std::string& command);
    ~Child();
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Readable when it has ended.
    int end_fd() const { return end_fd_; }
    /// Readable when it has said something; -1 once all was read.
    int output_fd() const { return output_fd_; }
    /// Reads what is there: up to `kept_max` bytes in all go to `kept`. Never blocks.
    void read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read);

    /// SIGTERM to the whole group.
    void ask_to_end();
    /// SIGKILL to the whole group.
    void kill();
    /// How it ended; nothing while it runs. Then the rest of its group is killed.
    std::optional<ChildEnd> reap();

  private:
    Child(pid_t process, int end_fd, int output_fd)
        : process_(process), end_fd_(end_fd), output_fd_(output_fd) {}

    pid_t process_ = 0;  ///< and its group; 0: reaped
    int end_fd_ = -1;
    int output_fd_ = -1;
};

}  // namespace driftless
