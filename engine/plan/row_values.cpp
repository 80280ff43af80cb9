#include "engine/plan/row_values.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "engine/plan/trees.hpp"
#include "proto/core/check.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr std::string_view marks = "\x01\x02";
constexpr std::size_t digits_max = 10;  // of a 32-bit number

/// How a mark is written while its text is JSON that is still parsed: with escapes that nobody
/// writes in this order.
struct MarkName {
    char mark;
    std::string_view text;
    std::string_view quoted;  ///< alone in its string: a number then
};
constexpr MarkName mark_names[] = {{pass_mark, R"(\/\u0001\/)", R"("\/\u0001\/")"},
                                   {user_mark, R"(\/\u0002\/)", R"("\/\u0002\/")"}};

void replace_all(std::string& text, std::string_view from, char to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
        text.replace(at, from.size(), 1, to);
    }
}

}  // namespace

RowValues::RowValues(const Trace& trace)
    : trace_(trace), roots_(roots_of_sessions(trace)), parents_(parents_of_sessions(trace)) {}

void RowValues::set(const TraceRow& row) {
    row_ = &row;
    const Result<JsonValue> kept = document_.parse(trace_.kept_of(row));
    kept_ = kept ? kept.value() : JsonValue();
}

std::optional<std::string> RowValues::name_of(std::uint32_t session) const {
    return session == no_session ? std::nullopt
                                 : std::optional<std::string>(trace_.sessions[session]);
}

std::optional<std::string> RowValues::text_of(const TemplatePiece& piece) const {
    CHECK(row_ != nullptr);
    const std::uint32_t session = row_->session;
    switch (piece.placeholder) {
        case Placeholder::none:
            return piece.text;
        case Placeholder::row:
            return std::to_string(row_->index);
        case Placeholder::session:
            return name_of(session);
        case Placeholder::tree:
            return session == no_session ? std::nullopt : name_of(roots_[session]);
        case Placeholder::parent:
            return session == no_session ? std::nullopt : name_of(parents_[session]);
        case Placeholder::turn:
            return row_->turn == 0 ? std::nullopt
                                   : std::optional<std::string>(std::to_string(row_->turn));
        case Placeholder::pass:
            return std::string(1, pass_mark);
        case Placeholder::user:
            return std::string(1, user_mark);
        case Placeholder::kept:
            break;
    }
    const JsonValue value = column(piece);
    if (const auto text = value.as_string()) {
        return std::string(*text);
    }
    return !value.present() || value.is(JsonType::null)
               ? std::nullopt
               : std::optional<std::string>(value.raw());  // as the trace writes it
}

std::optional<std::string> RowValues::text_of(const FieldTemplate& field) const {
    std::string all;
    for (const TemplatePiece& piece : field.pieces) {
        const std::optional<std::string> value = text_of(piece);
        if (!value) {
            return std::nullopt;
        }
        all += *value;
    }
    return all;
}

std::optional<std::string> RowValues::json_of(const FieldTemplate& field) const {
    const std::optional<std::string> text = text_of(field);
    const TemplatePiece& first = field.pieces.front();
    const bool alone = field.pieces.size() == 1;
    const bool is_number =
        first.placeholder == Placeholder::row || first.placeholder == Placeholder::turn ||
        (first.placeholder == Placeholder::kept && !column(first).is(JsonType::string));
    if (!text || (alone && is_number)) {
        return text;
    }
    std::string json = "\"";
    for (const TemplatePiece& piece : field.pieces) {
        if (piece.placeholder == Placeholder::pass || piece.placeholder == Placeholder::user) {
            json += mark_names[piece.placeholder == Placeholder::pass ? 0 : 1].text;
        } else {
            append_json_escaped(json, text_of(piece).value_or(""));
        }
    }
    return json + "\"";
}

std::size_t count_marks(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return c == pass_mark || c == user_mark; }));
}

std::size_t marked_bytes_max(std::string_view text) {
    return text.size() + count_marks(text) * (digits_max - 1);
}

std::string with_marks(std::string json) {
    for (const MarkName& one : mark_names) {
        replace_all(json, one.quoted, one.mark);
        replace_all(json, one.text, one.mark);
    }
    return json;
}

char* write_marked(std::string_view text, std::uint32_t pass, std::uint32_t user, char* out) {
    while (true) {  // bounded by the text's marks
        const std::size_t mark = std::min(text.find_first_of(marks), text.size());
        out = std::copy_n(text.begin(), mark, out);
        if (mark == text.size()) {
            return out;
        }
        out = std::to_chars(out, out + digits_max, text[mark] == pass_mark ? pass : user).ptr;
        text.remove_prefix(mark + 1);
    }
}

std::string RowModels::opening(std::string_view model) {
    std::string text = "{\"model\":";
    JsonWriter(text).string(model);
    return text;
}

RowModels::RowModels(const FieldTemplate& model, const Trace& trace, const Plan& plan,
                     InputErrors& errors) {
    RowValues values(trace);
    std::map<std::string, std::uint16_t> numbers;
    of_row_.assign(trace.rows.size(), 0);
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        values.set(row);
        std::optional<std::string> name = values.text_of(model);
        name = name && name->empty() ? std::nullopt : name;
        const bool is_new = name && numbers.find(*name) == numbers.end();
        if (!name || (is_new && numbers.size() == names_max)) {
            InputError error;
            error.file = trace.file_of(row);
            error.line = row.line;
            error.field = model.name;
            error.value = name.value_or("");
            error.problem = name ? "is a model name longer than " + std::to_string(names_max)
                                 : "has no value for --model";
            error.remedy = "name a column with a model in every row, or one model for all";
            errors.add(std::move(error));
            continue;
        }
        const auto number = static_cast<std::uint16_t>(names_.size());
        const auto placed = numbers.emplace(*name, number);
        of_row_[planned.row] = placed.first->second;
        if (placed.second) {
            names_.push_back(*name);
            openings_.push_back(opening(*name));
            opening_bytes_max_ = std::max(opening_bytes_max_, openings_.back().size());
        }
    }
}

}  // namespace driftless
