/// RawBytes: the bytes of a descriptor as they stand, in pieces, with a look ahead.
///
/// Owns the descriptor and one buffer. Reads forward only, so that pipes do; never decodes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

class RawBytes {
  public:
    /// Takes the descriptor; standard input is left open at the end.
    explicit RawBytes(int fd) : fd_(fd) {}
    RawBytes(const RawBytes&) = delete;
    RawBytes& operator=(const RawBytes&) = delete;
    ~RawBytes();

    /// What lies ahead: at least `least` bytes, fewer only at the end of the input, in one piece
    /// that is valid until the next call. `least` is at most `ahead_max`. Error: io_failed.
    Result<std::string_view> ahead(std::size_t least = 1);
    static constexpr std::size_t ahead_max = 64;  ///< headers of compressed files are shorter

    /// Moves on over bytes that were seen ahead.
    void take(std::size_t bytes);

    /// Why a read failed, if one did.
    const std::optional<Error>& failure() const { return failure_; }

  private:
    int fd_;
    std::unique_ptr<char[]> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool ended_ = false;
    std::optional<Error> failure_;
};

}  // namespace driftless
