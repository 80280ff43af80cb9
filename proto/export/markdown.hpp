/// Text inside GitHub Flavored Markdown, also in a cell of a table.
#pragma once

#include <string>
#include <string_view>

namespace driftless {

/// Appends `text` so that it is shown as it is: what has a meaning in Markdown or HTML has a
/// backslash before it (GFM 0.29, section 6.1), and nothing begins a new line.
void append_markdown_text(std::string& out, std::string_view text);

}  // namespace driftless
