/// The shell of a page: one HTML file that asks for nothing, with d3, the scripts that every page
/// draws with, and scripts and data of its own. Pure; the files lie in page/.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace driftless {

/// `scripts` are names of files of page/, in the order in which they need each other; before them
/// stand d3 and the shared ones: columns, statistics, words, parts, draw, pointer, fingers, keys,
/// chart, whole. `data` is JSON, which they find as the text of the element `data`. What comes from
/// outside may be in `title` and `data`: both are escaped.
std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data);

}  // namespace driftless
