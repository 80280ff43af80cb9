/// MessageFraming: llhttp as a stream of pieces. What the two parsers of this room share.
///
/// Internal to proto/http: `ResponseParser` and `RequestParser` each own one. It never copies,
/// never allocates, and reports the same pieces however its input was split (runs of head or body
/// bytes may be cut differently, but join to the same bytes), up to and including the error.
///
/// Chunk extensions are kept from llhttp, whose versions read a part of what RFC 9112, 7.1.1 allows
/// (8.1 knows one extension, and no blanks around its `;`). They mean nothing to us.
#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftless {

struct FramingLimits {
    /// Of the head, blank lines before it included; also the longest run of framing between two
    /// body bytes: chunk-size lines with their extensions, and trailers.
    std::size_t head_bytes_max;
    unsigned headers_max;  ///< fields of the head and the trailers together
};

class MessageFraming {
  public:
    enum class Piece : std::uint8_t { need_more, head_bytes, head_done, body, done, error };

    struct Step {
        Piece piece = Piece::need_more;
        std::size_t consumed = 0;
        std::string_view span;  ///< head_bytes and body
    };

    MessageFraming(llhttp_type_t type, FramingLimits limits);
    MessageFraming(const MessageFraming&) = delete;  // llhttp and we point at each other
    MessageFraming& operator=(const MessageFraming&) = delete;

    /// Ready for the next message.
    void reset();
    /// Likewise after an interim response: its head goes on counting against the limit.
    void reset_after_interim();

    /// The next piece of `bytes`. After `done` and `error` it repeats itself.
    Step feed(std::string_view bytes);

    /// The peer has closed its side: true if that completes the message. Call `feed` until
    /// need_more before.
    bool finish();

    // From head_done on.
    int status() const { return parser_.status_code; }
    bool keep_alive() const { return keep_alive_; }
    bool close_delimited() const { return close_delimited_; }
    bool chunked() const { return chunked_; }
    std::uint64_t content_length() const { return content_length_; }  ///< 0 where none was given

    bool too_large() const { return too_large_; }
    const char* error_text() const { return error_text_; }

  private:
    enum class Phase : std::uint8_t { head, body, done, failed };
    /// Of the line that says how long a chunk is, where it may still get an extension.
    enum class SizeLine : std::uint8_t { none, before, size, blanks, extension };

    Step feed_head(std::string_view bytes);
    Step feed_body(std::string_view bytes);
    Step feed_body_pieces(std::string_view bytes);
    std::size_t size_bytes(std::string_view bytes);
    std::size_t skip_extension(std::string_view bytes);
    Step report_pending(std::size_t consumed);
    std::size_t execute(std::string_view bytes);
    void fail_next(const char* text, bool too_large);
    void note_head();

    static int on_header(llhttp_t* parser);
    static int on_headers_complete(llhttp_t* parser);
    static int on_body(llhttp_t* parser, const char* at, std::size_t length);
    static int on_message_complete(llhttp_t* parser);

    llhttp_t parser_;
    llhttp_settings_t settings_;
    llhttp_type_t type_;
    FramingLimits limits_;

    Phase phase_ = Phase::head;
    Piece pending_ = Piece::need_more;  ///< head_done, done or error: found, not yet reported
    std::string_view body_;             ///< what on_body was given in this call
    std::size_t head_bytes_ = 0;
    std::size_t overhead_bytes_ = 0;  ///< framing since the last body byte
    unsigned headers_ = 0;
    SizeLine size_line_ = SizeLine::none;
    bool started_ = false;  ///< a byte that is no line end was seen

    bool keep_alive_ = false;
    bool close_delimited_ = false;
    bool chunked_ = false;
    std::uint64_t content_length_ = 0;
    bool too_large_ = false;
    const char* error_text_ = "";
};

}  // namespace driftless
