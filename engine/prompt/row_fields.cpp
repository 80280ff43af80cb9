#include "engine/prompt/row_fields.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/plan/trees.hpp"
#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

constexpr std::size_t shown_bytes_max = 80;  // of a value in a message

// Bytes in the place of numbers that are decided in the run. No value has such a byte: fields with
// control bytes are refused.
constexpr char pass_mark = '\x01';
constexpr char user_mark = '\x02';
constexpr std::string_view marks = "\x01\x02";
constexpr std::size_t digits_max = 10;  // of a 32-bit number

std::size_t count_of_marks(std::string_view lines) {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [](char c) { return c == pass_mark || c == user_mark; }));
}

/// Renders one row after the other.
class Renderer {
  public:
    Renderer(const std::vector<FieldTemplate>& templates, const Trace& trace, InputErrors& errors)
        : templates_(templates),
          trace_(trace),
          errors_(errors),
          roots_(roots_of_sessions(trace)),
          parents_(parents_of_sessions(trace)) {}

    /// The row's fields as whole lines, with marks; valid until the next call.
    std::string_view render(const TraceRow& row) {
        row_ = &row;
        lines_.clear();
        kept_ = JsonValue();
        if (const Result<JsonValue> kept = document_.parse(trace_.kept_of(row)); kept) {
            kept_ = kept.value();
        }
        for (const FieldTemplate& field : templates_) {
            add(field);
        }
        const std::size_t bytes = lines_.size() + count_of_marks(lines_) * (digits_max - 1);
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
            if (piece.placeholder == Placeholder::pass || piece.placeholder == Placeholder::user) {
                lines_ += piece.placeholder == Placeholder::pass ? pass_mark : user_mark;
                continue;
            }
            const std::optional<std::string> value = value_of(piece);
            if (!value) {  // a row that has none goes without the field
                lines_.resize(before);
                return;
            }
            if (!is_header_value(*value)) {
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
        const std::string name = name_of(row_->session).value_or("");
        if (name.size() > RowFields::row_bytes_max / templates_.size() / 2) {
            refuse("session", name, problem.c_str(),
                   "at most 4096 are allowed; shorten the name, or leave " +
                       std::string(templates_.back().flag) + " out");
            return;
        }
        refuse("", std::to_string(bytes), "bytes of --header values are more than 4096",
               "use shorter columns");
    }

    std::optional<std::string> value_of(const TemplatePiece& piece) const {
        switch (piece.placeholder) {
            case Placeholder::none:
                return piece.text;
            case Placeholder::row:
                return std::to_string(row_->index);
            case Placeholder::session:
                return name_of(row_->session);
            case Placeholder::tree:
                return row_->session == no_session ? std::nullopt : name_of(roots_[row_->session]);
            case Placeholder::parent:
                return row_->session == no_session ? std::nullopt
                                                   : name_of(parents_[row_->session]);
            case Placeholder::turn:
                return row_->turn == 0 ? std::nullopt
                                       : std::optional<std::string>(std::to_string(row_->turn));
            case Placeholder::pass:
            case Placeholder::user:
                CHECK(false);  // marks
            case Placeholder::kept:
                break;
        }
        const JsonValue column = kept_.find(piece.text);
        if (const auto text = column.as_string()) {
            return std::string(*text);
        }
        return !column.present() || column.is(JsonType::null)
                   ? std::nullopt
                   : std::optional<std::string>(column.raw());  // as the trace writes it
    }

    std::optional<std::string> name_of(std::uint32_t session) const {
        return session == no_session ? std::nullopt
                                     : std::optional<std::string>(trace_.sessions[session]);
    }

    void refuse(std::string field, std::string_view value, const char* problem,
                std::string remedy) {
        InputError error;
        error.file = trace_.file_of(*row_);
        error.line = row_->line;
        error.field = std::move(field);
        error.value = value.substr(0, shown_bytes_max);
        error.problem = problem;
        error.remedy = std::move(remedy);
        errors_.add(std::move(error));
    }

    const std::vector<FieldTemplate>& templates_;
    const Trace& trace_;
    InputErrors& errors_;
    const std::vector<std::uint32_t> roots_;    ///< [sessions]
    const std::vector<std::uint32_t> parents_;  ///< [sessions]
    const TraceRow* row_ = nullptr;
    JsonDocument document_;
    JsonValue kept_;
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
        bytes_max_ = std::max(bytes_max_, lines.size() + count_of_marks(lines) * (digits_max - 1));
    }
}

void RowFields::append(const Due& due, std::string& lines) const {
    if (due.row >= places_.size()) {
        return;
    }
    const Place& place = places_[due.row];
    CHECK(place.begin + place.bytes <= bytes_.size());
    std::string_view rest = std::string_view(bytes_).substr(place.begin, place.bytes);
    while (!rest.empty()) {
        const std::size_t mark = std::min(rest.find_first_of(marks), rest.size());
        lines.append(rest.substr(0, mark));
        if (mark == rest.size()) {
            break;
        }
        char digits[digits_max];
        const std::uint32_t number =
            rest[mark] == pass_mark ? due.pass : place_.number_of(due.user);
        const char* const end = std::to_chars(digits, digits + digits_max, number).ptr;
        lines.append(digits, static_cast<std::size_t>(end - digits));
        rest.remove_prefix(mark + 1);
    }
}

}  // namespace driftless
