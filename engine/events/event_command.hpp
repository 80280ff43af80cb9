/// EventCommand: a command of an event that runs beside the engine: started, listened to, ended. It
/// owns the process and the read end of its output.
///
/// It leads a process group of its own, which the terminal does not signal; what it leaves behind
/// in that group ends with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "engine/host/child.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class EventCommand {
  public:
    /// Runs `/bin/sh -c command`. Errors: those of Child; exhausted, of the pipe.
    static Result<EventCommand> start(const std::string& command);
    ~EventCommand();
    EventCommand(EventCommand&& other) noexcept;
    EventCommand& operator=(EventCommand&&) = delete;
    EventCommand(const EventCommand&) = delete;
    EventCommand& operator=(const EventCommand&) = delete;

    /// Readable when it has ended.
    int end_fd() const { return child_.end_fd(); }
    /// Readable when it has said something; -1 once all was read.
    int output_fd() const { return output_fd_; }
    /// Reads what is there: up to `kept_max` bytes in all go to `kept`. Never blocks.
    void read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read);

    /// SIGTERM to the whole group.
    void ask_to_end() const;
    /// SIGKILL to the whole group.
    void kill() const;
    /// How it ended; nothing while it runs. Then the rest of its group is killed.
    std::optional<ChildEnd> end();

  private:
    EventCommand(Child child, int output_fd) : child_(std::move(child)), output_fd_(output_fd) {}

    Child child_;
    bool owns_group_ = true;  ///< false: it has moved, or its group was ended
    int output_fd_ = -1;
};

}  // namespace driftless
