/// Rows of Mooncake traces in words, as AIPerf writes them: a text, messages, or a whole body.
///
/// Messages are all that was said so far, or, where the row says so, only what is new since the
/// answer before. The older key for it is `message_mode` (history, delta), the newer one
/// `assistant_responses` (recorded, live). Source: ai-dynamo/aiperf,
/// src/aiperf/dataset/loader/{models,mooncake_trace}.py, and its tests.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/trace/message_rows.hpp"
#include "proto/trace/recorded.hpp"

namespace driftless {

/// What the row's words are, held against the rows before it. `mode`: its key that says so; absent
/// where it has none. Nothing after an error.
std::optional<RowWords> read_row_words(const RowContext& context, const RecordedFields& words,
                                       const JsonValue& mode, std::uint32_t session);

/// Gives the next row, of that session or of none, its request. Tools of a session hold until
/// others come where its rows are deltas. False after an error.
bool read_mooncake_words(const RowContext& context, RecordedFields words, RowWords kind,
                         std::uint32_t session);

}  // namespace driftless
