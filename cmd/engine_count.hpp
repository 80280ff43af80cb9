/// How many engines, as `--engines` of `replay` and `calibrate` takes it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/host/engine_cpus.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "auto" (`engines_auto`), or 1 to `engines_max`.
Result<std::uint32_t> parse_engines(std::string_view text);

}  // namespace driftless
