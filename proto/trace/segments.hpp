/// Segments: prompts of traces that say how long each message is, and which messages are the same,
/// but have no block ids.
///
/// A prompt is a list of segments. Its block ids are made from them: two blocks have one id where
/// they hold the same tokens of the same segments. So prompts share what their segments share, to
/// whole blocks; the last, partial block has an id, too. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/trace/row_ids.hpp"

namespace driftless {

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

}  // namespace driftless
