#include "proto/http/fields.hpp"

#include <algorithm>

#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {
bool is_token_char(char c) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
}

/// The first coding that fields of that name list and that nobody undoes here; empty: none.
std::string_view coding_in(std::string_view head, std::string_view name) {
    for (std::string_view value = header_value(head, name); value.data() != nullptr;
         value = header_value(head, name)) {
        head.remove_prefix(static_cast<std::size_t>(value.data() + value.size() - head.data()));
        while (!value.empty()) {
            const std::string_view part = value.substr(0, value.find(','));
            value.remove_prefix(std::min(part.size() + 1, value.size()));
            const std::string_view coding = trim_blanks(part);
            if (!coding.empty() && !equal_ignoring_case(coding, "identity") &&
                !equal_ignoring_case(coding, "chunked")) {
                return coding;
            }
        }
    }
    return {};
}

bool is_value_char(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
}
}  // namespace

std::string body_encoding(std::string_view head) {
    for (const char* const name : {"content-encoding", "transfer-encoding"}) {
        if (const std::string_view coding = coding_in(head, name); !coding.empty()) {
            return std::string(name) + ": " + std::string(coding);
        }
    }
    return {};
}

bool is_event_stream(std::string_view content_type) {
    constexpr std::string_view wanted = "text/event-stream";
    return equal_ignoring_case(content_type.substr(0, wanted.size()), wanted);
}

bool is_header_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_header_value(std::string_view text) {
    return std::all_of(text.begin(), text.end(), is_value_char);
}

std::string_view header_value(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        std::string_view line = head.substr(0, head.find('\n'));
        head.remove_prefix(std::min(line.size() + 1, head.size()));
        line.remove_suffix(line.ends_with('\r') ? 1 : 0);
        if (line.size() > name.size() && line[name.size()] == ':' &&
            equal_ignoring_case(line.substr(0, name.size()), name)) {
            return trim_blanks(line.substr(name.size() + 1));
        }
    }
    return {};
}

}  // namespace driftless
