/// HTTP/1.1 messages read by llhttp, across any split: responses by a client, requests by a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "proto/http/fields.hpp"

namespace driftless {

// ResponseParser: HTTP/1.1 response framing on one connection, by llhttp, across any split.
//
// It finds where the head, the body bytes and the message end; it copies nothing, allocates
// nothing after construction and keeps no text: pieces point into the bytes that were fed.
// Interim answers (1xx) are skipped. Head size, header count and chunk-size lines are bounded.

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

// RequestParser: HTTP/1.1 requests as a server reads them, by llhttp, across any split.
//
// One per connection. It collects each head in its own fixed buffer, so that method, target and
// every header field can be asked for until the next `reset`; body pieces point into the bytes
// that were fed. It allocates nothing after construction. Protocol upgrades are ignored.

/// Largest request head: 16 KiB, what Node and h11 accept.
inline constexpr std::size_t request_head_bytes_max = 16 * 1024;
inline constexpr unsigned request_headers_max = 128;

/// What `feed` found next.
enum class RequestPiece : std::uint8_t {
    need_more,  ///< all bytes are consumed, the request goes on
    head_done,  ///< the head is complete: everything below is valid
    body,       ///< a run of body bytes, transfer coding removed
    done,       ///< the request is complete
    error,      ///< not HTTP, or over a limit; error_text() says what. Nothing can follow
};

class RequestParser {
  public:
    RequestParser();
    ~RequestParser();

    /// Ready for the next request on a connection. Keeps its memory, forgets the head.
    void reset();

    /// One step over `bytes`, as ResponseParser::feed: call again with what was not consumed until
    /// need_more, done or error. After `done`, the bytes that were not consumed open the next
    /// request (pipelining): reset, then feed them.
    struct Step {
        RequestPiece piece = RequestPiece::need_more;
        std::size_t consumed = 0;
        std::string_view span;  ///< body
    };
    Step feed(std::string_view bytes);

    /// True between requests: no byte of a request has been seen since `reset`. A peer that closes
    /// now leaves in good order.
    bool idle() const;

    // Valid from head_done until reset.
    std::string_view method() const;  ///< as written: "POST"
    std::string_view target() const;  ///< path and query as written, never decoded
    /// The first field of that name (case-insensitive, blanks trimmed); nullptr data where absent.
    std::string_view header(std::string_view name) const;
    bool keep_alive() const;  ///< the connection may carry another request; any `close` wins
    /// `Expect: 100-continue`: the client waits for `HTTP/1.1 100 Continue` before its body.
    bool expects_continue() const;
    bool chunked() const;
    std::uint64_t content_length() const;  ///< 0 where the body is chunked or absent

    bool head_too_large() const;     ///< the error was a limit (431), not bad syntax (400)
    const char* error_text() const;  ///< static string

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace driftless
