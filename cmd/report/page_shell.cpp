#include "cmd/report/page_shell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/report/shipped_page.hpp"
#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/export/html.hpp"
#include "proto/export/xml.hpp"

namespace driftless {

namespace {

/// In the order in which they need each other.
constexpr std::array<std::string_view, 6> libraries{"d3-array",  "d3-collection",  "d3-color",
                                                    "d3-format", "d3-interpolate", "d3-scale"};
constexpr std::array<std::string_view, 10> shared_scripts{
    "columns", "statistics", "words", "parts", "draw",
    "pointer", "fingers",    "keys",  "chart", "whole"};

std::string_view part(std::string_view name) {
    const auto all = shipped_page();
    const auto found = std::find_if(
        all.begin(), all.end(), [name](const ShippedPagePart& one) { return one.name == name; });
    CHECK(found != all.end());
    return found->text;
}

void append_parts(std::string& code, std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
        code.append(part(name)).append("\n");
    }
}

/// What stands in the page for a word between two @ in its shell.
struct Filling {
    std::string_view mark;
    std::string_view text;
};

/// In one pass, so that no mark is looked for in what was filled in.
std::string filled(std::string_view shell, std::span<const Filling> fillings) {
    std::string page;
    for (std::size_t from = 0;;) {
        const std::size_t at = shell.find('@', from);
        page += shell.substr(from, at - from);
        if (at == shell.npos) {
            return page;
        }
        const std::size_t end = shell.find('@', at + 1);
        CHECK(end != shell.npos);
        const std::string_view mark = shell.substr(at + 1, end - at - 1);
        const auto found = std::find_if(fillings.begin(), fillings.end(),
                                        [mark](const Filling& one) { return one.mark == mark; });
        CHECK(found != fillings.end());
        page += found->text;
        from = end + 1;
    }
}

}  // namespace

std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data) {
    std::string escaped_title;
    append_xml_text(escaped_title, title);
    std::string code;
    append_parts(code, libraries);
    append_parts(code, shared_scripts);
    append_parts(code, scripts);
    // Only what has this word runs. Nobody can know it who does not know every stamp of the run.
    Digest digest;
    digest.add(data);
    const std::string nonce =
        fmt::format("{:016x}{:016x}", digest.value(), mix64(digest.value() ^ data.size()));
    std::string json;
    append_script_json(json, data);
    const std::array fillings{
        Filling{"nonce", nonce},         Filling{"title", escaped_title},
        Filling{"style", part("style")}, Filling{"licence", part("licence")},
        Filling{"code", code},           Filling{"data", json},
    };
    return filled(part("shell"), fillings);
}

}  // namespace driftless
