#include "proto/http/parsers.hpp"

#include <llhttp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

// MessageFraming: llhttp as a stream of pieces. What the two parsers of this room share.
//
// Internal to proto/http: `ResponseParser` and `RequestParser` each own one. It never copies,
// never allocates, and reports the same pieces however its input was split (runs of head or body
// bytes may be cut differently, but join to the same bytes), up to and including the error.
//
// Chunk extensions are kept from llhttp, whose versions read a part of what RFC 9112, 7.1.1 allows
// (8.1 knows one extension, and no blanks around its `;`). They mean nothing to us.

struct FramingLimits {
    /// Of the head, blank lines before it included; also the longest run of framing between two
    /// body bytes: chunk-size lines with their extensions, and trailers.
    std::size_t head_bytes_max;
    unsigned headers_max;  ///< fields of the head and the trailers together
};

class MessageFraming {
  public:
    using Piece = ResponsePiece;
    using Step = ResponseParser::Step;

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

static MessageFraming& owner_of(llhttp_t* parser) {
    return *static_cast<MessageFraming*>(parser->data);
}

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

static constexpr bool is_hex_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

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

// The shortest beginning of a head that tells an interim answer from a final one: "HTTP/1.1 1".
static constexpr std::size_t verdict_bytes = 10;

struct ResponseParser::State {
    // Interim heads are not reported, so that nothing is before its first status digit is known.
    enum class Head : std::uint8_t { undecided, interim, final };

    MessageFraming framing{HTTP_RESPONSE, {response_head_bytes_max, response_headers_max}};
    KeepAliveScanner limits;
    RetryAfterScanner retry_after;
    Head head = Head::undecided;
    std::size_t begin_bytes = 0;
    char begin[verdict_bytes];  ///< what an undecided head begins with, when it came in pieces

    void decide(char digit) { head = digit == '1' ? Head::interim : Head::final; }
    void await_next_head() {
        framing.reset_after_interim();
        head = Head::undecided;
        begin_bytes = 0;
    }
    /// The part of `bytes` to look at next.
    std::string_view window(std::string_view bytes) const {
        const bool collecting = head == Head::undecided && begin_bytes > 0;
        return collecting ? bytes.substr(0, verdict_bytes - begin_bytes) : bytes;
    }
    std::string_view reportable(std::string_view span);
};

// What of the head can be reported now that `span` of it was read: the span, or our copy of the
// beginning; empty for none.
std::string_view ResponseParser::State::reportable(std::string_view span) {
    if (head == Head::undecided) {
        if (begin_bytes == 0 && span.size() >= verdict_bytes) {
            decide(span[verdict_bytes - 1]);
        } else {
            std::memcpy(begin + begin_bytes, span.data(), span.size());
            begin_bytes += span.size();
            if (begin_bytes < verdict_bytes) {
                return {};
            }
            decide(begin[verdict_bytes - 1]);
            span = {begin, verdict_bytes};
        }
    }
    return head == Head::final ? span : std::string_view{};
}

ResponseParser::ResponseParser() : state_(std::make_unique<State>()) {}
ResponseParser::~ResponseParser() = default;

void ResponseParser::reset() {
    state_->framing.reset();
    state_->limits.reset();
    state_->retry_after.reset();
    state_->head = State::Head::undecided;
    state_->begin_bytes = 0;
}

ResponseParser::Step ResponseParser::feed(std::string_view bytes) {
    State& state = *state_;
    std::size_t consumed = 0;
    while (true) {  // ends: every round consumes bytes or ends a message
        Step step = state.framing.feed(state.window(bytes.substr(consumed)));
        consumed += step.consumed;
        const bool interim = state.head == State::Head::interim;
        bool goes_on = interim;
        switch (step.piece) {
            case ResponsePiece::head_bytes:
                step.span = state.reportable(step.span);
                state.limits.feed(step.span);
                state.retry_after.feed(step.span);
                goes_on = step.span.empty();
                break;
            case ResponsePiece::head_done:
                break;
            case ResponsePiece::done:
                if (interim) {
                    state.await_next_head();
                }
                break;
            default:
                goes_on = step.piece == ResponsePiece::need_more && consumed < bytes.size();
        }
        if (!goes_on) {
            return {step.piece, consumed, step.span};
        }
    }
}

bool ResponseParser::finish() {
    return state_->framing.finish();
}

int ResponseParser::status() const {
    return state_->framing.status();
}

bool ResponseParser::close_delimited() const {
    return state_->framing.close_delimited();
}

bool ResponseParser::keep_alive() const {
    return state_->framing.keep_alive();
}

const KeepAliveLimits& ResponseParser::keep_alive_limits() const {
    return state_->limits.limits();
}

const std::optional<std::int64_t>& ResponseParser::retry_after_ns() const {
    return state_->retry_after.wait_ns();
}

bool ResponseParser::head_too_large() const {
    return state_->framing.too_large();
}

const char* ResponseParser::error_text() const {
    return state_->framing.error_text();
}

// Up to the first blank; `rest` keeps what follows it.
static std::string_view take_word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return word;
}

