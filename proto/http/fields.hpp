/// Header fields inside a head that was collected as bytes. Pure functions over views.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

/// Walks the header fields of a head (status or request line included or not): the value of the
/// first field of that name (case-insensitive, blanks trimmed), or nullptr data where there is
/// none. A field with an empty value gives an empty view with data.
std::string_view header_value(std::string_view head, std::string_view name);

/// How the body is encoded apart from chunks, as a message says it ("content-encoding: gzip");
/// empty: not at all. No encoding is decoded here.
std::string body_encoding(std::string_view head);

/// Whether a Content-Type is that of server-sent events, whatever its parameters.
bool is_event_stream(std::string_view content_type);

/// True for what may name a field (RFC 9110, 5.6.2: a token) and for what may be its value (5.5,
/// without the blanks around it: no control byte but the tab; bytes above ASCII pass).
bool is_header_name(std::string_view text);
bool is_header_value(std::string_view text);

}  // namespace driftless
