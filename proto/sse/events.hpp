/// What one server-sent event block says (WHATWG HTML, "Server-sent events", section 9.2.6).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proto/sse/scanner.hpp"

namespace driftless {

/// The fields of one block that we use. Views point into the block, or into `joined` where the
/// data came in several lines.
struct SseEvent {
    std::string_view name;  ///< `event:` field; empty where there is none
    std::string_view data;  ///< data lines joined by LF; trailing blanks of a line are kept
    /// There is more in it than blanks; pings have none. The standard dispatches no empty event.
    bool has_data = false;
};

/// Reads one block, with or without its final empty line. `joined` is scratch storage owned by the
/// caller and reused. A byte order mark before its first line is skipped, whichever block it opens.
/// Never fails: unknown fields are ignored.
SseEvent read_sse_event(std::string_view block, std::string& joined);

/// The same of what EventScanner cut; of other framings than SSE it is all data.
SseEvent read_cut_event(Framing framing, std::string_view cut, std::string& joined);

/// Whether a body begins as an event stream does, with a comment or a field of the standard;
/// nothing where its first bytes do not tell yet.
std::optional<bool> begins_event_stream(std::string_view body);

}  // namespace driftless
