#include "proto/http/sse.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "proto/core/text.hpp"

namespace driftless {

// Where a line ends, when LF, CRLF and CR all end lines. Internal to proto/http.

/// The first CR or LF of [begin, end), or `end`. Two memchr over windows that stay in the first
/// cache: as fast as one over both, and never quadratic, whichever of the two the stream lacks.
inline const char* find_line_end(const char* begin, const char* end) {
    constexpr std::ptrdiff_t window = 1024;
    while (begin < end) {
        const std::ptrdiff_t bytes = end - begin < window ? end - begin : window;
        const auto find = [begin](char wanted, std::ptrdiff_t within) {
            return static_cast<const char*>(
                std::memchr(begin, wanted, static_cast<std::size_t>(within)));
        };
        const char* const lf = find('\n', bytes);
        const char* const cr = find('\r', lf != nullptr ? lf - begin : bytes);
        if (cr != nullptr || lf != nullptr) {
            return cr != nullptr ? cr : lf;
        }
        begin += bytes;
    }
    return end;
}

static constexpr std::string_view data_field = "data:";
static constexpr std::uint8_t in_comment = 0xFF;  // in place of the bytes of a name

static constexpr std::uint8_t name_bytes_at_line_begin(Framing framing) {
    return framing == Framing::lines ? data_field.size() : 0;  // a line of NDJSON is all value
}

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

static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// The next line of `rest`, without its end; a CRLF leaves an empty line, which means nothing here.
static std::string_view take_line(std::string_view& rest) {
    const char* const begin = rest.data();
    const auto bytes = static_cast<std::size_t>(find_line_end(begin, begin + rest.size()) - begin);
    const std::string_view line = rest.substr(0, bytes);
    rest.remove_prefix(std::min(bytes + 1, rest.size()));
    return line;
}

namespace {

struct Field {
    std::string_view name;  ///< empty for a comment
    std::string_view value;
};

}  // namespace

static Field split_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
        return {line, {}};
    }
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) {
        value.remove_prefix(1);
    }
    return {line.substr(0, colon), value};
}

static bool has_value(std::string_view data) {
    return data.find_first_not_of(white_space) != data.npos;
}

SseEvent read_sse_event(std::string_view block, std::string& joined) {
    SseEvent event;
    bool has_line = false;
    bool in_joined = false;
    block.remove_prefix(std::min(block.find_first_not_of("\r\n"), block.size()));
    if (block.starts_with(byte_order_mark)) {
        block.remove_prefix(byte_order_mark.size());
    }
    while (!block.empty()) {
        const Field field = split_field(take_line(block));
        if (field.name == "event") {
            event.name = field.value;
        } else if (field.name == "data" && !has_line) {
            has_line = true;
            event.data = field.value;
        } else if (field.name == "data") {
            if (!in_joined) {
                joined.assign(event.data);
                in_joined = true;
            }
            joined += '\n';
            joined += field.value;
        }
    }
    if (in_joined) {
        event.data = joined;
    }
    event.has_data = has_value(event.data);
    return event;
}

SseEvent read_cut_event(Framing framing, std::string_view cut, std::string& joined) {
    return framing == Framing::sse ? read_sse_event(cut, joined)
                                   : SseEvent{{}, cut, has_value(cut)};
}

std::optional<bool> begins_event_stream(std::string_view body) {
    bool may_go_on = byte_order_mark.starts_with(body);
    if (body.starts_with(byte_order_mark)) {
        body.remove_prefix(byte_order_mark.size());
    }
    body.remove_prefix(std::min(body.find_first_not_of("\r\n"), body.size()));
    for (const std::string_view begin : {":", "data:", "event:", "id:", "retry:"}) {
        if (body.starts_with(begin)) {
            return true;
        }
        may_go_on = may_go_on || begin.starts_with(body);
    }
    return may_go_on ? std::nullopt : std::optional(false);
}

}  // namespace driftless
