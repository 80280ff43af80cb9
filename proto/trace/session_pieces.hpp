/// Session pieces: Mooncake sessions whose rows hold only what is new.
///
/// `input_length` and `hash_ids` of a later turn are read in two ways: as the whole prompt
/// (Dynamo's `mooncake`), or as what is new since the answer before (AIPerf's mooncake_trace,
/// Dynamo's `mooncake-delta`). In the second way a prompt is all earlier inputs and answers of its
/// session, and then the row's own input. Sources: ai-dynamo/dynamo pull requests 9653 and 11060.
///
/// The user's `--format` says which it is, else the whole trace does; where it does not, the trace
/// is refused. Blocks of a piece begin in the middle of a prompt's blocks: so prompts get new ids,
/// of blocks that are small enough for a server's cache (segments.hpp), and share what their pieces
/// share. An answer is as long as it is recorded; its tokens follow from its row. Texts of sessions
/// are read in the same two ways; the second makes new messages of them (Trace::deltas). Pure.
#pragma once

#include <string_view>

#include "proto/trace/format.hpp"

namespace driftless {

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
