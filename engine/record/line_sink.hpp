/// LineSink: where whole lines go: an append-only file of its own, or a string of the caller's.
/// It owns its buffer and its descriptor; it never blocks on anything but the file, and never
/// forgets an error: after the first one nothing is written any more, and the file ends with a
/// whole line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/fd.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// Bytes that are collected before they are written without being asked: one system call each.
inline constexpr std::size_t sink_bytes_max = 256 * 1024;

class LineSink {
  public:
    /// A sink that takes nothing.
    LineSink() = default;
    /// Into memory, which outlives the sink.
    explicit LineSink(std::string* memory) : memory_(memory) {}
    /// A new file. Errors: exists, denied, not_found, io_failed.
    static Result<LineSink> create(const std::string& path);
    /// A file that grew before, or a new one: what follows its last whole line is cut off. Errors:
    /// denied, not_found, io_failed.
    static Result<LineSink> append(const std::string& path);
    static Result<LineSink> open(const std::string& path, bool is_new) {
        return is_new ? create(path) : append(path);
    }
    ~LineSink();
    LineSink(LineSink&& other) noexcept;
    LineSink& operator=(LineSink&& other) noexcept;
    LineSink(const LineSink&) = delete;
    LineSink& operator=(const LineSink&) = delete;

    /// Lines are appended here, whole, and followed by `commit`.
    std::string& buffer() { return memory_ != nullptr ? *memory_ : buffer_; }
    /// Writes when the buffer is full.
    void commit();
    /// Writes what there is.
    void flush();
    /// Of the file; empty in memory.
    const std::string& path() const { return path_; }
    /// The first error, for good.
    const std::optional<Error>& error() const { return error_; }

  private:
    static LineSink of(const std::string& path, Fd file, std::uint64_t written);

    std::string* memory_ = nullptr;
    Fd file_;
    std::string path_;
    std::string buffer_;
    std::uint64_t written_ = 0;  ///< bytes in the file; it always ends with a whole line
    std::optional<Error> error_;
};

}  // namespace driftless
