/// FileLines: the lines of one file or of standard input, compressed or not, one after the other.
///
/// Owns the open file. A compressed file that breaks off gives what decodes up to its last whole
/// line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/input/lines.hpp"
#include "engine/input/source.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
