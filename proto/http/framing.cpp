#include "proto/http/framing.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {
MessageFraming& owner_of(llhttp_t* parser) {
    return *static_cast<MessageFraming*>(parser->data);
}
}  // namespace

MessageFraming::MessageFraming(llhttp_type_t type, FramingLimits limits)
    : type_(type), limits_(limits) {
    llhttp_settings_init(&settings_);
    settings_.on_header_field_complete = on_header;
    settings_.on_headers_complete = on_headers_complete;
    settings_.on_body = on_body;
    settings_.on_message_complete = on_message_complete;
    reset();
}

void MessageFraming::reset() {
    llhttp_init(&parser_, type_, &settings_);
    parser_.data = this;
    phase_ = Phase::head;
    pending_ = Piece::need_more;
    body_ = {};
    head_bytes_ = overhead_bytes_ = 0;
    headers_ = 0;
    size_line_ = SizeLine::none;
    started_ = keep_alive_ = close_delimited_ = chunked_ = too_large_ = false;
    content_length_ = 0;
    error_text_ = "";
}

void MessageFraming::reset_after_interim() {
    const std::size_t head_bytes = head_bytes_;
    reset();
    head_bytes_ = head_bytes;
}

int MessageFraming::on_header(llhttp_t* parser) {
    MessageFraming& self = owner_of(parser);
    if (++self.headers_ <= self.limits_.headers_max) {
        return HPE_OK;
    }
    self.fail_next("too many header fields", true);
    return HPE_USER;
}

// The callbacks below stop llhttp where a piece ends; `execute` resumes it.
int MessageFraming::on_headers_complete(llhttp_t* parser) {
    owner_of(parser).note_head();
    return HPE_PAUSED;
}

int MessageFraming::on_body(llhttp_t* parser, const char* at, std::size_t length) {
    owner_of(parser).body_ = {at, length};
    return length > 0 ? HPE_PAUSED : HPE_OK;  // llhttp reports empty runs, too
}

int MessageFraming::on_message_complete(llhttp_t* parser) {
    owner_of(parser).pending_ = Piece::done;
    return HPE_PAUSED;
}

// Reads from llhttp what it knows only until it goes on.
void MessageFraming::note_head() {
    const int status = parser_.status_code;
    if (parser_.http_major != 1) {
        fail_next("not HTTP/1", false);
        return;
    }
    if (type_ == HTTP_RESPONSE && (status < 100 || status == 101)) {
        fail_next(status == 101 ? "switched protocols unasked" : "bad status", false);
        return;
    }
    if (type_ == HTTP_RESPONSE && (status < 200 || status == 204 || status == 304)) {
        parser_.flags |= F_SKIPBODY;  // whatever Content-Length says (RFC 9112, 6.3)
    }
    parser_.upgrade = 0;  // protocols are never changed: a body is read as a body
    chunked_ = (parser_.flags & F_CHUNKED) != 0;
    size_line_ = chunked_ ? SizeLine::before : SizeLine::none;
    content_length_ = (parser_.flags & F_CONTENT_LENGTH) != 0 ? parser_.content_length : 0;
    close_delimited_ = llhttp_message_needs_eof(&parser_) != 0;
    // In HTTP/1.0 llhttp lets keep-alive win over close; here any close wins.
    const bool close = (parser_.flags & F_CONNECTION_CLOSE) != 0;
    keep_alive_ = llhttp_should_keep_alive(&parser_) != 0 && !close;
    pending_ = Piece::head_done;
}

void MessageFraming::fail_next(const char* text, bool too_large) {
    pending_ = Piece::error;
    error_text_ = text != nullptr ? text : "not HTTP";
    too_large_ = too_large;
}

std::size_t MessageFraming::execute(std::string_view bytes) {
    body_ = {};
    llhttp_resume(&parser_);
    const char* const begin = bytes.empty() ? "" : bytes.data();  // llhttp adds to it: never null
    const llhttp_errno_t error = llhttp_execute(&parser_, begin, bytes.size());
    if (error == HPE_OK) {
        return bytes.size();
    }
    if (error != HPE_PAUSED && pending_ != Piece::error) {
        fail_next(llhttp_get_error_reason(&parser_), false);
    }
    const auto consumed = static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - begin);
    CHECK(consumed <= bytes.size());
    return consumed;
}

MessageFraming::Step MessageFraming::report_pending(std::size_t consumed) {
    const Piece piece = pending_;
    pending_ = Piece::need_more;
    phase_ = piece == Piece::head_done ? Phase::body
             : piece == Piece::done    ? Phase::done
                                       : Phase::failed;
    return {piece, consumed, {}};
}

