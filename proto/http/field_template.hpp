/// FieldTemplate: a header field whose value has placeholders that each row of a trace fills. Pure
/// values; where a row's session or columns come from is not known here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/request.hpp"

namespace driftless {

/// What a placeholder stands for.
enum class Placeholder : std::uint8_t {
    none,     ///< text as it stands
    row,      ///< {row}: index in file order
    session,  ///< {session}
    tree,     ///< {tree}: the session at the root of the row's tree
    parent,   ///< {parent}: the session that spawned the row's own
    turn,     ///< {turn}
    pass,     ///< {pass}: how often the trace had been gone through before
    user,     ///< {user}: who sends the row
    kept,     ///< {kept.NAME}: a column that `--keep` carries
};

/// A piece of a value: literal text, or a placeholder.
struct TemplatePiece {
    Placeholder placeholder = Placeholder::none;
    std::string text;  ///< none: the text; kept: the column's name
};

struct FieldTemplate {
    std::string name;
    std::vector<TemplatePiece> pieces;
    const char* flag = "--header";  ///< that has brought it, for messages

    /// No placeholder: `literal()` is the value of every row.
    bool is_literal() const;
    std::string literal() const;
};

/// "row", "kept.NAME": as it stands between the braces.
std::string to_text(const TemplatePiece& piece);

/// Takes a value apart. `{NAME}` of letters, digits, '_', '-' and '.', and `{kept.}` with whatever
/// name, are placeholders; `{{NAME}}` is the text `{NAME}`; other braces are text, as in JSON.
/// Where a placeholder is none of those, or has blanks around its name or no brace behind it,
/// `unknown` is what stands behind its brace.
FieldTemplate parse_field_template(const Header& header, std::string& unknown);

}  // namespace driftless
