/// SessionTurns: the conversations of a trace while its rows are read.
///
/// It numbers sessions by their names, which hold inside one file only, remembers the last row of
/// each, and makes a turn wait for the turn before it. Part of a TraceDraft.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "proto/trace/numbers_by_name.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Where a session stands.
struct SessionTail {
    std::uint32_t turns = 0;
    std::uint32_t last_row = no_row;
    std::int64_t last_at_ns = 0;
    std::optional<std::int64_t> last_end_ns;  ///< recorded end of its answer, where known
};

class SessionTurns {
  public:
    /// `trace` holds the names and the dependencies, and outlives this.
    explicit SessionTurns(Trace& trace) : trace_(trace) {}

    /// Names begin anew.
    void begin_file();
    /// Sessions whose name stands in an earlier file, too: they are others.
    std::uint64_t namesakes() const { return namesakes_; }

    /// The session of that name in this file, made where it is new.
    std::uint32_t find(std::string_view name) { return find(name, name); }
    /// The same where names are not enough: sessions of one name with different keys differ.
    std::uint32_t find(std::string_view name, std::string_view key);

    SessionTail& tail(std::uint32_t session) { return tails_[session]; }
    /// Makes `row`, which is added next, the next turn of its session: it waits for the turn
    /// before.
    void next_turn(TraceRow& row, std::int64_t delay_ns);

  private:
    Trace& trace_;
    NumbersByName numbers_;                    ///< by key, of this file
    std::vector<SessionTail> tails_;           ///< [Trace::sessions]
    std::unordered_set<std::string> earlier_;  ///< names of earlier files
    std::size_t of_earlier_ = 0;               ///< sessions of `Trace` that these are
    std::uint64_t namesakes_ = 0;
};

}  // namespace driftless
