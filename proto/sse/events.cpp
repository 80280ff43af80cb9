#include "proto/sse/events.hpp"

#include <algorithm>

#include "proto/core/text.hpp"
#include "proto/sse/line_end.hpp"

namespace driftless {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// The next line of `rest`, without its end; a CRLF leaves an empty line, which means nothing here.
std::string_view take_line(std::string_view& rest) {
    const char* const begin = rest.data();
    const auto bytes = static_cast<std::size_t>(find_line_end(begin, begin + rest.size()) - begin);
    const std::string_view line = rest.substr(0, bytes);
    rest.remove_prefix(std::min(bytes + 1, rest.size()));
    return line;
}

struct Field {
    std::string_view name;  ///< empty for a comment
    std::string_view value;
};

Field split_field(std::string_view line) {
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

bool has_value(std::string_view data) {
    return data.find_first_not_of(white_space) != data.npos;
}

}  // namespace

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
