/// Frontier: the rows that the next request on a line of work waits for.
///
/// Work is a sequence of requests and pauses that may fork into lines side by side and join again.
/// Each line has a frontier; a request waits for all of it and becomes all of it. Pure values.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/trace/draft.hpp"

namespace driftless {

/// A row whose answer is waited for, and how long after it.
struct RowWait {
    std::uint32_t row = no_row;
    std::int64_t end_ns = 0;  ///< of the row's answer, as far as it is recorded
    std::int64_t delay_ns = 0;

    bool operator==(const RowWait&) const = default;
};

class Frontier {
  public:
    /// Time passes.
    void pause(std::int64_t length_ns);
    /// The row that is added next, with an answer of that length, comes next: it gets its
    /// dependencies and its time.
    void pass(TraceDraft& draft, TraceRow& row, std::int64_t answer_ns);

    /// The frontier behind lines that began at `fork`.
    static Frontier join(const Frontier& fork, const std::vector<Frontier>& lines);

    bool operator==(const Frontier&) const = default;

  private:
    void add(const Frontier& line);

    std::vector<RowWait> waits_;
    std::int64_t since_start_ns_ = 0;  ///< pauses before the first row
};

}  // namespace driftless
