/// Server-sent events: where one ends, and what it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace driftless {

// EventScanner: where one event of a stream ends, and nothing else.
//
// The engine thread uses it to cut body bytes into events without looking inside; what an event
// says is read later (`read_sse_event`). Lines end with LF, CRLF or CR in any mix; an event ends
// with an empty line. State is a few bytes, so any split of the input gives the same cuts.

/// How the body of an answer is cut into events.
enum class Framing : std::uint8_t {
    sse,    ///< server-sent events: blocks that end with an empty line
    lines,  ///< NDJSON: one event a line
    whole,  ///< the whole body is one event, which ends with the response
};

class EventScanner {
  public:
    void reset(Framing framing);

    /// Looks for the end of the current event in `bytes`. Returns the number of bytes up to and
    /// including its last byte, or 0 if all of `bytes` belong to an event that goes on. An event
    /// ends at the first CR or LF that ends its empty line; the LF of a CRLF that was cut there
    /// becomes the first byte of the next event and is ignored. Blank lines between events are part
    /// of the event that follows and never an event of their own.
    std::size_t next(std::string_view bytes);

    /// True where an event has begun since the last cut and has not ended: the stream broke off
    /// inside it, or it is the last one, or the only one of `Framing::whole`. Blank lines begin
    /// none.
    bool pending() const { return line_has_bytes_ || block_has_bytes_; }

    /// True where the event that was cut last had nothing but comments and empty data (`: ping`,
    /// `data:`; a line of blanks in NDJSON): it keeps a connection alive, and is never counted as
    /// an event of the answer.
    bool cut_keep_alive() const { return cut_keep_alive_; }

  private:
    /// Notes the end of a line; true where it ends the event, too.
    bool end_line();
    void look_for_field(const char* at, const char* end);

    Framing framing_ = Framing::sse;
    bool line_has_bytes_ = false;   ///< the current line has at least one byte
    bool block_has_bytes_ = false;  ///< the current event has at least one non-empty line
    bool last_was_cr_ = false;      ///< the previous byte was CR: a following LF joins it
    bool block_has_field_ = false;  ///< the current event has more than a keep-alive
    bool cut_keep_alive_ = false;
    std::uint8_t name_bytes_ = 0;  ///< of "data:", as far as the current line has it
};

// What one server-sent event block says (WHATWG HTML, "Server-sent events", section 9.2.6).

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
