#include "cmd/report/export_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/view.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Those with definitions of their own in the exports.
static constexpr std::array defined_tables{RunTable::summary, RunTable::requests,
                                           RunTable::periods};

namespace {

struct TableNames {
    const char* name;
    const char* schema;
};

}  // namespace

/// [RunTable]
static constexpr std::array table_names{
    TableNames{"requests", "record.schema.json"}, TableNames{"periods", "period.schema.json"},
    TableNames{"summary", "summary.schema.json"}, TableNames{"events", "timed_event.schema.json"},
    TableNames{"client", "client.schema.json"},
};

static std::string_view schema_of(RunTable table) {
    const ShippedFile* const found =
        find_shipped_file(table_names[static_cast<std::size_t>(table)].schema);
    CHECK(found != nullptr);
    return found->text;
}

namespace {

/// A member of the schema that is still to be looked at.
struct Pending {
    JsonValue schema;
    Figure figure;
};

}  // namespace

/// The type, or one of the types, that a schema allows.
static bool allows(JsonValue schema, std::string_view type) {
    const JsonValue types = schema.find("type");
    for (JsonValue one = types.first(); one.present(); one = one.next()) {
        if (one.as_string() == type) {
            return true;
        }
    }
    return types.as_string() == type;
}

static bool is_array_of_numbers(JsonValue schema) {
    const JsonValue items = schema.find("items");
    return items.present() && (allows(items, "integer") || allows(items, "number"));
}

/// Up to the first full stop that ends a sentence.
static std::string first_sentence(std::string_view text) {
    for (std::size_t at = text.find(". "); at != text.npos; at = text.find(". ", at + 1)) {
        const char next = at + 2 < text.size() ? text[at + 2] : 'A';
        if (next >= 'A' && next <= 'Z') {
            return std::string(text.substr(0, at + 1));
        }
    }
    return std::string(text);
}

/// The unit at the end of a name; empty where it has none.
static std::string unit_in(std::string_view name) {
    constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
    const std::size_t at = name.rfind('_');
    const std::string_view last = at == name.npos ? "" : name.substr(at + 1);
    return std::ranges::find(units, last) == units.end() ? "" : std::string(last);
}

/// `above` is the object that holds it, whose unit and definition it has where it says nothing.
static Figure figure_of(const Figure& above, JsonValue schema) {
    Figure figure;
    const std::string key(schema.key());
    figure.path = above.path;
    figure.path.push_back(key);
    figure.name = above.name.empty() ? key : above.name + "." + key;
    figure.holds_numbers = allows(schema, "integer") || allows(schema, "number");
    figure.unit = schema.find("unit").as_string().value_or("");
    const bool holds_figures = schema.find("properties").present();
    if (figure.unit.empty() && (figure.holds_numbers || holds_figures)) {
        figure.unit = unit_in(key);
        // An integer beside times is how many they are.
        if (figure.unit.empty() && !allows(schema, "integer")) {
            figure.unit = above.unit;
        }
    }
    const auto said = schema.find("description").as_string();
    figure.definition = said ? first_sentence(*said) : above.definition;
    return figure;
}

const char* name_of(RunTable table) {
    return table_names[static_cast<std::size_t>(table)].name;
}

std::vector<Figure> figures_of(RunTable table) {
    JsonDocument document;
    const Result<JsonValue> schema = document.parse(schema_of(table));
    CHECK(schema);
    std::vector<Figure> figures;
    std::vector<Pending> pending{{schema.value(), {}}};
    while (!pending.empty()) {  // bounded by the members of the schema
        const Pending one = std::move(pending.back());
        pending.pop_back();
        const JsonValue members = one.schema.find("properties");
        if (!members.present()) {
            if (!is_array_of_numbers(one.schema)) {
                figures.push_back(one.figure);
            }
            continue;
        }
        const std::size_t from = pending.size();
        for (JsonValue member = members.first(); member.present(); member = member.next()) {
            pending.push_back({member, figure_of(one.figure, member)});
        }
        std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(from), pending.end());
    }
    return figures;
}

std::size_t place_of(const std::vector<Figure>& figures, std::string_view name) {
    const auto found = std::ranges::find(figures, name, &Figure::name);
    CHECK(found != figures.end());
    return static_cast<std::size_t>(found - figures.begin());
}

