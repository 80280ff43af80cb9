#include "engine/prompt/row_fields.hpp"

#include <algorithm>
#include <optional>

#include "proto/core/check.hpp"
#include "proto/http/fields.hpp"
#include "proto/json/document.hpp"

namespace driftless {

namespace {

constexpr std::size_t shown_bytes_max = 80;  // of a value in a message

/// Renders one row after the other.
class Renderer {
  public:
    Renderer(const std::vector<FieldTemplate>& templates, const Trace& trace, InputErrors& errors)
        : templates_(templates), trace_(trace), errors_(errors) {}

    /// The row's fields as whole lines; valid until the next call.
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
        if (lines_.size() > RowFields::row_bytes_max) {
            const std::string size =
                std::to_string(lines_.size());  // not the text: it may hold a key
            refuse("", size, "bytes of --header values of its own are more than 4096",
                   "name shorter columns");
        }
        return lines_;
    }

  private:
    void add(const FieldTemplate& field) {
        const std::size_t before = lines_.size();
        lines_ += field.name + ": ";
        for (const TemplatePiece& piece : field.pieces) {
            const std::optional<std::string> value = value_of(piece);
            if (!value) {  // a row that has none goes without the field
                lines_.resize(before);
                return;
            }
            if (!is_header_value(*value)) {
                refuse(to_text(piece), *value, "has a control byte, which could begin a header",
                       "leave {" + to_text(piece) + "} out of --header " + field.name);
            }
            lines_ += *value;
        }
        lines_ += "\r\n";
    }

    std::optional<std::string> value_of(const TemplatePiece& piece) const {
        switch (piece.placeholder) {
            case Placeholder::none:
                return piece.text;
            case Placeholder::row:
                return std::to_string(row_->index);
            case Placeholder::session:
                return row_->session == no_session
                           ? std::nullopt
                           : std::optional<std::string>(trace_.sessions[row_->session]);
            case Placeholder::turn:
                return row_->turn == 0 ? std::nullopt
                                       : std::optional<std::string>(std::to_string(row_->turn));
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
    const TraceRow* row_ = nullptr;
    JsonDocument document_;
    JsonValue kept_;
    std::string lines_;
};

}  // namespace

RowFields::RowFields(const std::vector<FieldTemplate>& templates, const Trace& trace,
                     const Plan& plan, InputErrors& errors) {
    if (templates.empty()) {
        return;
    }
    Renderer renderer(templates, trace, errors);
    ends_.reserve(plan.rows.size());
    for (const Planned& planned : plan.rows) {
        const std::string_view lines = renderer.render(trace.rows[planned.row]);
        bytes_ += lines;
        bytes_max_ = std::max(bytes_max_, lines.size());
        ends_.push_back(bytes_.size());
    }
    CHECK(ends_.size() == plan.rows.size());
}

std::string_view RowFields::of(std::uint32_t planned) const {
    if (planned >= ends_.size()) {
        return {};
    }
    const std::uint64_t begin = planned == 0 ? 0 : ends_[planned - 1];
    CHECK(begin <= ends_[planned]);
    return std::string_view(bytes_).substr(begin, ends_[planned] - begin);
}

}  // namespace driftless
