#include "engine/prompt/row_fields.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/plan/trees.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/write.hpp"

namespace driftless {

static constexpr std::string_view marks = "\x01\x02";
static constexpr std::size_t digits_max = 10;  // of a 32-bit number

namespace {

/// How a mark is written while its text is JSON that is still parsed: with escapes that nobody
/// writes in this order.
struct MarkName {
    char mark;
    std::string_view text;
    std::string_view quoted;  ///< alone in its string: a number then
};

}  // namespace

static constexpr MarkName mark_names[] = {{pass_mark, R"(\/\u0001\/)", R"("\/\u0001\/")"},
                                          {user_mark, R"(\/\u0002\/)", R"("\/\u0002\/")"}};

static void replace_all(std::string& text, std::string_view from, char to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
        text.replace(at, from.size(), 1, to);
    }
}

/// Upper bound of a marked text's bytes with its numbers.
static std::size_t marked_bytes_max(std::string_view text) {
    const auto marks_in_text =
        std::ranges::count_if(text, [](char c) { return c == pass_mark || c == user_mark; });
    return text.size() + static_cast<std::size_t>(marks_in_text) * (digits_max - 1);
}

void refuse_row(const Trace& trace, const TraceRow& row, std::string field, std::string_view value,
                std::string problem, std::string remedy, InputErrors& errors) {
    constexpr std::size_t value_bytes_shown_max = 80;
    errors.add({std::string(trace.file_of(row)), row.line, std::move(field),
                std::string(value.substr(0, value_bytes_shown_max)), std::move(problem),
                std::move(remedy)});
}

RowValues::RowValues(const Trace& trace)
    : trace_(trace), roots_(roots_of_sessions(trace)), parents_(parents_of_sessions(trace)) {}

void RowValues::set(const TraceRow& row) {
    row_ = &row;
    const Result<JsonValue> kept = document_.parse(trace_.kept_of(row));
    kept_ = kept ? kept.value() : JsonValue();
}

std::optional<std::string> RowValues::name_of(std::uint32_t session) const {
    return session == no_session ? std::nullopt : std::optional(trace_.sessions[session]);
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
            return row_->turn == 0 ? std::nullopt : std::optional(std::to_string(row_->turn));
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
            refuse_row(trace, row, model.name, name.value_or(""),
                       name ? "is a model name longer than " + std::to_string(names_max)
                            : "has no value for --model",
                       "name a column with a model in every row, or one model for all", errors);
            continue;
        }
        const auto number = static_cast<std::uint16_t>(names_.size());
        const auto placed = numbers.emplace(*name, number);
        of_row_[planned.row] = placed.first->second;
        if (placed.second) {
            names_.push_back(*name);
            openings_.push_back(opening(*name));
        }
    }
}

namespace {

/// Renders one row after the other.
class Renderer {
  public:
    Renderer(const std::vector<FieldTemplate>& templates, const Trace& trace, InputErrors& errors)
        : templates_(templates), trace_(trace), errors_(errors), values_(trace) {}

    /// The row's fields as whole lines, with marks; valid until the next call.
    std::string_view render(const TraceRow& row) {
        row_ = &row;
        lines_.clear();
        values_.set(row);
        for (const FieldTemplate& field : templates_) {
            add(field);
        }
        const std::size_t bytes = marked_bytes_max(lines_);
        if (bytes > RowFields::row_bytes_max) {
            refuse_long(bytes);
        }
        return lines_;
    }

  private:
    void add(const FieldTemplate& field) {
        const std::size_t before = lines_.size();
        lines_ += field.name + ": ";
        for (const TemplatePiece& piece : field.pieces) {
            const bool is_mark =
                piece.placeholder == Placeholder::pass || piece.placeholder == Placeholder::user;
            const std::optional<std::string> value = values_.text_of(piece);
            if (!value) {  // a row that has none goes without the field
                lines_.resize(before);
                return;
            }
            if (!is_mark && !is_header_value(*value)) {
                refuse(to_text(piece), *value, "has a control byte, which could begin a header",
                       remedy_of(field, to_text(piece)));
            }
            lines_ += *value;
        }
        lines_ += "\r\n";
    }

    static std::string remedy_of(const FieldTemplate& field, const std::string& name) {
        return field.flag == std::string_view(FieldTemplate{}.flag)
                   ? "leave {" + name + "} out of --header " + field.name
                   : "rename the session, or leave " + std::string(field.flag) + " out";
    }

    /// Names the session where that is long. Columns are not shown: they may hold a key.
    void refuse_long(std::size_t bytes) {
        const std::string problem =
            "makes the row's header values " + std::to_string(bytes) + " bytes long";
        const std::string name =
            values_.text_of(TemplatePiece{Placeholder::session, ""}).value_or("");
        if (name.size() > RowFields::row_bytes_max / templates_.size() / 2) {
            refuse("session", name, problem,
                   "at most 4096 are allowed; shorten the name, or leave " +
                       std::string(templates_.back().flag) + " out");
            return;
        }
        refuse("", std::to_string(bytes), "bytes of --header values are more than 4096",
               "use shorter columns");
    }

