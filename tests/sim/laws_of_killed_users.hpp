/// The laws of a run of users that dies: what it left can be read, tells nothing twice and nothing
/// wrong, and what it does not tell is counted. Each has a name, and tests (killed_users_test.cpp)
/// plant a bug for it. Pure functions of what happened; they own nothing.
#pragma once

#include <span>
#include <string>

#include "tests/sim/killed_users.hpp"

namespace driftless::sim {

struct KilledUsersLaw {
    const char* name;
    /// Empty where the law holds, else what breaks it: the first few breaches.
    std::string (*breach)(const KilledUsers& run);
};
std::span<const KilledUsersLaw> killed_users_laws();

/// Every law that the run breaks, "name: breach" a line, with those that it breaks where nobody
/// kills it (laws.hpp); empty where all hold.
std::string broken_laws(const KilledUsers& run);

}  // namespace driftless::sim
