/// OutputSink: bytes into a new file, compressed as its name says. The way out, beside the way in
/// because both know libarchive.
///
/// .gz, .bz2, .xz and .zst are compressed, all else is plain; "-" is standard output. It never
/// overwrites: the file must not be there. Owns the descriptor. What was not finished is removed
/// again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

class OutputSink {
  public:
    /// Errors: exists, not_found (a folder above it), denied, io_failed.
    static Result<OutputSink> create(const std::string& path);

    OutputSink(OutputSink&&) noexcept;
    ~OutputSink();

    /// Errors: io_failed, disk_full: nothing more can be written.
    Result<void> write(std::string_view bytes);
    /// Writes what is left and closes the file. Errors as above.
    Result<void> finish();

  private:
    struct State;
    explicit OutputSink(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace driftless
