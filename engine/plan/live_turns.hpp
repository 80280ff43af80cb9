/// LiveTurns: which rows of a plan go on behind an answer of this run (`--assistant live`), and
/// where in their bodies that stands. A plain table, made with the bodies (recorded_bodies.hpp),
/// never changed afterwards.
///
///     {"messages":[ what was said before , the row's own messages " words" ],"tools":..}
///                  ^ before_at                              pad_at ^       ^ messages_end
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/spliced.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Of one row. Offsets are of its body.
struct LiveTurn {
    /// Position in `Trace::rows` of the row whose answer comes right before its messages; `no_row`:
    /// its body stands as it is.
    std::uint32_t behind = no_row;
    /// So far in front of its request stands the one that it goes on behind.
    std::uint32_t back = 0;
    std::uint32_t followers = 0;     ///< rows that go on behind its answer
    std::uint32_t before_at = 0;     ///< what was said before goes here
    std::uint32_t messages_end = 0;  ///< behind its last message
    std::uint32_t pad_at = 0;        ///< words that fill it up go here; 0: nowhere
};

/// What was found, for people and run.json.
struct LiveFigures {
    std::uint64_t conversations = 0;  ///< first rows that others follow
    std::uint64_t turns = 0;          ///< rows behind an answer of this run
    /// Rows that are not the first of their session and repeat none of the rows that they wait for:
    /// their recorded words stand as they are.
    std::uint64_t edited = 0;
};

struct LiveTurns {
    std::vector<LiveTurn> turns;  ///< [rows of the trace]
    LiveFigures figures;
    /// A word of one token, with its blank, that fills up prompts that are shorter than recorded.
    std::string pad_word = " the";

    const LiveTurn& of(std::uint32_t row) const { return turns[row]; }
    bool goes_on(std::uint32_t row) const { return turns[row].behind != no_row; }
    /// Words that fill up a row whose prompt lacks so many tokens.
    std::uint32_t words_for(std::uint32_t row, std::int32_t short_by) const {
        return turns[row].pad_at > 0 && short_by > 0 ? static_cast<std::uint32_t>(short_by) : 0;
    }
    /// The messages of the row itself, with so many words more. `body`: its own.
    Spliced own_messages(std::uint32_t row, std::string_view body, std::uint32_t words) const;
};

/// Upper bound of the bytes of what was said before each row, [rows of the trace], where answers
/// have at most the recorded length, or `tokens_unknown`.
std::vector<std::size_t> history_room(const Trace& trace, const LiveTurns& live,
                                      std::uint32_t tokens_unknown);

}  // namespace driftless
