/// What of a request differs from row to row: the values of placeholders (`{session}`,
/// `{kept.NAME}`), the header fields and the members of the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/api/dialect.hpp"
#include "proto/api/request_body.hpp"
#include "proto/http/request.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// RowValues: what the placeholders of templates stand for in a row (`{session}`, `{kept.NAME}`),
/// for headers, models and bodies alike. What is decided in the run, a pass and a user, is a mark
/// in the text, in whose place a number is put when the row is armed.
///
/// Used before time 0. The trace outlives it; it never touches a file, a clock or a socket.
class RowValues {
  public:
    explicit RowValues(const Trace& trace);

    /// The row that is asked about from now on.
    void set(const TraceRow& row);

    /// The value as text; columns as the trace writes them, strings without their quotes. Nothing:
    /// the row has none. Of a pass or a user its mark.
    std::optional<std::string> text_of(const TemplatePiece& piece) const;
    /// All pieces together; nothing where the row lacks one.
    std::optional<std::string> text_of(const FieldTemplate& field) const;
    /// The same as JSON: a placeholder alone has the type of its value, all else is a string.
    std::optional<std::string> json_of(const FieldTemplate& field) const;

  private:
    std::optional<std::string> name_of(std::uint32_t session) const;
    JsonValue column(const TemplatePiece& piece) const { return kept_.find(piece.text); }

    const Trace& trace_;
    const std::vector<std::uint32_t> roots_;    ///< [sessions]
    const std::vector<std::uint32_t> parents_;  ///< [sessions]
    const TraceRow* row_ = nullptr;
    JsonDocument document_;
    JsonValue kept_;
};

/// Lists a row that cannot be sent with that value.
void refuse_row(const Trace& trace, const TraceRow& row, std::string field, std::string_view value,
                std::string problem, std::string remedy, InputErrors& errors);

// Bytes in the place of numbers. No header has such a byte, and no JSON.
inline constexpr char pass_mark = '\x01';
inline constexpr char user_mark = '\x02';

/// Marks in JSON that is still to be parsed, where they are written as text, become bytes.
std::string with_marks(std::string json);
/// Copies the text with the numbers in it; returns what is behind it. Takes no memory.
char* write_marked(std::string_view text, std::uint32_t pass, std::uint32_t user, char* out);

/// RowModels: the model of each row, where the trace names one (`--model "{kept.COLUMN}"`): several
/// models of one server, or LoRA adapters of one model.
///
/// Made once, before anything is sent, so that arming copies bytes. It owns the names, each once;
/// it never touches a file, a clock or a socket.
class RowModels {
  public:
    /// Names that a trace may have: a typing error in the column's name would give each row its
    /// own.
    static constexpr std::size_t names_max = 4096;

    /// Of no row.
    RowModels() = default;

    /// `errors` lists rows without a name, by line.
    RowModels(const FieldTemplate& model, const Trace& trace, const Plan& plan,
              InputErrors& errors);

    bool empty() const { return names_.empty(); }
    const std::vector<std::string>& names() const { return names_; }
    /// Of a row by its position in `Trace::rows`; of one that was selected.
    const std::string& name_of(std::uint32_t row) const { return names_[of_row_[row]]; }
    /// How its body begins: `{"model":"NAME"`.
    std::string_view opening_of(std::uint32_t row) const { return openings_[of_row_[row]]; }

    /// What a body with this model begins with.
    static std::string opening(std::string_view model);

  private:
    std::vector<std::string> names_;
    std::vector<std::string> openings_;
    std::vector<std::uint16_t> of_row_;  ///< [trace rows]
};

/// RowFields: the header fields that differ from row to row (`--header "X-Session: {session}"`),
/// rendered for every row of a plan before time 0, so that arming copies bytes and nothing can be
/// wrong with them any more. What is decided in the run, its pass and its user, is a mark in the
/// text; arming puts the number there.
///
/// A field that a row has no value for (no session, a column that is null) is left out of that
/// row's head. A value that could end its line is refused, never escaped: servers do not agree on
/// what an escape would mean. It holds the fields' text, as many bytes as they are on the wire,
/// and 8 bytes a row; it never touches a file, a clock or a socket.
class RowFields {
  public:
    /// Of no row.
    RowFields() = default;

    /// `errors` lists the rows whose values cannot be sent, by file and line. `place`: of several
    /// processes, who name no two users alike.
    RowFields(const std::vector<FieldTemplate>& templates, const Trace& trace, const Plan& plan,
              InputErrors& errors, ShardPlace place = {});

    /// Puts the request's lines behind `lines`, line ends included; nothing where its row has none.
    /// Takes no memory where `lines` has room for `bytes_max` more.
    void append(const Due& due, std::string& lines) const;
    /// Upper bound of what `append` adds.
    std::size_t bytes_max() const { return bytes_max_; }
    /// Of all rows together.
    std::size_t bytes() const { return bytes_.size(); }

    /// All of a row's own fields together: half of what servers take as a whole head (nginx and
    /// Node: 8 to 16 KiB).
    static constexpr std::size_t row_bytes_max = 4096;

  private:
    struct Place {
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
    };

    ShardPlace place_;
    std::string bytes_;          ///< with marks
    std::vector<Place> places_;  ///< [trace rows]
    std::size_t bytes_max_ = 0;
};

// RowBodies: the frames of bodies whose members differ from row to row: those of `--extra-body`
// with placeholders, and those that the trace has for single rows (`Trace::extras`, which go
// first). Made for every row of a plan before time 0, so that arming copies bytes and nothing can
// be wrong with them any more.
//
// Owns the frames' text, each different one once; it never touches a file, a clock or a socket.

/// BodyFrame's parts, as views; with marks (row_fields.hpp).
struct FrameView {
    std::string_view before;
    std::string_view between;
    std::string_view after;
    bool has_length = true;
};

/// What frames are made of.
struct RowBodySpec {
    const Dialect& dialect;
    BodySpec body;  ///< its extra body is that of all rows, without placeholders
    const std::optional<BodyTemplate>& members;  ///< nothing: no placeholders
    /// Bytes that rows put before the frame in its place (row_fields.hpp); empty: none.
    std::string opening = {};
};

class RowBodies {
  public:
    /// Of no row.
    RowBodies() = default;

    /// Empty where no row has members of its own. `errors` lists the rows whose members cannot be
    /// in a body, by file and line.
    RowBodies(const RowBodySpec& spec, const Trace& trace, const Plan& plan, InputErrors& errors);

    bool empty() const { return frames_.empty(); }
    /// Of a row by its position in `Trace::rows`; of one that was selected.
    FrameView of(std::uint32_t row) const;
    /// Upper bound of the bytes that numbers take in the place of marks.
    std::size_t number_bytes_max() const { return number_bytes_max_; }

  private:
    struct Frame {
        std::uint64_t begin = 0;  ///< in `bytes_`; the parts are back to back
        std::uint32_t before = 0;
        std::uint32_t between = 0;
        std::uint32_t after = 0;
        bool has_length = true;
    };
    void add(const BodyFrame& frame);

    std::string bytes_;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> of_row_;  ///< [trace rows]
    std::size_t number_bytes_max_ = 0;
};

}  // namespace driftless
