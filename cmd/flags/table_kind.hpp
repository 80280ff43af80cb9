/// The value of `--table`, for the commands that print a summary.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

enum class TableKind : std::uint8_t { compact, full };

/// "short" or "full".
inline Result<TableKind> parse_table_kind(std::string_view text) {
    if (text == "short" || text == "full") {
        return text == "full" ? TableKind::full : TableKind::compact;
    }
    return Error{ErrorCode::invalid, 0, "is not one of short, full"};
}

}  // namespace driftless
