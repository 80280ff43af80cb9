/// ViewedRequest: a request as other tools would have seen it: the stamps of its events and what
/// they held. Made of a record; owns its chunks (16 bytes each), computes no figure of any tool.
///
/// The events of an answer, as its record knows them: the first one (a role), chunks with tokens,
/// the finish, the usage, an error, the end marker. Silent events between chunks are not recorded:
/// a tool that takes each event for a token has more gaps then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

struct ViewedChunk {
    std::int64_t at_ns = 0;    ///< from time 0
    std::int32_t tokens = -1;  ///< -1: unknown
    char kind = 'u';           ///< as in Record::chunk_kinds
};

/// Letters of `ViewedChunk::kind` that a tool takes for the text of an answer. Unknown ones, and
/// tokens without text, are content to all.
inline constexpr std::string_view content_kinds = "ceu";
inline constexpr std::string_view said_kinds = "ceur";       ///< and reasoning
inline constexpr std::string_view all_text_kinds = "ceurt";  ///< and tool text

struct ViewedRequest {
    std::uint32_t row = 0;
    std::int64_t due_ns = 0;
    std::int64_t fired_ns = 0;
    OptionalNs headers_ns;
    OptionalNs first_event_ns;
    OptionalNs finish_ns;
    OptionalNs usage_ns;
    OptionalNs error_ns;
    OptionalNs marker_ns;
    OptionalNs done_ns;  ///< the body was complete
    std::int64_t ended_ns = 0;
    std::vector<ViewedChunk> chunks;

    std::int64_t prompt_recorded = 0;
    std::int64_t output_recorded = 0;
    std::optional<std::int64_t> prompt_usage;
    std::optional<std::int64_t> cached_usage;
    std::optional<std::int64_t> output_usage;  ///< the server's own count
    int status = 0;                            ///< 0: no answer
    Outcome outcome = Outcome::ok;
    std::string error;
    std::string session;  ///< empty: none

    /// A 200 whose body came whole and is of the API, with or without an error object in it: a
    /// success to tools that skip errors.
    bool stream_read() const;

    /// Stamps of all events with choices: role, chunks, finish; in order.
    std::vector<std::int64_t> choice_events() const;
    /// Stamps of the chunks of these kinds.
    std::vector<std::int64_t> stamps_of(std::string_view kinds) const;
    /// Their tokens: by chunk where known; else the server's count where all chunks are of these
    /// kinds; else nothing where other chunks are among them, and one a chunk where nobody counted.
    std::optional<std::int64_t> tokens_of(std::string_view kinds) const;
    /// Whether `tokens_of` is no more than the number of the chunks.
    bool tokens_are_chunks() const;
    std::int64_t prompt_tokens() const { return prompt_usage.value_or(prompt_recorded); }
    /// Stamp of the last line of the stream, whatever it holds; the last token's where nothing is
    /// known of what followed it.
    std::int64_t last_line_ns() const;
};

/// Of a record that was fired and whose end is known; else nothing.
std::optional<ViewedRequest> viewed_request(const Record& record);

}  // namespace driftless
