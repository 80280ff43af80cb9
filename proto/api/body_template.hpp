/// BodyTemplate: members of a body whose texts have placeholders that each row of a trace fills
/// (`--extra-body '{"priority": "{kept.priority}"}'`). Pure values; what a placeholder means is not
/// known here.
///
/// A text that is one placeholder alone becomes the row's value as JSON: a number stays a number.
/// Among other text the value is text, escaped. A member for which the row has no value is left
/// out, with its name; so is an element of an array. Names are not filled, nor are Jinja templates
/// (texts with "{%").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/request.hpp"

namespace driftless {

struct BodyTemplate {
    struct Hole {
        std::string before;         ///< JSON in front of it, without white space
        std::size_t key_bytes = 0;  ///< of these, the name of its member
        FieldTemplate value;
    };
    std::vector<Hole> holes;
    std::string end;
    bool unescaped = false;  ///< doubled braces became single ones

    bool has(Placeholder placeholder) const;

    /// The JSON text. `value_of(field)`: the value of a hole as JSON, or nothing.
    template <typename ValueOf>
    std::string fill(const ValueOf& value_of) const;
};

/// Takes a JSON object apart. `unknown` as parse_field_template has it.
BodyTemplate parse_body_template(std::string_view object, std::string& unknown);

template <typename ValueOf>
std::string BodyTemplate::fill(const ValueOf& value_of) const {
    std::string out;
    bool opened = false;  // the member that would have a comma before it is now the first
    const auto append = [&](std::string_view json) {
        out += json.substr(opened && json.starts_with(',') ? 1 : 0);
        opened = false;
    };
    for (const Hole& hole : holes) {
        append(hole.before);
        if (const std::optional<std::string> json = value_of(hole.value)) {
            out += *json;
            continue;
        }
        out.resize(out.size() - hole.key_bytes);
        opened = !out.ends_with(',');
        out.resize(out.size() - (opened ? 0 : 1));
    }
    append(end);
    return out;
}

}  // namespace driftless
