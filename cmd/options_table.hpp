/// The flag table of a command, read from its parser.
///
/// Included by options files only, like the parser's header.
#pragma once

#include <CLI/App.hpp>

#include "cmd/help/flag_table.hpp"

namespace driftless {

/// Flags of no group are left out: the help does not show them. Sets what the flags write to, so
/// that `app` is of no use afterwards.
FlagTable table_of(CLI::App& app);

}  // namespace driftless
