/// EventScanner: where one event of a stream ends, and nothing else.
///
/// The engine thread uses it to cut body bytes into events without looking inside; what an event
/// says is read later (`events.hpp`). Lines end with LF, CRLF or CR in any mix; an event ends with
/// an empty line. State is a few bytes, so any split of the input gives the same cuts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftless {

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

}  // namespace driftless
