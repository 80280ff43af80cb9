/// The laws of a run that dies and is resumed: no row is lost, none is sent twice unasked, whatever
/// the moment. Each has a name, and tests (killed_test.cpp) plant a bug for it. Pure functions
/// of what happened; they own nothing.
///
/// A row may be sent again when the resumption was asked to (`--resend`), or when it could not
/// know: the marks are gone, and the files had stopped to tell more than a second before the end,
/// or the run had given no sign of life for longer than that.
#pragma once

#include "tests/sim/killed_run.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

std::span<const KilledLaw> killed_laws();

/// Every law that the run breaks, "name: breach" a line, with those that its last segment breaks as
/// a run of its own (laws.hpp); empty where all hold.
std::string broken_laws(const KilledRun& run);

// The laws of a run of users that dies: what it left can be read, tells nothing twice and nothing
// wrong, and what it does not tell is counted. Each has a name, and tests (killed_test.cpp)
// plant a bug for it. Pure functions of what happened; they own nothing.

std::span<const KilledUsersLaw> killed_users_laws();

/// Every law that the run breaks, "name: breach" a line, with those that it breaks where nobody
/// kills it (laws.hpp); empty where all hold.
std::string broken_laws(const KilledUsers& run);

}  // namespace driftless::sim
