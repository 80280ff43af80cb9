/// Text inside other formats: CSV, XML, HTML and Markdown, and test cases in JUnit's XML. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

// CSV as RFC 4180 has it: fields with commas between them, CRLF at the end of a line.

inline constexpr std::string_view csv_line_end = "\r\n";

/// Appends one field: in quotes where it holds a comma, a quote or an end of line (section 2.5 to
/// 2.7). Text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab
/// or a line break, and is not a number) gets a `'` in front: names and messages come from servers.
void append_csv_field(std::string& out, std::string_view text);

// Text inside XML 1.0 documents.

/// Appends `text` as it may stand in an attribute's value or between tags. What people cannot see,
/// and what is not UTF-8, stands as `printable` has it: XML 1.0 allows no control characters, not
/// even escaped (section 2.2).
void append_xml_text(std::string& out, std::string_view text);

/// Whether it begins with U+FFFE or U+FFFF: valid UTF-8, but not characters of XML.
bool begins_noncharacter(std::string_view text);

// Data inside HTML pages. Text stands there as `append_xml_text` has it.

/// Appends JSON as it may stand in a <script> of type application/json: the same values, with every
/// "<" as \u003c, so that no word in it ends the script or begins a comment (HTML, section
/// 4.12.1.3).
void append_script_json(std::string& out, std::string_view json);

/// Appends the base64 of bytes (RFC 4648, section 4), with padding.
void append_base64_of(std::string& out, std::span<const std::uint8_t> bytes);

// Text inside GitHub Flavored Markdown, also in a cell of a table.

/// Appends `text` so that it is shown as it is: what has a meaning in Markdown or HTML has a
/// backslash before it (GFM 0.29, section 6.1), and nothing begins a new line.
void append_markdown_text(std::string& out, std::string_view text);
std::string markdown_text(std::string_view text);

// Test cases as CI jobs read them: JUnit's XML. Pure.

enum class CaseEnd : std::uint8_t { passed, failed, skipped };

struct TestCase {
    std::string group;
    std::string name;
    CaseEnd end = CaseEnd::passed;
    std::string message;  ///< of a failure, or why it was skipped
    std::string details;  ///< what was found, whatever became of it
};

/// One suite of these cases. `date`: "20261121-034512", UTC; empty: not known.
std::string junit_text(std::string_view suite, const std::vector<TestCase>& cases,
                       std::int64_t duration_ns, const std::string& date);

}  // namespace driftless
