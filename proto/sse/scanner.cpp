#include "proto/sse/scanner.hpp"

#include "proto/sse/line_end.hpp"

namespace driftless {

void EventScanner::reset(Framing framing) {
    *this = EventScanner{};
    framing_ = framing;
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
        if (!line_has_bytes_ && line_end > at) {
            line_has_bytes_ = true;
            block_has_field_ = block_has_field_ || *at != ':' || framing_ == Framing::lines;
        }
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

bool EventScanner::end_line() {
    const bool empty = !line_has_bytes_;
    const bool ends_event = framing_ == Framing::lines ? !empty : empty && block_has_bytes_;
    block_has_bytes_ = !ends_event && (block_has_bytes_ || !empty);
    line_has_bytes_ = false;
    if (ends_event) {
        cut_comments_ = !block_has_field_;
        block_has_field_ = false;
    }
    return ends_event;
}

}  // namespace driftless
