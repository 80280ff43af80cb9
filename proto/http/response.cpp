#include "proto/http/response.hpp"

#include <cstring>

#include "proto/http/framing.hpp"

namespace driftless {

namespace {
// The shortest beginning of a head that tells an interim answer from a final one: "HTTP/1.1 1".
constexpr std::size_t verdict_bytes = 10;
}  // namespace

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
        const MessageFraming::Step step = state.framing.feed(state.window(bytes.substr(consumed)));
        consumed += step.consumed;
        switch (step.piece) {
            case MessageFraming::Piece::need_more:
                if (consumed < bytes.size()) {
                    continue;
                }
                return {ResponsePiece::need_more, consumed, {}};
            case MessageFraming::Piece::head_bytes:
                if (const auto span = state.reportable(step.span); !span.empty()) {
                    state.limits.feed(span);
                    state.retry_after.feed(span);
                    return {ResponsePiece::head_bytes, consumed, span};
                }
                continue;
            case MessageFraming::Piece::head_done:
                if (state.head == State::Head::interim) {
                    continue;
                }
                return {ResponsePiece::head_done, consumed, {}};
            case MessageFraming::Piece::body:
                return {ResponsePiece::body, consumed, step.span};
            case MessageFraming::Piece::done:
                if (state.head == State::Head::interim) {
                    state.await_next_head();
                    continue;
                }
                return {ResponsePiece::done, consumed, {}};
            case MessageFraming::Piece::error:
                return {ResponsePiece::error, consumed, {}};
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

}  // namespace driftless
