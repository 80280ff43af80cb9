/// RowBodies: the frames of bodies whose members differ from row to row: those of `--extra-body`
/// with placeholders, and those that the trace has for single rows (`Trace::extras`, which go
/// first). Made for every row of a plan before time 0, so that arming copies bytes and nothing can
/// be wrong with them any more.
///
/// Owns the frames' text, each different one once; it never touches a file, a clock or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/shares.hpp"
#include "proto/api/body_template.hpp"
#include "proto/api/dialect.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// BodyFrame's parts, as views; with marks (row_values.hpp).
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
    /// Bytes that rows put before the frame in its place (row_models.hpp); empty: none.
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
