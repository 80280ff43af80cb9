/// RowFields: the header fields that differ from row to row (`--header "X-Session: {session}"`),
/// rendered for every row of a plan before time 0, so that arming copies bytes and nothing can be
/// wrong with them any more.
///
/// A field that a row has no value for (no session, a column that is null) is left out of that
/// row's head. A value that could end its line is refused, never escaped: servers do not agree on
/// what an escape would mean. It holds the fields' text, as many bytes as they are on the wire,
/// and 8 bytes a row; it never touches a file, a clock or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/http/field_template.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class RowFields {
  public:
    /// Of no row.
    RowFields() = default;

    /// `errors` lists the rows whose values cannot be sent, by file and line.
    RowFields(const std::vector<FieldTemplate>& templates, const Trace& trace, const Plan& plan,
              InputErrors& errors);

    /// Whole lines, line ends included; empty where the row has none. `row`: position in the trace.
    std::string_view of(std::uint32_t row) const;
    /// The longest that `of` gives.
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

    std::string bytes_;
    std::vector<Place> places_;  ///< [trace rows]
    std::size_t bytes_max_ = 0;
};

}  // namespace driftless
