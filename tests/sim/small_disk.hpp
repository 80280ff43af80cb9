/// SmallDisk: a place for one file that is full after a given byte. The kernel itself refuses what
/// is too much (RLIMIT_FSIZE): writes are cut short, then fail with EFBIG, as on a full disk with
/// ENOSPC. The limit is the process's, so it stands only as long as a `Limit` lives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/record/line_sink.hpp"

namespace driftless::sim {

class SmallDisk {
  public:
    /// nullopt: no file, no limit.
    explicit SmallDisk(std::optional<std::uint64_t> bytes) : bytes_(bytes) {}
    ~SmallDisk();
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool bounded() const { return bytes_.has_value(); }
    /// The file, in a folder of its own that goes with the disk. Once.
    LineSink open();
    std::string read() const;

    class Limit {
      public:
        explicit Limit(const SmallDisk& disk);
        ~Limit();
        Limit(const Limit&) = delete;
        Limit& operator=(const Limit&) = delete;

      private:
        bool set_ = false;
    };

  private:
    std::optional<std::uint64_t> bytes_;
    std::string folder_;
};

}  // namespace driftless::sim
