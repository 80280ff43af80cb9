/// Template table: how the tokens that published chat templates add lie around a prompt.
///
/// A server that only counts does not show the split; only the alignment of blocks with its pages
/// depends on it (token-exact.md, sections 5 and 9).
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/prompt/builder.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

/// The split of `tokens` counted around a prompt, by the model's name; all in front where the model
/// or the number is unknown, and where the API has no template. `known` says which.
Overhead split_overhead(const Dialect& dialect, std::string_view model, std::uint32_t tokens,
                        bool& known);

}  // namespace driftless
