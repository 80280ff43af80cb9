/// ResponseParser: HTTP/1.1 response framing on one connection, by llhttp, across any split.
///
/// It finds where the head, the body bytes and the message end; it copies nothing, allocates
/// nothing after construction and keeps no text: pieces point into the bytes that were fed.
/// Interim answers (1xx) are skipped. Head size, header count and chunk-size lines are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "proto/http/fields.hpp"
#include "proto/http/keep_alive.hpp"
#include "proto/http/retry_after.hpp"

namespace driftless {

/// Largest response head: 64 KiB (nginx and Node default to 8-16 KiB; proxies add cookies).
inline constexpr std::size_t response_head_bytes_max = 64 * 1024;
inline constexpr unsigned response_headers_max = 256;

/// What `feed` found next.
enum class ResponsePiece : std::uint8_t {
    need_more,   ///< all bytes are consumed, the message goes on
    head_bytes,  ///< bytes of the status line and header fields, as received (possibly one of
                 ///< several pieces); interim heads are not reported
    head_done,   ///< the head is complete: status() and the flags below are valid
    body,        ///< a run of body bytes, transfer coding removed
    done,        ///< the message is complete
    error,       ///< not HTTP, or over a limit; error_text() says what. Nothing can follow
};

class ResponseParser {
  public:
    ResponseParser();
    ~ResponseParser();

    /// Ready for the next message on a connection. Keeps its memory.
    void reset();

    /// One step over `bytes`: reports the next piece, says how many bytes it consumed, and for
    /// head_bytes and body gives the span. Call again with the remaining bytes until need_more,
    /// done or error. After `done`, bytes that were not consumed are unexpected: no request asked
    /// for them.
    struct Step {
        ResponsePiece piece = ResponsePiece::need_more;
        std::size_t consumed = 0;
        std::string_view span;
    };
    Step feed(std::string_view bytes);

    /// The peer closed its side. True where that completes the message (close-delimited body).
    bool finish();

    int status() const;            ///< valid from head_done
    bool close_delimited() const;  ///< the body ends with the connection; valid from head_done
    bool keep_alive() const;       ///< the connection may carry another message; valid at done
    /// What the final head says of the connection's limits; valid from head_done.
    const KeepAliveLimits& keep_alive_limits() const;
    /// When the request may come again, in ns from now; nothing where the final head does not say
    /// it; valid from head_done.
    const std::optional<std::int64_t>& retry_after_ns() const;
    bool head_too_large() const;     ///< the error was a limit, not bad syntax
    const char* error_text() const;  ///< static string

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace driftless
