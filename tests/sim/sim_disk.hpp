/// SimDisk: the folder of a simulated run, and all that can go wrong with it. The files are real
/// and the product's own code opens, writes, cuts and reads them; between its `write` and the
/// kernel's stands this disk (the linker's `--wrap=write`), which may be full, may refuse one file,
/// and may see the process die in the middle of a line.
///
/// One at a time: while it lives, every `write` of the program that the linker wraps goes through
/// it. It removes its folder in the end.
#pragma once

#include <sys/types.h>

#include "tests/std.hpp"

namespace driftless::sim {

/// What a disk has room for. As on a real one, what is too much is cut short, then refused.
struct DiskRoom {
    std::optional<std::uint64_t> bytes;  ///< in all; nullopt: for everything
    std::string only_for;  ///< name of the one file that is refused; empty: all share the room
};

class SimDisk {
  public:
    SimDisk();
    ~SimDisk();
    SimDisk(const SimDisk&) = delete;
    SimDisk& operator=(const SimDisk&) = delete;

    /// From here on: the disk has this room, and nobody dies.
    void begin(const DiskRoom& room);
    /// The process dies when so many bytes more have been written, maybe in the middle of a
    /// `write`. It is told of nothing: what it writes from there on is taken, and lost.
    void die_after(std::uint64_t bytes) { life_ = bytes; }

    const std::string& folder() const { return folder_; }
    /// Empty where there is no such file.
    std::string read(const char* name) const;
    std::uint64_t size(const char* name) const;
    /// The end of a file is lost.
    void cut(const char* name, std::uint64_t bytes) const;

    /// Instead of the kernel's.
    ssize_t write(int fd, const void* bytes, std::size_t count);

  private:
    bool refuses(int fd) const;

    std::string folder_;
    DiskRoom room_;
    std::optional<std::uint64_t> life_;  ///< bytes until the process dies; nullopt: it does not
};

}  // namespace driftless::sim
