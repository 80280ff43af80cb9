/// CSV as RFC 4180 has it: fields with commas between them, CRLF at the end of a line.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

inline constexpr std::string_view csv_line_end = "\r\n";

/// Appends one field: in quotes where it holds a comma, a quote or an end of line (section 2.5 to
/// 2.7). Text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab
/// or a line break, and is not a number) gets a `'` in front: names and messages come from servers.
void append_csv_field(std::string& out, std::string_view text);

}  // namespace driftless
