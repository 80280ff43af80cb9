#include "proto/http/field_template.hpp"

#include <algorithm>
#include <array>

#include "proto/core/text.hpp"

namespace driftless {

namespace {

struct Known {
    std::string_view name;
    Placeholder placeholder;
};
constexpr std::array known{Known{"row", Placeholder::row},   Known{"session", Placeholder::session},
                           Known{"tree", Placeholder::tree}, Known{"parent", Placeholder::parent},
                           Known{"turn", Placeholder::turn}, Known{"pass", Placeholder::pass},
                           Known{"user", Placeholder::user}};
constexpr std::string_view kept_prefix = "kept.";

bool is_name(std::string_view text) {
    const bool kept = text.starts_with(kept_prefix) && text.size() > kept_prefix.size();
    return kept || (!text.empty() && (text.front() < '0' || text.front() > '9') &&
                    std::all_of(text.begin(), text.end(), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                               (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
                    }));
}

/// The name between the braces that open `text`; empty where they enclose none.
std::string_view name_in_braces(std::string_view text) {
    const std::size_t end = text.find_first_of("{}", 1);
    if (end == text.npos || text[end] != '}') {
        return {};
    }
    const std::string_view name = text.substr(1, end - 1);
    return is_name(name) ? name : std::string_view{};
}

TemplatePiece piece_of(std::string_view name, std::string& unknown) {
    for (const Known& one : known) {
        if (one.name == name) {
            return {one.placeholder, ""};
        }
    }
    if (name.starts_with(kept_prefix) && name.size() > kept_prefix.size()) {
        return {Placeholder::kept, std::string(name.substr(kept_prefix.size()))};
    }
    unknown = unknown.empty() ? name : unknown;
    return {};
}

/// What was meant for a placeholder: a known name with blanks around it, or without its closing
/// brace. `text` opens with a brace.
std::string_view almost_name(std::string_view text) {
    const std::string_view inner = text.substr(1, text.find_first_of("{}", 1) - 1);
    const std::string_view name = trim(inner, " \t");
    const bool is_known = name.starts_with(kept_prefix) ||
                          std::any_of(known.begin(), known.end(),
                                      [name](const Known& one) { return one.name == name; });
    return is_known ? inner : std::string_view{};
}

void append_text(std::vector<TemplatePiece>& pieces, std::string_view text) {
    if (pieces.empty() || pieces.back().placeholder != Placeholder::none) {
        pieces.emplace_back();
    }
    pieces.back().text += text;
}

}  // namespace

bool FieldTemplate::is_literal() const {
    return std::all_of(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) {
        return piece.placeholder == Placeholder::none;
    });
}

std::string FieldTemplate::literal() const {
    return pieces.empty() ? "" : pieces.front().text;  // text beside text is one piece
}

std::string to_text(const TemplatePiece& piece) {
    for (const Known& one : known) {
        if (one.placeholder == piece.placeholder) {
            return std::string(one.name);
        }
    }
    return std::string(kept_prefix) + piece.text;
}

FieldTemplate parse_field_template(const Header& header, std::string& unknown) {
    FieldTemplate field;
    field.name = header.name;
    std::string_view rest = header.value;
    while (!rest.empty()) {
        const std::size_t brace = std::min(rest.find('{'), rest.size());
        if (brace > 0) {
            append_text(field.pieces, rest.substr(0, brace));
            rest.remove_prefix(brace);
            continue;
        }
        if (const std::string_view name = name_in_braces(rest); !name.empty()) {
            field.pieces.push_back(piece_of(name, unknown));
            rest.remove_prefix(name.size() + 2);
            continue;
        }
        const std::string_view doubled =
            rest.starts_with("{{") ? name_in_braces(rest.substr(1)) : std::string_view{};
        const bool is_escape = !doubled.empty() && rest.substr(doubled.size() + 3).starts_with('}');
        if (const std::string_view almost = almost_name(rest); !is_escape && !almost.empty()) {
            unknown = unknown.empty() ? almost : unknown;
        }
        append_text(field.pieces, is_escape ? rest.substr(1, doubled.size() + 2) : "{");
        rest.remove_prefix(is_escape ? doubled.size() + 4 : 1);
    }
    return field;
}

}  // namespace driftless
