/// RowFields: the header fields that differ from row to row (`--header "X-Session: {session}"`),
/// rendered for every row of a plan before time 0, so that arming copies bytes and nothing can be
/// wrong with them any more. What is decided in the run, its pass and its user, is a mark in the
/// text; arming puts the number there.
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
#include "engine/plan/shares.hpp"
#include "engine/schedule/due.hpp"
#include "proto/http/field_template.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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

}  // namespace driftless
