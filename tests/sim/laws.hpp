/// The laws of a run: what holds however unkind the world was. Each has a name and a place of its
/// own, and tests (laws_test.cpp) plant a bug for each that only it must notice. Pure functions of
/// a run's result; they own nothing.
#pragma once

#include <span>
#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

struct Law {
    const char* name;
    /// Empty where the law holds, else what breaks it: the first few breaches, one a line.
    std::string (*breach)(const SimResult& result);
};
std::span<const Law> laws();

/// Every law that the result breaks, "name: breach" a line; empty where all hold.
std::string broken_laws(const SimResult& result);

/// The line of fired.jsonl that goes with a record of a row that left, without its newline.
std::string fired_line(const Record& record);

/// No stamp stands before its cause: `cause <= effect` in every record that has both.
struct StampOrder {
    const char* cause_name;
    const char* effect_name;
    OptionalNs Record::* cause;
    OptionalNs Record::* effect;
};
std::span<const StampOrder> stamp_orders();

}  // namespace driftless::sim
