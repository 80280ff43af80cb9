/// Prompts that a trace tells in parts: by the lengths of their messages, or only what is new.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proto/trace/draft.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

// Segments: prompts of traces that say how long each message is, and which messages are the same,
// but have no block ids.
//
// A prompt is a list of segments. Its block ids are made from them: two blocks have one id where
// they hold the same tokens of the same segments. So prompts share what their segments share, to
// whole blocks; the last, partial block has an id, too. Pure.

/// Blocks that all prompts of a trace may have together: 4 GiB of numbers.
inline constexpr std::uint64_t segment_blocks_max = std::uint64_t{1} << 30;

/// A run of tokens. Segments of one identity begin with the same tokens, however long they are.
struct Segment {
    std::uint64_t identity = 0;
    std::uint32_t tokens = 0;
};

/// A message of a conversation.
struct SegmentMessage {
    Segment segment;
    bool counted = true;  ///< its length is known
};

/// The messages of one conversation, and their lengths.
class SegmentedConversation {
  public:
    /// Puts the message at its place, over one that is there; behind all others where there is no
    /// such place.
    void store(std::uint64_t place, const SegmentMessage& message);
    /// Puts it behind all others; its length is known.
    void append(const Segment& segment) { messages_.push_back({segment}); }
    /// The message at the first place is the one that lengths of a first request are corrected in:
    /// a system prompt, whose count leaves tools and the marks of the chat template out.
    void begin_with_system() { has_system_ = messages_.empty(); }

    /// All messages together.
    std::uint64_t tokens() const;
    /// Corrects lengths so that all messages are `tokens` long, as a server counted them: in the
    /// last message of unknown length; else, before the first request, in the system prompt; else
    /// from the end on. The corrections stay. `tokens` is at least 1.
    void settle(std::uint32_t tokens);

    /// Adds the ids of the prompt's blocks.
    void add_ids(std::uint32_t block_size, RowIds& ids) const;

  private:
    void shorten(std::uint64_t surplus);

    std::vector<SegmentMessage> messages_;
    bool has_system_ = false;
    bool settled_ = false;  ///< there was a request
};

// Session pieces: Mooncake sessions whose rows hold only what is new.
//
// `input_length` and `hash_ids` of a later turn are read in two ways: as the whole prompt
// (Dynamo's `mooncake`), or as what is new since the answer before (AIPerf's mooncake_trace,
// Dynamo's `mooncake-delta`). In the second way a prompt is all earlier inputs and answers of its
// session, and then the row's own input. Sources: ai-dynamo/dynamo pull requests 9653 and 11060.
//
// The user's `--format` says which it is, else the whole trace does; where it does not, the trace
// is refused. Blocks of a piece begin in the middle of a prompt's blocks: so prompts get new ids,
// of blocks that are small enough for a server's cache (segments.hpp), and share what their pieces
// share. An answer is as long as it is recorded; its tokens follow from its row. Texts of sessions
// are read in the same two ways; the second makes new messages of them (Trace::deltas). Pure.

/// As `--format` spells the second way.
inline constexpr std::string_view pieces_format_name = "mooncake-delta";

/// After the last row of a Mooncake trace without errors, rows in file order: puts the prompts
/// together where its rows are pieces, and sets the trace's format and the block size in force.
/// Lists what forbids it.
void settle_session_pieces(RowContext& whole);

/// The same of a format whose rows have no names that say which they are: they are whole prompts.
/// Says how to read them as pieces where they may be such.
void note_unread_pieces(const RowContext& whole);

}  // namespace driftless
