#include "proto/sse/scanner.hpp"

#include "proto/sse/line_end.hpp"

namespace driftless {

namespace {

constexpr std::string_view data_field = "data:";
constexpr std::uint8_t in_comment = 0xFF;  // in place of the bytes of a name

constexpr std::uint8_t name_bytes_at_line_begin(Framing framing) {
    return framing == Framing::lines ? data_field.size() : 0;  // a line of NDJSON is all value
}

}  // namespace

void EventScanner::reset(Framing framing) {
    *this = EventScanner{};
    framing_ = framing;
    name_bytes_ = name_bytes_at_line_begin(framing);
}

std::size_t EventScanner::next(std::string_view bytes) {
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    if (framing_ == Framing::whole) {
        block_has_bytes_ = block_has_bytes_ || !bytes.empty();
        return 0;
    }
    const char* at = begin;
    while (at < end) {
        if (last_was_cr_ && *at == '\n') {  // the second half of a CRLF
            last_was_cr_ = false;
            ++at;
            continue;
        }
        const char* const line_end = find_line_end(at, end);
        line_has_bytes_ = line_has_bytes_ || line_end > at;
        look_for_field(at, line_end);
        if (line_end == end) {
            last_was_cr_ = false;
            break;
        }
        last_was_cr_ = *line_end == '\r';
        at = line_end + 1;
        if (end_line()) {
            return static_cast<std::size_t>(at - begin);
        }
    }
    return 0;
}

// Ends within a few bytes: at the first one that no keep-alive has, or of a comment.
void EventScanner::look_for_field(const char* at, const char* end) {
    for (; at < end && !block_has_field_ && name_bytes_ != in_comment; ++at) {
        if (name_bytes_ == 0 && *at == ':') {
            name_bytes_ = in_comment;
        } else if (name_bytes_ < data_field.size()) {
            block_has_field_ = *at != data_field[name_bytes_++];
        } else {
            block_has_field_ = *at != ' ' && *at != '\t';
        }
    }
}

bool EventScanner::end_line() {
    const bool empty = !line_has_bytes_;
    const bool ends_event = framing_ == Framing::lines ? !empty : empty && block_has_bytes_;
    block_has_bytes_ = !ends_event && (block_has_bytes_ || !empty);
    line_has_bytes_ = false;
    name_bytes_ = name_bytes_at_line_begin(framing_);
    if (ends_event) {
        cut_keep_alive_ = !block_has_field_;
        block_has_field_ = false;
    }
    return ends_event;
}

}  // namespace driftless
