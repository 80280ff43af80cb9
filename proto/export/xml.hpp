/// Text inside XML 1.0 documents.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

/// Appends `text` as it may stand in an attribute's value or between tags. What people cannot see,
/// and what is not UTF-8, stands as `printable` has it: XML 1.0 allows no control characters, not
/// even escaped (section 2.2).
void append_xml_text(std::string& out, std::string_view text);

/// Whether it begins with U+FFFE or U+FFFF: valid UTF-8, but not characters of XML.
bool begins_noncharacter(std::string_view text);

}  // namespace driftless
