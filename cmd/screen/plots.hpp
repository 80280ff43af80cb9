/// Plots of block characters for the terminal. Text in UTF-8 out; they print nothing.
///
/// Every plot has the width that was asked for, whatever its values: a cell is one column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// A bar of `width` cells for value / full, to an eighth of a cell, blanks behind it; what is above
/// 0 shows at least an eighth.
std::string bar(double value, double full, std::size_t width);

/// Columns from left to right, one cell each, to an eighth of a cell of `height` lines; the highest
/// value fills its column. Lines from the top.
std::vector<std::string> columns(std::span<const std::uint64_t> values, std::size_t height);

/// 12031 as "12,031".
std::string grouped(std::uint64_t value);
/// The same of a sum to which not all could be added: "at least 1,234", or "unknown" of 0.
std::string grouped_sum(std::uint64_t sum, bool is_whole);

}  // namespace driftless
