/// InputSource: the decompressed bytes of one file or of standard input.
///
/// Compression is found by its magic bytes, never by the name: gzip, bzip2, xz, zstd, or none;
/// several members one behind the other are one input, and so are zstd's skippable frames. zlib
/// reads gzip, libarchive the others; plain files pass through. Reads forward only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

class InputSource {
  public:
    /// Opens a file, or standard input for "-". Errors: not_found, denied, invalid (a directory),
    /// io_failed.
    static Result<InputSource> open(const std::string& path);

    InputSource(InputSource&&) noexcept;
    ~InputSource();

    /// The next piece, valid until the next read; empty at the end. Errors: truncated (compressed
    /// data that ends early or is damaged: what came before is good; of bzip2 and xz libarchive
    /// drops what it had decoded of the last 64 KiB, of zstd 128 KiB), io_failed.
    Result<std::string_view> read();

    /// "gzip", "zstd", ..; "none". Known after the first read.
    std::string_view compression() const;
    /// What the library said about the last error, for messages.
    std::string_view error_text() const;
    /// Why `read` failed with this error: in the system's words, or in the library's.
    std::string reason_of(const Error& error) const;

  private:
    struct State;
    explicit InputSource(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace driftless