JsonValue value_of(JsonValue record, const Figure& figure) {
    for (const std::string& key : figure.path) {
        record = record.find(key);
    }
    return record;
}

TableCell text_cell(std::string_view text) {
    return {CellKind::text, printable(text)};
}

TableCell cell_of(JsonValue value) {
    if (!value.present() || value.is(JsonType::null)) {
        return {};
    }
    switch (value.type()) {
        case JsonType::number:
            return {CellKind::number, std::string(value.raw())};
        case JsonType::boolean:
            return {CellKind::boolean, std::string(value.raw())};
        case JsonType::string:
            return text_cell(value.as_string().value_or(""));
        default:
            return text_cell(value.raw());
    }
}

std::vector<TableRow> summary_rows(std::string_view summary) {
    JsonDocument document;
    const Result<JsonValue> root = document.parse(summary);
    CHECK(root);  // our own text
    std::vector<TableRow> rows;
    for (const Figure& figure : figures_of(RunTable::summary)) {
        rows.push_back({text_cell(figure.name), cell_of(value_of(root.value(), figure)),
                        text_cell(figure.unit)});
    }
    return rows;
}

std::vector<std::vector<std::string>> definitions_of(std::span<const RunTable> tables) {
    std::vector<std::vector<std::string>> rows;
    for (const RunTable table : tables) {
        for (const Figure& figure : figures_of(table)) {
            rows.push_back({name_of(table), figure.name, figure.unit, figure.definition});
        }
    }
    return rows;
}

std::vector<TableRow> definition_rows() {
    std::vector<TableRow> rows;
    for (const std::vector<std::string>& texts : definitions_of(defined_tables)) {
        std::ranges::transform(texts, std::back_inserter(rows.emplace_back()), text_cell);
    }
    return rows;
}

/// The member of that name from `at` on, or absent.
static JsonValue find_from(JsonValue at, std::string_view name) {
    while (at.present() && at.key() != name) {
        at = at.next();
    }
    return at;
}

Result<JsonlRows> JsonlRows::open(const std::string& path, std::vector<Figure> columns,
                                  std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    return JsonlRows(path, std::move(lines).value(), std::move(columns));
}

std::vector<std::string_view> JsonlRows::names() const {
    std::vector<std::string_view> names;
    for (const Figure& column : columns_) {
        names.push_back(column.name);
    }
    return names;
}

const TableRow* JsonlRows::next() {
    const std::optional<std::string_view> line = lines_.next();
    if (!line) {
        why_ = lines_.why();
        return nullptr;
    }
    const Result<JsonValue> root = document_.parse(*line);
    if (!root) {
        why_ = describe_line(path_, lines_.number(), Error{root.error().code, 0, "read a line"});
        return nullptr;
    }
    read_cells(root.value(), columns_, row_);
    return &row_;
}

void read_cells(const JsonValue& line, const std::vector<Figure>& columns, TableRow& out) {
    out.clear();
    // Lines have the order of the columns, so that each column is looked for behind the one before.
    JsonValue at = line.first();
    for (const Figure& column : columns) {
        const JsonValue value = find_from(at, column.path.front());
        out.push_back(cell_of(value));
        at = value.present() ? value.next() : at;
    }
}

