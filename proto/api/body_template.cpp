#include "proto/api/body_template.hpp"

#include <algorithm>
#include <utility>

#include "proto/api/dialect_parts.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

constexpr std::string_view blanks = " \t\r\n";

/// The string that opens `json`, with its quotes. The text is known to be JSON.
std::string_view string_at(std::string_view json) {
    std::size_t end = 1;
    while (json[end] != '"') {
        end += json[end] == '\\' ? 2 : 1;
    }
    return json.substr(0, end + 1);
}

}  // namespace

bool BodyTemplate::has(Placeholder placeholder) const {
    return std::any_of(holes.begin(), holes.end(), [placeholder](const Hole& hole) {
        return std::any_of(
            hole.value.pieces.begin(), hole.value.pieces.end(),
            [placeholder](const TemplatePiece& one) { return one.placeholder == placeholder; });
    });
}

BodyTemplate parse_body_template(std::string_view object, std::string& unknown) {
    BodyTemplate body;
    std::string before;
    std::size_t key_bytes = 0;  // of a name that ends `before`
    JsonDocument document;
    while (!object.empty()) {  // each turn takes a byte or a string off
        if (object.front() != '"') {
            if (blanks.find(object.front()) == blanks.npos) {
                key_bytes = object.front() == ':' ? key_bytes + 1 : 0;
                before += object.front();
            }
            object.remove_prefix(1);
            continue;
        }
        const std::string_view raw = string_at(object);
        object.remove_prefix(raw.size());
        const std::size_t next = object.find_first_not_of(blanks);
        if (next != object.npos && object[next] == ':') {
            before += raw;
            key_bytes = raw.size();
            continue;
        }
        const Result<JsonValue> parsed = document.parse(raw);
        const std::string text(parsed ? parsed.value().as_string().value_or("") : "");
        const bool is_jinja = text.find("{%") != text.npos;
        FieldTemplate field =
            is_jinja ? FieldTemplate() : parse_field_template({"--extra-body", text}, unknown);
        if (is_jinja || field.is_literal()) {
            const bool same = is_jinja || field.literal() == text;
            before += same ? std::string(raw) : in_json_quotes(field.literal());
            body.unescaped = body.unescaped || !same;
        } else {
            body.holes.push_back({std::exchange(before, {}), key_bytes, std::move(field)});
        }
        key_bytes = 0;
    }
    body.end = std::move(before);
    return body;
}

}  // namespace driftless
