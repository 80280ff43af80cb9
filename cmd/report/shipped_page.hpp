/// The files that the page of a run is made of (page/), and the parts of d3 that it draws with, put
/// into the program when it is built.
#pragma once

#include <span>
#include <string_view>

namespace driftless {

struct ShippedPagePart {
    std::string_view name;  ///< of the file, up to its first point: "chart", "d3-scale", "style"
    std::string_view text;
};
/// By path.
std::span<const ShippedPagePart> shipped_page();

}  // namespace driftless
