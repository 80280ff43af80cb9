/// Data inside HTML pages. Text stands there as `append_xml_text` has it (xml.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace driftless {

/// Appends JSON as it may stand in a <script> of type application/json: the same values, with every
/// "<" as \u003c, so that no word in it ends the script or begins a comment (HTML, section
/// 4.12.1.3).
void append_script_json(std::string& out, std::string_view json);

/// Appends the base64 of bytes (RFC 4648, section 4), with padding.
void append_base64_of(std::string& out, std::span<const std::uint8_t> bytes);

}  // namespace driftless
