/// What `--cpu` says where a thread cannot be pinned. Shared by `replay`, `mock` and `calibrate`.
#pragma once

#include <cstdint>
#include <string>

#include "proto/core/result.hpp"

namespace driftless {

/// The message without the program's name; it names the CPUs that this process may use.
std::string pinning_refusal(std::uint32_t cpu, const Error& error);

}  // namespace driftless