struct RequestParser::State {
    MessageFraming framing{HTTP_REQUEST, {request_head_bytes_max, request_headers_max}};
    bool head_done = false;
    std::size_t head_bytes = 0;
    std::string_view method;
    std::string_view target;
    char head[request_head_bytes_max];

    std::string_view head_text() const { return {head, head_bytes}; }

    void collect(std::string_view span) {
        CHECK(head_bytes + span.size() <= sizeof head);
        std::memcpy(head + head_bytes, span.data(), span.size());
        head_bytes += span.size();
    }
    void read_request_line() {
        std::string_view rest = head_text();
        method = take_word(rest);
        target = take_word(rest);
        head_done = true;
    }
};

RequestParser::RequestParser() : state_(new State) {}  // not zeroed: most of a head stays untouched
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
    state_->framing.reset();
    state_->head_done = false;
    state_->head_bytes = 0;
    state_->method = state_->target = {};
}

RequestParser::Step RequestParser::feed(std::string_view bytes) {
    std::size_t consumed = 0;
    while (true) {  // ends: every round but the last takes head bytes, which are bounded
        const MessageFraming::Step step = state_->framing.feed(bytes.substr(consumed));
        consumed += step.consumed;
        switch (step.piece) {
            case MessageFraming::Piece::head_bytes:
                state_->collect(step.span);
                continue;
            case MessageFraming::Piece::head_done:
                state_->read_request_line();
                return {RequestPiece::head_done, consumed, {}};
            case MessageFraming::Piece::body:
                return {RequestPiece::body, consumed, step.span};
            case MessageFraming::Piece::done:
                return {RequestPiece::done, consumed, {}};
            case MessageFraming::Piece::error:
                return {RequestPiece::error, consumed, {}};
            case MessageFraming::Piece::need_more:
                return {RequestPiece::need_more, consumed, {}};
        }
    }
}

bool RequestParser::idle() const {
    return state_->head_bytes == 0;
}

std::string_view RequestParser::method() const {
    CHECK(state_->head_done);
    return state_->method;
}

std::string_view RequestParser::target() const {
    CHECK(state_->head_done);
    return state_->target;
}

std::string_view RequestParser::header(std::string_view name) const {
    CHECK(state_->head_done);
    return header_value(state_->head_text(), name);
}

bool RequestParser::keep_alive() const {
    CHECK(state_->head_done);
    return state_->framing.keep_alive();
}

bool RequestParser::expects_continue() const {
    return equal_ignoring_case(header("expect"), "100-continue");
}

bool RequestParser::chunked() const {
    CHECK(state_->head_done);
    return state_->framing.chunked();
}

std::uint64_t RequestParser::content_length() const {
    CHECK(state_->head_done);
    return chunked() ? 0 : state_->framing.content_length();
}

bool RequestParser::head_too_large() const {
    return state_->framing.too_large();
}

const char* RequestParser::error_text() const {
    return state_->framing.error_text();
}

}  // namespace driftless
