/// The servers of further `--url`: each is asked all that the first was, before anything is sent.
/// One that is dead or serves another model would cost its share of the rows.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/server/server.hpp"
#include "engine/io/driver.hpp"

namespace driftless {

/// Prints a line for each, takes into `server` what must hold for all of them (words, context,
/// ignore_eos), and returns an exit code. The first server has been asked.
int meet_others(const ReplayOptions& options, Driver& driver, const std::string& run_id,
                Server& server);

}  // namespace driftless
