/// MessageRows: which rows of a trace hold messages, and how much of their conversation.
///
/// A row of messages holds all that was said so far, or only what is new since the answer to the
/// row before (a delta). All rows of a trace are of one kind (`Trace::deltas`), because their
/// prompts are put together in one way; in a session with deltas all rows are deltas. Part of a
/// TraceDraft.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

enum class RowWords : std::uint8_t {
    none,     ///< no list of messages: a length, a text, a body
    history,  ///< messages: all that was said so far
    delta,    ///< messages: what is new since the answer to the row before
};

/// Where the rows of a session stand.
struct MessageTail {
    bool begun = false;
    bool doubted = false;          ///< its rows look like deltas and do not say so
    bool deltas = false;           ///< its rows are deltas
    std::string tools;             ///< JSON list of the last row that had one; empty: none
    std::uint64_t list_bytes = 0;  ///< of the last row's messages, as JSON text
};

class MessageRows {
  public:
    /// `session` is an index into `Trace::sessions`.
    MessageTail& tail(std::uint32_t session);

    /// Notes that the next row of that session, or of none, is of this kind. Returns what forbids
    /// it, a clause; empty: nothing.
    std::string_view note(std::uint32_t session, RowWords words);

  private:
    std::vector<MessageTail> tails_;  ///< [Trace::sessions]
    bool histories_ = false;          ///< some row is one
    bool deltas_ = false;
};

}  // namespace driftless
