/// Files: bytes and lines of a file or of standard input, whatever compresses them, and bytes into
/// a new one. Nothing else knows zlib and libarchive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {

/// Why a file or a folder could not be opened: not_found, denied or io_failed.
Error opening_error(int sys_errno);

/// InputSource: the decompressed bytes of one file or of standard input.
///
/// Compression is found by its magic bytes, never by the name: gzip, bzip2, xz, zstd, or none;
/// several members one behind the other are one input, and so are zstd's skippable frames. zlib
/// reads gzip, libarchive the others; plain files pass through. Reads forward only.
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

// LineSplitter: bytes in pieces of any size, lines out.
//
// A line inside one piece is a view into that piece; only what straddles two is copied. LF and
// CRLF end a line, a missing final newline does too; a byte order mark at the start is skipped.
// Owned by whoever reads; it holds at most one line, and never touches a file.

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

/// FileLines: the lines of one file or of standard input, compressed or not, one after the other.
///
/// Owns the open file. A compressed file that breaks off gives what decodes up to its last whole
/// line.
class FileLines {
  public:
    /// Errors: those of `InputSource::open`.
    static Result<FileLines> open(const std::string& path);

    /// The next line without its end, valid until the next call; nothing after the last one, and
    /// then `trouble` says whether it was the last one of the file.
    std::optional<std::string_view> next();
    /// 1-based number of the line that `next` gave last.
    std::uint64_t number() const { return lines_.number(); }

    /// Why the lines ended early, a clause for people; empty where they did not.
    const std::string& trouble() const { return trouble_; }
    /// What came before the trouble is worth keeping: a compressed file that breaks off.
    bool broke_off() const { return broke_off_; }
    /// Decompressed bytes so far.
    std::uint64_t bytes() const { return bytes_; }

  private:
    explicit FileLines(InputSource source) : source_(std::move(source)) {}
    bool feed();

    InputSource source_;
    LineSplitter lines_;
    std::string trouble_;
    std::uint64_t bytes_ = 0;
    bool finished_ = false;  ///< the file is at its end; its last line may come yet
    bool ended_ = false;
    bool broke_off_ = false;
};

/// OutputSink: bytes into a new file, compressed as its name says. The way out, beside the way in
/// because both know libarchive.
///
/// .gz, .bz2, .xz and .zst are compressed, all else is plain; "-" is standard output. It never
/// overwrites: the file must not be there. Owns the descriptor. What was not finished is removed
/// again.
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
