/// RowModels: the model of each row, where the trace names one (`--model "{kept.COLUMN}"`): several
/// models of one server, or LoRA adapters of one model.
///
/// Made once, before anything is sent, so that arming copies bytes. It owns the names, each once;
/// it never touches a file, a clock or a socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/http/field_template.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
    /// How its body begins: `{"model":"NAME"`. `opening_bytes_max`: the longest.
    std::string_view opening_of(std::uint32_t row) const { return openings_[of_row_[row]]; }
    std::size_t opening_bytes_max() const { return opening_bytes_max_; }

    /// What a body with this model begins with.
    static std::string opening(std::string_view model);

  private:
    std::vector<std::string> names_;
    std::vector<std::string> openings_;
    std::vector<std::uint16_t> of_row_;  ///< [trace rows]
    std::size_t opening_bytes_max_ = 0;
};

}  // namespace driftless
