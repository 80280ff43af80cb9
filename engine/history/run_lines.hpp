/// RunLines: the whole lines of a file that a run wrote, one by one. A killed process leaves at
/// most one torn line at the end: it is counted and not given. Reads forward only; a file that is
/// not there has no lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/input/lines.hpp"
#include "engine/input/source.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// Whole lines of a file, and what follows the last of them.
struct LineBytes {
    std::uint64_t whole = 0;
    std::uint64_t torn = 0;
};

class RunLines {
  public:
    /// Errors: invalid (not a regular file), denied, io_failed; `why` says it with the path.
    static Result<RunLines> open(const std::string& path, std::string& why);

    /// The next whole line without its newline, valid until the next call; nothing at the end, and
    /// where the file cannot be read on: `error` and `why` say it then.
    std::optional<std::string_view> next();

    /// 1-based number of the line that `next` gave last.
    std::uint64_t number() const { return lines_.number(); }
    const std::optional<Error>& error() const { return error_; }
    const std::string& why() const { return why_; }
    /// Once `next` has given nothing.
    LineBytes bytes() const { return {bytes_ - lines_.pending(), lines_.pending()}; }

  private:
    explicit RunLines(std::string path) : path_(std::move(path)) {}
    /// Whether there is a next piece of the file.
    bool feed();

    std::string path_;
    std::optional<InputSource> source_;  ///< nothing: there is no file
    LineSplitter lines_;
    std::uint64_t bytes_ = 0;
    std::optional<Error> error_;
    std::string why_;
};

/// `path:17: what is wrong` with a line that was read.
std::string describe_line(const std::string& path, std::uint64_t line, const Error& error);

}  // namespace driftless
