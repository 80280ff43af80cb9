// Whatever a trace holds, a row's own header fields are whole lines that begin no other header, or
// the row is refused. Sessions and kept columns are the fuzzer's bytes, and so is the template.
#include "engine/prompt/row_fields.hpp"

#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

/// Up to the next NUL, which it takes.
std::string take_text(std::string_view& bytes) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    const std::string text(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    return text;
}

/// Every line is a field that was asked for, each at most once and in their order.
void check_lines(std::string_view lines, const std::vector<std::string>& names) {
    auto next = names.begin();
    while (!lines.empty()) {
        const std::size_t end = lines.find("\r\n");
        CHECK(end != lines.npos);
        const std::string_view line = lines.substr(0, end);
        next = std::find(next, names.end(), line.substr(0, line.find(": ")));
        CHECK(next != names.end());
        CHECK(is_header_value(line));
        lines.remove_prefix(end + 2);
        ++next;
    }
}

void fuzz_row_fields(std::string_view bytes) {
    const std::string value = take_text(bytes);
    Trace trace;
    Plan plan;
    for (std::uint32_t i = 0; i < 2; ++i) {
        TraceRow row{.index = i, .session = i};
        trace.sessions.push_back(take_text(bytes));
        trace.kept.push_back(i == 0 ? take_text(bytes) : std::string(bytes));
        trace.rows.push_back(row);
        plan.rows.push_back({0, i, 0});
    }
    const std::vector<std::string> names = {"X-Own", "X-Session", "X-Kept"};
    std::vector<FieldTemplate> templates;
    for (const std::string& text : {value, std::string("{session}"), std::string("{kept.a}")}) {
        if (!is_header_value(text)) {
            return;  // no such flag gets through
        }
        std::string unknown;
        templates.push_back(parse_field_template({names[templates.size()], text}, unknown));
        const FieldTemplate& field = templates.back();
        CHECK(!field.is_literal() || field.literal().size() <= text.size());
    }
    InputErrors errors;
    const RowFields fields(templates, trace, plan, errors);
    for (std::uint32_t i = 0; i < 2 && errors.empty(); ++i) {
        Due due{.row = i, .pass = i * UINT32_MAX};
        std::string lines;
        fields.append(due, lines);
        CHECK(lines.size() <= fields.bytes_max());
        CHECK(fields.bytes_max() <= RowFields::row_bytes_max);
        check_lines(lines, names);
    }
}

const FuzzTargets row_fields_target = {{"row_fields", fuzz_row_fields}};

}  // namespace
}  // namespace driftless