    void refuse(std::string field, std::string_view value, std::string problem,
                std::string remedy) {
        refuse_row(trace_, *row_, std::move(field), value, std::move(problem), std::move(remedy),
                   errors_);
    }

    const std::vector<FieldTemplate>& templates_;
    const Trace& trace_;
    InputErrors& errors_;
    RowValues values_;
    const TraceRow* row_ = nullptr;
    std::string lines_;
};

}  // namespace

RowFields::RowFields(const std::vector<FieldTemplate>& templates, const Trace& trace,
                     const Plan& plan, InputErrors& errors, ShardPlace place)
    : place_(place) {
    if (templates.empty()) {
        return;
    }
    Renderer renderer(templates, trace, errors);
    places_.resize(trace.rows.size());
    for (const Planned& planned : plan.rows) {
        if (planned.side == Side::b) {
            continue;  // those of side a
        }
        const std::string_view lines = renderer.render(trace.rows[planned.row]);
        places_[planned.row] = {bytes_.size(), lines.size()};
        bytes_ += lines;
        bytes_max_ = std::max(bytes_max_, marked_bytes_max(lines));
    }
}

void RowFields::append(const Due& due, std::string& lines) const {
    if (due.row >= places_.size()) {
        return;
    }
    const Place& place = places_[due.row];
    CHECK(place.begin + place.bytes <= bytes_.size());
    const std::size_t before = lines.size();
    lines.resize(before + bytes_max_);
    const char* const end =
        write_marked(std::string_view(bytes_).substr(place.begin, place.bytes), due.pass,
                     place_.number_of(due.user), lines.data() + before);
    lines.resize(static_cast<std::size_t>(end - lines.data()));
}

RowBodies::RowBodies(const RowBodySpec& spec, const Trace& trace, const Plan& plan,
                     InputErrors& errors) {
    if (!spec.members && trace.extras.empty()) {
        return;
    }
    const bool marked = spec.members && (spec.members->has(Placeholder::pass) ||
                                         spec.members->has(Placeholder::user));
    RowValues values(trace);
    std::unordered_map<std::string, std::uint32_t> numbers;  // by the members
    of_row_.assign(trace.rows.size(), 0);
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        if (!trace.body_of(row).empty() && trace.extra_of(row).empty()) {
            continue;  // it has a body of its own
        }
        values.set(row);
        BodySpec body = spec.body;
        if (spec.members) {
            body.extra_body = spec.members->fill(
                [&](const FieldTemplate& field) { return values.json_of(field); });
        }
        const std::string_view extra = trace.extra_of(row);
        body.extra_body = extra.empty() ? body.extra_body : joined_objects(extra, body.extra_body);
        const auto next = static_cast<std::uint32_t>(frames_.size());
        const auto [known, is_new] = numbers.emplace(body.extra_body, next);
        of_row_[planned.row] = known->second;
        if (!is_new) {
            continue;
        }
        Result<BodyFrame> frame = spec.dialect.frame(body);
        const std::string why =
            extra.empty() ? std::string() : refused_extra(spec.dialect, spec.body, extra);
        if (!frame || !why.empty()) {
            refuse_row(trace, row, "extra", extra,
                       "cannot be in this row's body: " + (why.empty() ? frame.error().doing : why),
                       "correct the row", errors);
            frame = BodyFrame();
        } else {
            CHECK(frame.value().before.starts_with(spec.opening));
            frame.value().before.erase(0, spec.opening.size());
        }
        for (std::string* part :
             {&frame.value().before, &frame.value().between, &frame.value().after}) {
            *part = marked ? with_marks(std::move(*part)) : std::move(*part);
        }
        add(frame.value());
    }
}

void RowBodies::add(const BodyFrame& frame) {
    const std::uint64_t begin = bytes_.size();
    std::size_t number_bytes = 0;
    for (const std::string* part : {&frame.before, &frame.between, &frame.after}) {
        bytes_ += *part;
        number_bytes += marked_bytes_max(*part) - part->size();
    }
    number_bytes_max_ = std::max(number_bytes_max_, number_bytes);
    frames_.push_back({begin, static_cast<std::uint32_t>(frame.before.size()),
                       static_cast<std::uint32_t>(frame.between.size()),
                       static_cast<std::uint32_t>(frame.after.size()), frame.has_length});
}

FrameView RowBodies::of(std::uint32_t row) const {
    const Frame& frame = frames_[of_row_[row]];
    const std::string_view all =
        std::string_view(bytes_).substr(frame.begin, frame.before + frame.between + frame.after);
    return {all.substr(0, frame.before), all.substr(frame.before, frame.between),
            all.substr(frame.before + frame.between), frame.has_length};
}

}  // namespace driftless
