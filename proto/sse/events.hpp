/// What one server-sent event block says (WHATWG HTML, "Server-sent events", section 9.2.6).
#pragma once

#include <string>
#include <string_view>

namespace driftless {

/// The fields of one block that we use. Views point into the block, or into `joined` where the
/// data came in several lines.
struct SseEvent {
    std::string_view name;  ///< `event:` field; empty where there is none
    std::string_view data;  ///< data lines joined by LF; trailing blanks of a line are kept
    bool has_data = false;  ///< a block of comments only (a ping) has none
};

/// Reads one block, with or without its final empty line. `joined` is scratch storage owned by the
/// caller and reused. A byte order mark before its first line is skipped, whichever block it opens.
/// Never fails: unknown fields are ignored.
SseEvent read_sse_event(std::string_view block, std::string& joined);

}  // namespace driftless