MessageFraming::Step MessageFraming::feed(std::string_view bytes) {
    if (pending_ != Piece::need_more) {
        return report_pending(0);
    }
    switch (phase_) {
        case Phase::head:
            return feed_head(bytes);
        case Phase::body:
            return feed_body_pieces(bytes);
        case Phase::done:
            return {Piece::done, 0, {}};
        case Phase::failed:
            break;
    }
    return {Piece::error, 0, {}};
}

// Line ends before a message are consumed and not reported (RFC 9112, 2.2).
MessageFraming::Step MessageFraming::feed_head(std::string_view bytes) {
    const std::size_t room = limits_.head_bytes_max - head_bytes_;
    if (room == 0 && !bytes.empty()) {
        fail_next("head too large", true);
        return report_pending(0);
    }
    std::string_view text = bytes.substr(0, room);
    std::size_t blank = 0;
    if (!started_) {
        blank = std::min(text.find_first_not_of("\r\n"), text.size());
        started_ = blank < text.size();
        text.remove_prefix(blank);
        head_bytes_ += blank;
    }
    const std::size_t consumed = execute(text);
    head_bytes_ += consumed;
    if (consumed > 0) {
        return {Piece::head_bytes, blank + consumed, text.substr(0, consumed)};
    }
    return pending_ != Piece::need_more ? report_pending(blank) : Step{Piece::need_more, blank, {}};
}

// What is hidden from llhttp ends a step, but no piece.
MessageFraming::Step MessageFraming::feed_body_pieces(std::string_view bytes) {
    std::size_t before = 0;
    Step step = feed_body(bytes);
    while (step.piece == Piece::need_more && before + step.consumed < bytes.size()) {
        before += step.consumed;
        step = feed_body(bytes.substr(before));
    }
    step.consumed += before;
    return step;
}

namespace {
constexpr bool is_hex_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
}  // namespace

// Bytes that llhttp may see: all of them, or those before an extension.
std::size_t MessageFraming::size_bytes(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size() && size_line_ != SizeLine::none; ++at) {
        const char c = bytes[at];
        const bool in_size = size_line_ == SizeLine::size;
        if (in_size && (c == ';' || c == ' ' || c == '\t')) {
            size_line_ = c == ';' ? SizeLine::extension : SizeLine::blanks;
            return at;
        }
        const bool between = !in_size && (c == '\r' || c == '\n');
        size_line_ = is_hex_digit(c) ? SizeLine::size : between ? size_line_ : SizeLine::none;
    }
    return bytes.size();
}

// Up to the end of the line, which no extension has inside, not even in quotes. Blanks alone are
// none, and nothing but an extension may follow them.
std::size_t MessageFraming::skip_extension(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && bytes[at] != '\r' && bytes[at] != '\n') {
        const char c = bytes[at++];
        if (size_line_ == SizeLine::blanks && c != ' ' && c != '\t') {
            size_line_ = SizeLine::extension;
            if (c != ';') {
                fail_next("Invalid character in chunk size", false);
                return at;
            }
        }
    }
    size_line_ = at < bytes.size() ? SizeLine::none : size_line_;
    return at;
}

MessageFraming::Step MessageFraming::feed_body(std::string_view bytes) {
    const bool skips = size_line_ == SizeLine::blanks || size_line_ == SizeLine::extension;
    const std::size_t shown = skips ? 0 : size_bytes(bytes);
    body_ = {};
    const std::size_t consumed = skips                          ? skip_extension(bytes)
                                 : shown == 0 && !bytes.empty() ? 0
                                                                : execute(bytes.substr(0, shown));
    const std::size_t before_body =
        body_.empty() ? consumed : static_cast<std::size_t>(body_.data() - bytes.data());
    overhead_bytes_ += before_body;
    if (overhead_bytes_ > limits_.head_bytes_max) {
        fail_next("chunk framing or trailers too large", true);
        return report_pending(consumed);
    }
    if (!body_.empty()) {
        size_line_ = chunked_ && parser_.content_length == 0 ? SizeLine::before : SizeLine::none;
        overhead_bytes_ = consumed - before_body - body_.size();
        return {Piece::body, consumed, body_};
    }
    return pending_ != Piece::need_more ? report_pending(consumed)
                                        : Step{Piece::need_more, consumed, {}};
}

bool MessageFraming::finish() {
    const bool complete = phase_ == Phase::body && close_delimited_ && pending_ == Piece::need_more;
    if (complete) {
        phase_ = Phase::done;
    }
    return phase_ == Phase::done;
}

}  // namespace driftless
