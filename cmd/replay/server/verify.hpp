/// `--verify-prompts`: some of the run's own prompts, held against the tokens that the server makes
/// of them, before time 0.
#pragma once

#include <optional>
#include <string>

#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/server/server.hpp"
#include "engine/io/driver.hpp"
#include "engine/preflight/verify.hpp"

namespace driftless {

/// Nothing to do without the flag. Prints what was found, and fills `found`; returns an exit code.
int verify_prompts(const Server& server, ReplayParts& parts, Driver& driver,
                   const std::string& run_id, std::optional<VerifyFindings>& found);

}  // namespace driftless
