/// Url: where a server is, as people type it, and how paths are joined to it. Pure values: no name
/// is resolved here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

struct Url {
    bool unix_socket = false;  ///< `unix:PATH`: `host` is the socket's path
    bool tls = false;          ///< `https://`
    std::string host;          ///< name or literal; IPv6 without its brackets
    std::uint16_t port = 80;
    std::string path;  ///< base path: empty, or begins with '/' and does not end with one
};

/// Reads `http://host:port/base/path`, `https://`, the same without scheme, `[::1]:8000`,
/// `unix:PATH`. Queries, fragments and credentials are refused: nothing is dropped silently.
/// Errors: invalid, out_of_range (the port); `doing` says what is wrong and the remedy.
Result<Url> parse_url(std::string_view text);

/// Reads `HOST:PORT`, `[ADDRESS]:PORT` or `unix:PATH`: where connections go to, whatever the URL
/// says. Neither scheme nor path, and the port is not left to be guessed. Errors as `parse_url`.
Result<Url> parse_place(std::string_view text);

/// True where the text can stand in a request line: neither blank nor control byte.
bool is_request_target(std::string_view text);

/// True where the text can only be meant as a URL: it has a scheme (`--endpoint` takes both).
bool looks_like_url(std::string_view text);

/// `http://host:port/base/path`, `https://` or `unix:PATH`, without anything that `parse_url`
/// refuses.
std::string to_text(const Url& url);

/// A place as `parse_place` reads it, the port always there.
std::string place_text(const Url& place);

/// Value of the Host header: the port only where it is not the scheme's (80, 443); "localhost" for
/// a Unix socket.
std::string host_header(const Url& url);

/// `base` followed by `path` (which begins with '/'), where what both share is written once:
/// "/v1" and "/v1/models" give "/v1/models"; "/proxy/v1/chat/completions" and itself as path give
/// itself. Only whole segments are shared.
std::string join_path(std::string_view base, std::string_view path);

/// What stands before the API in a base path: "/proxy/v1" with "/v1/models" gives "/proxy". Other
/// endpoints of the same server are joined to it.
std::string root_path(std::string_view base, std::string_view api_path);

}  // namespace driftless
