/// RecordFeed: the records of a file, in its order, parsed by several threads: each takes whole
/// batches of lines, and so does the caller while he waits for one. Reading goes forward only; a
/// torn last line is counted and not given, as by RunLines, and a file that is not there has none.
///
/// It owns its threads, and ends them with itself; at most `batches_max` batches are in memory,
/// each of one longest line more than `batch_bytes`. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/history/run_lines.hpp"
#include "proto/core/result.hpp"
#include "proto/record/record.hpp"

namespace driftless {

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

}  // namespace driftless
