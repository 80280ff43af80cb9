/// Fields of an event of TensorRT-LLM's execution traces. They list what is wrong with a value and
/// give nothing then.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/trace/branches.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {

/// In place of a message's place in its conversation: behind all others.
inline constexpr std::uint64_t last_place = ~std::uint64_t{0};

/// `branch_path`; one that is missing is the root's.
std::optional<BranchPath> read_path(const RowContext& context, const JsonValue& event);

/// A whole number, or `otherwise` where it is missing.
std::optional<std::uint64_t> read_number(const RowContext& context, const JsonValue& event,
                                         std::string_view name, std::uint64_t otherwise);

/// How long something took, in milliseconds; 0 where it is missing.
std::optional<std::int64_t> read_length(const RowContext& context, const JsonValue& event,
                                        std::string_view name);

/// What stands in the member of that name, for messages; empty where it is missing.
std::string_view written(const JsonValue& event, std::string_view name);

}  // namespace driftless
