/// The whole lines of a file that a run wrote, and its records, parsed by several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// RunLines: the whole lines of a file that a run wrote, one by one. A killed process leaves at
// most one torn line at the end: it is counted and not given. Reads forward only; a file that is
// not there has no lines.

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

/// RecordFeed: the records of a file, in its order, parsed by several threads: each takes whole
/// batches of lines, and so does the caller while he waits for one. Reading goes forward only; a
/// torn last line is counted and not given, as by RunLines, and a file that is not there has none.
///
/// It owns its threads, and ends them with itself; at most `batches_max` batches are in memory,
/// each of one longest line more than `batch_bytes`. Used by one thread.
class RecordFeed {
  public:
    /// Threads beside the caller: one for each further CPU that the process may use, 3 at most.
    /// Errors: those of RunLines; `why` says them.
    static Result<RecordFeed> open(const std::string& path, std::string& why);

    RecordFeed(RecordFeed&&) noexcept;
    ~RecordFeed();

    /// The next record, valid until the next call; null at the end, and where the file cannot be
    /// read on: `error` and `why` say so then.
    const Record* next();

    /// The line of that record, without its newline; valid as long.
    std::string_view line() const;
    /// 1-based number of the line that `next` gave last, or failed at.
    std::uint64_t number() const;
    const std::optional<Error>& error() const;
    const std::string& why() const;
    /// Once `next` has given null.
    LineBytes bytes() const;

  private:
    struct State;
    explicit RecordFeed(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// How many trees of a run were answered whole, from its records, as `report --trees` counts them.
/// Nothing where the file cannot be read.
std::optional<std::uint64_t> count_finished_trees(const std::string& records_path);

}  // namespace driftless
