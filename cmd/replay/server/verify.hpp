/// `--verify-prompts`: some of the run's own prompts, held against the tokens that the server makes
/// of them, before time 0.
#pragma once

#include <optional>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/io/driver.hpp"
#include "engine/preflight/verify.hpp"

namespace driftless {

/// Prints and returns what was found; empty if the flag was not given.
OrExit<std::optional<VerifyFindings>> verify_prompts(ReplayParts& parts, Driver& driver);

}  // namespace driftless
