/// Recorded requests in traces: rows that hold the words of a request, and when their turns come.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/trace/format.hpp"

namespace driftless {

// Recorded requests in traces: rows that hold the words of a request instead of its length.
//
// Checks their fields and gives the row that is added next one JSON object, in the form that
// proto/api/recorded.hpp makes a body of. What is wrong is listed with its remedy.

/// The fields of a row that make up a recorded request; those it lacks are absent.
struct RecordedFields {
    JsonValue text;      ///< the prompt, a string
    JsonValue messages;  ///< of a chat, a list of objects
    JsonValue tools;     ///< beside messages, a list of objects; an empty one means none
    JsonValue payload;   ///< a whole body, an object
    JsonValue extra;     ///< members for the body, an object
    /// Tools that hold where the row has none, a JSON list; empty: none do.
    std::string_view tools_before = {};

    bool any() const { return text.present() || messages.present() || payload.present(); }
};

/// A chat that a format put together, as JSON texts.
struct ChatTexts {
    std::string_view messages;  ///< objects with commas between them, at least one
    std::string_view tools;     ///< a list; empty: none
    std::string_view extra;     ///< an object of members for the body; empty: none
};

/// Gives the next row this chat for a request. It must be what `read_recorded` would let pass.
void give_chat(const RowContext& context, const ChatTexts& chat);

/// Gives the next row, which has lengths, members for its body; nothing where they are absent.
void give_extra(const RowContext& context, const JsonValue& extra);

/// The next row's messages are only what is new since the answer to the row before in its session:
/// `Trace::deltas`. Counts it.
void note_delta(const RowContext& context);

/// Gives the next row its request. False after an error.
bool read_recorded(const RowContext& context, const RecordedFields& fields);

/// The lengths of a row with a recorded request. It may lack both, which are 0 (unknown) then; a
/// missing output is the limit of the row's `body` if that asks for exactly so many tokens, else
/// what `--default-output` says. False after an error.
bool read_recorded_lengths(const RowContext& context, const Field& input, const Field& output,
                           TraceRow& row, const JsonValue& body = {});

// When the turns of a session come if the trace gives them no arrival times.
//
// Under `--sessions recorded` such rows are refused. Otherwise they are laid out by the recorded
// gaps, as if answers took no time; closed sessions then wait for the answers.

/// The recorded arrival time, or else the time of the session's row before and the gap since. A
/// session begins at 0. Nothing after an error.
std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns);

/// The time of the session's row before, and the gap since. Without a row before: the gap.
std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns);

/// For formats whose conversations have no arrival times at all: refuses the trace under
/// `--sessions recorded`. `more`, a clause: what else can be done with it; empty: nothing. False
/// after an error.
bool admit_untimed(RowContext& context, const char* more = "");

}  // namespace driftless
