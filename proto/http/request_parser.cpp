#include "proto/http/request_parser.hpp"

#include <cstring>

#include "proto/core/check.hpp"
#include "proto/core/letter_case.hpp"
#include "proto/http/fields.hpp"
#include "proto/http/framing.hpp"

namespace driftless {

namespace {
// Up to the first blank; `rest` keeps what follows it.
std::string_view take_word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return word;
}
}  // namespace

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
