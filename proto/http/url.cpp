#include "proto/http/url.hpp"

#include <charconv>
#include <system_error>

#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr std::string_view http_scheme = "http://";
constexpr std::string_view https_scheme = "https://";
constexpr std::string_view unix_scheme = "unix:";
constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

Error invalid(const char* why) {
    return {ErrorCode::invalid, 0, why};
}

/// Cuts `prefix` off, whatever its case in `text`.
bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!equal_ignoring_case(text.substr(0, prefix.size()), prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

/// A blank or a control byte would end the request line or a header.
bool has_illegal_byte(std::string_view text) {
    for (const char c : text) {
        if (static_cast<unsigned char>(c) <= ' ' || c == '\x7F') {
            return true;
        }
    }
    return false;
}

/// Splits "host:port" or "[v6]:port" into the Url.
Result<void> read_authority(std::string_view authority, Url& url) {
    std::string_view port;
    if (!authority.empty() && authority.front() == '[') {
        const std::size_t close = authority.find(']');
        if (close == authority.npos) {
            return invalid("has an IPv6 address without a closing ]; add it");
        }
        url.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
        if (url.host.find(':') == url.host.npos || (!port.empty() && port.front() != ':')) {
            return invalid("is not a URL; write an IPv6 address as [::1]:8000");
        }
    } else {
        const std::size_t colon = authority.find(':');
        if (colon != authority.npos && authority.find(':', colon + 1) != authority.npos) {
            return invalid("has more than one colon; write an IPv6 address as [::1]:8000");
        }
        url.host = authority.substr(0, colon);
        port = colon == authority.npos ? "" : authority.substr(colon);
    }
    if (url.host.empty()) {
        return invalid("has no host; write http://HOST:PORT");
    }
    if (port.empty()) {
        return {};
    }
    port.remove_prefix(1);
    const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (code != std::errc{} || end != port.data() + port.size() || url.port == 0) {
        return Error{ErrorCode::out_of_range, 0, "has no port between 1 and 65535; correct it"};
    }
    return {};
}

/// Length of the longest run of whole segments that ends `base` and begins `path`.
std::size_t shared_bytes(std::string_view base, std::string_view path) {
    const std::size_t most = base.size() < path.size() ? base.size() : path.size();
    for (std::size_t bytes = most; bytes > 0; --bytes) {
        const bool whole_in_path = bytes == path.size() || path[bytes] == '/';
        if (whole_in_path && base.ends_with(path.substr(0, bytes))) {
            return bytes;
        }
    }
    return 0;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
    Url url;
    if (has_illegal_byte(text)) {
        return invalid("has a blank or a control byte; remove it");
    }
    if (take_prefix(text, unix_scheme)) {
        url.unix_socket = true;
        url.host = text;
        return text.empty() ? Result<Url>(invalid("has no socket path; write unix:PATH"))
                            : Result<Url>(url);
    }
    if (take_prefix(text, https_scheme)) {
        url.tls = true;
        url.port = https_port;
    } else if (!take_prefix(text, http_scheme) && text.find("://") != text.npos) {
        return invalid("has an unknown scheme; write http:// or https://HOST:PORT, or unix:PATH");
    }
    if (text.find_first_of("?#") != text.npos) {
        return invalid("has a query or fragment; give only the base path");
    }
    const std::size_t slash = text.find('/');
    const std::string_view authority = text.substr(0, slash);
    if (authority.find('@') != authority.npos) {
        return invalid("has credentials; send them with --header 'Authorization: ...'");
    }
    if (Result<void> read = read_authority(authority, url); !read) {
        return read.error();
    }
    url.path = slash == text.npos ? "" : text.substr(slash);
    while (!url.path.empty() && url.path.back() == '/') {
        url.path.pop_back();
    }
    return url;
}

Result<Url> parse_place(std::string_view text) {
    constexpr const char* shape = "is not an address to connect to; use HOST:PORT or unix:PATH";
    std::string_view rest = text;
    if (take_prefix(rest, unix_scheme)) {
        return parse_url(text);
    }
    const std::size_t colon = text.rfind(':');
    const bool has_port = colon != text.npos && text.find(']', colon) == text.npos;
    if (!has_port || text.find('/') != text.npos) {
        return invalid(shape);
    }
    return parse_url(text);
}

bool is_request_target(std::string_view text) {
    return !has_illegal_byte(text);
}

bool looks_like_url(std::string_view text) {
    return text.find("://") != text.npos || take_prefix(text, unix_scheme);
}

std::string host_header(const Url& url) {
    if (url.unix_socket) {
        return "localhost";
    }
    const bool literal = url.host.find(':') != url.host.npos;
    std::string text = literal ? "[" + url.host + "]" : url.host;
    if (url.port != (url.tls ? https_port : http_port)) {
        text += ":" + std::to_string(url.port);
    }
    return text;
}

std::string to_text(const Url& url) {
    if (url.unix_socket) {
        return "unix:" + url.host;
    }
    return std::string(url.tls ? https_scheme : http_scheme) + host_header(url) + url.path;
}

std::string place_text(const Url& place) {
    if (place.unix_socket) {
        return to_text(place);
    }
    const bool literal = place.host.find(':') != place.host.npos;
    return (literal ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

std::string join_path(std::string_view base, std::string_view path) {
    while (!base.empty() && base.back() == '/') {
        base.remove_suffix(1);
    }
    std::string joined(base.substr(0, base.size() - shared_bytes(base, path)));
    joined += path;
    return joined;
}

std::string root_path(std::string_view base, std::string_view api_path) {
    return std::string(base.substr(0, base.size() - shared_bytes(base, api_path)));
}

}  // namespace driftless
