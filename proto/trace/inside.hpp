/// Inside: names the element of a list in the errors of its row, as long as it lives.
///
/// "turns[3]", or "exports[0].turns[3]" inside another one. Owned by the format that reads the
/// list.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "proto/trace/format.hpp"

namespace driftless {

class Inside {
  public:
    /// `number`: of the element, from 0. `context` outlives this.
    Inside(RowContext& context, std::string_view list, std::size_t number)
        : context_(context), before_(context.place) {
        context_.place += before_.empty() ? "" : ".";
        context_.place += std::string(list) + "[" + std::to_string(number) + "]";
    }
    ~Inside() { context_.place = std::move(before_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    RowContext& context_;
    std::string before_;
};

}  // namespace driftless
