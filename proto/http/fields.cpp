#include "proto/http/fields.hpp"

#include <algorithm>
#include <charconv>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static bool is_token_char(char c) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || others.find(c) != others.npos;
}

/// The first coding in fields of that name that is not decoded here; empty: none.
static std::string_view coding_in(std::string_view head, std::string_view name) {
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

static bool is_value_char(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
}

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

static std::optional<std::uint32_t> number_of(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
        return std::nullopt;
    }
    return error == std::errc::result_out_of_range ? UINT32_MAX : number;
}

static void lower_to(std::optional<std::uint32_t>& limit, std::optional<std::uint32_t> said) {
    if (said) {
        limit = std::min(limit.value_or(UINT32_MAX), *said);
    }
}

/// A field's value: the smallest of several numbers counts, those beyond 32 bits as the largest.
static KeepAliveLimits read_keep_alive(std::string_view value) {
    KeepAliveLimits limits;
    while (!value.empty()) {
        const std::string_view part = value.substr(0, value.find_first_of(",;"));
        value.remove_prefix(std::min(part.size() + 1, value.size()));
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        const std::string_view name = trim_blanks(part.substr(0, equals));
        const auto number = number_of(trim_blanks(part.substr(equals + 1)));
        if (equal_ignoring_case(name, "timeout")) {
            lower_to(limits.timeout_s, number);
        } else if (equal_ignoring_case(name, "max")) {
            lower_to(limits.max, number);
        }
    }
    return limits;
}

void KeepAliveScanner::feed(std::string_view head) {
    field_.feed(head, [this](std::string_view value, bool cut) {
        if (cut) {  // what goes on behind the limit may be a number
            value = value.substr(0, value.find_last_of(",;") + 1);
        }
        const KeepAliveLimits said = read_keep_alive(value);
        lower_to(limits_.timeout_s, said.timeout_s);
        lower_to(limits_.max, said.max);
    });
}

void RetryAfterScanner::feed(std::string_view head) {
    field_.feed(head, [this](std::string_view value, bool cut) {
        const auto decimal = scan_decimal(trim_blanks(value));
        if (cut || !decimal || decimal->negative) {
            return;
        }
        constexpr unsigned digits_of_ns = 9;
        const Result<Scaled> scaled = scale(*decimal, digits_of_ns);
        const std::uint64_t most = longest_ns;
        wait_ns_ = static_cast<std::int64_t>(scaled ? std::min(scaled.value().value, most) : most);
    });
}

}  // namespace driftless
