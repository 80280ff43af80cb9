/// LineSplitter: bytes in pieces of any size, lines out.
///
/// A line inside one piece is a view into that piece; only what straddles two is copied. LF and
/// CRLF end a line, a missing final newline does too; a byte order mark at the start is skipped.
/// Owned by whoever reads; it holds at most one line, and never touches a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

/// Longest line that is read. Rows with payloads reach several MB; what is longer is no trace.
inline constexpr std::size_t line_bytes_max = std::size_t{64} << 20;

class LineSplitter {
  public:
    /// The next piece. The one before must be used up (`next` gave nothing); it must stay until
    /// this one is.
    void feed(std::string_view piece);
    /// No piece follows: a last line without its newline counts.
    void finish() { finished_ = true; }

    /// The next whole line without its end, valid until the next call of `next` or `feed`; nothing
    /// where more bytes are needed.
    std::optional<std::string_view> next();

    /// 1-based number of the line that `next` gave last.
    std::uint64_t number() const { return number_; }
    /// A line grew beyond `line_bytes_max`; nothing more comes.
    bool too_long() const { return too_long_; }
    /// How the line that is too long, or has not ended, begins.
    std::string_view beginning() const { return std::string_view(carry_).substr(0, 4096); }
    /// Bytes of a line that has not ended.
    std::size_t pending() const { return carry_.size(); }

  private:
    std::optional<std::string_view> give(std::string_view line);

    std::string_view piece_;
    std::string carry_;  ///< the beginning of a line whose end has not come
    bool carry_given_ = false;
    std::uint64_t number_ = 0;
    bool finished_ = false;
    bool too_long_ = false;
};

}  // namespace driftless