/// A spreadsheet would compute it instead of showing it. The last four are the full-width forms,
/// which some of them take, too.
static bool is_formula(std::string_view text) {
    for (const char* begin :
         {"=", "+", "-", "@", "\t", "\r", "\n", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"}) {
        if (text.starts_with(begin)) {
            return !read_number<double>(text);
        }
    }
    return false;
}

void append_csv_field(std::string& out, std::string_view text) {
    const std::string_view guard = is_formula(text) ? "'" : "";
    if (text.find_first_of(",\"\r\n") == text.npos) {
        out += guard;
        out += text;
        return;
    }
    out += '"';
    out += guard;
    for (const char c : text) {
        out.append(c == '"' ? 2 : 1, c);
    }
    out += '"';
}

void CsvLines::add(std::string_view text) {
    out_ += at_begin_ ? "" : ",";
    append_csv_field(out_, text);
    at_begin_ = false;
}

void CsvLines::add(const std::optional<double>& value) {
    std::string digits;
    if (value) {
        JsonWriter(digits).number(*value);
    }
    add(digits);
}

void CsvLines::end() {
    out_ += csv_line_end;
    at_begin_ = true;
}

bool begins_noncharacter(std::string_view text) {
    return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

void append_xml_text(std::string& out, std::string_view text) {
    constexpr std::string_view marks = "&<>\"";
    constexpr const char* escapes[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    const std::string shown = printable(text);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (begins_noncharacter(std::string_view(shown).substr(i))) {
            out += "\xEF\xBF\xBD";
            i += 2;
            continue;
        }
        const std::size_t mark = marks.find(shown[i]);
        mark == marks.npos ? out += shown[i] : out += escapes[mark];
    }
}

void append_script_json(std::string& out, std::string_view json) {
    for (std::size_t from = 0; from <= json.size();) {
        const std::size_t at = json.find('<', from);
        out += json.substr(from, at - from);
        if (at == json.npos) {
            return;
        }
        out += "\\u003c";
        from = at + 1;
    }
}

std::string base64_of(std::span<const std::uint8_t> bytes) {
    std::string out;
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const unsigned group = (unsigned{bytes[i]} << 16) |
                               (left > 1 ? unsigned{bytes[i + 1]} << 8 : 0U) |
                               (left > 2 ? unsigned{bytes[i + 2]} : 0U);
        out += digits[group >> 18];
        out += digits[(group >> 12) & 63];
        out += left > 1 ? digits[(group >> 6) & 63] : '=';
        out += left > 2 ? digits[group & 63] : '=';
    }
    return out;
}

std::string markdown_text(std::string_view text) {
    std::string out;
    constexpr std::string_view marks = "\\`*_{}[]<>#|~&@!$";
    for (const char c : printable(text)) {
        if (marks.find(c) != marks.npos) {
            out += '\\';
        }
        out += c;
    }
    return out;
}

std::string markdown_row(const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", markdown_text) + " |\n";
}

static std::string attribute(std::string_view name, std::string_view value) {
    std::string text = fmt::format(" {}=\"", name);
    append_xml_text(text, value);
    return text + '"';
}

static std::string case_text(const TestCase& one) {
    std::string text = "    <testcase" + attribute("classname", "driftless." + one.group) +
                       attribute("name", one.name) + ">\n";
    if (one.end == CaseEnd::failed || one.end == CaseEnd::error) {
        text += one.end == CaseEnd::error ? "      <error" : "      <failure";
        text += attribute("message", one.message) + attribute("type", one.group) + "/>\n";
    } else if (one.end == CaseEnd::skipped) {
        text += "      <skipped" + attribute("message", one.message) + "/>\n";
    }
    text += "      <system-out>";
    append_xml_text(text, one.details);
    return text + "</system-out>\n    </testcase>\n";
}

/// "20261121-034512" as ISO 8601 has it.
static std::string timestamp(const std::string& date) {
    if (date.size() != std::string_view("20261121-034512").size()) {
        return "";
    }
    return date.substr(0, 4) + "-" + date.substr(4, 2) + "-" + date.substr(6, 2) + "T" +
           date.substr(9, 2) + ":" + date.substr(11, 2) + ":" + date.substr(13, 2) + "Z";
}

std::string junit_text(std::string_view suite, const std::vector<TestCase>& cases,
                       std::int64_t duration_ns, const std::string& date) {
    const auto count = [&cases](CaseEnd end) {
        return std::ranges::count(cases, end, &TestCase::end);
    };
    const std::string counts =
        fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\"", cases.size(),
                    count(CaseEnd::failed), count(CaseEnd::error));
    const std::string skipped = fmt::format(" skipped=\"{}\"", count(CaseEnd::skipped));
    const std::string time =
        fmt::format(" time=\"{:.3f}\"", static_cast<double>(duration_ns) / 1e9);
    std::string text = std::string(junit_begins) + "=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                       attribute("name", "driftless") + counts + time + ">\n  <testsuite" +
                       attribute("name", suite) + counts + skipped + time;
    if (const std::string at = timestamp(date); !at.empty()) {
        text += attribute("timestamp", at);
    }
    text += ">\n";
    for (const TestCase& one : cases) {
        text += case_text(one);
    }
    return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace driftless
