/// What tests of drivers share: operations as one line, and turns until something has come.
#pragma once

#include "engine/io/driver.hpp"

namespace driftless {

inline void submit(Driver& driver, Op& op, const OpSpec& spec, Op::Handler handler, void* owner) {
    op.spec = spec;
    op.handler = handler;
    op.owner = owner;
    driver.submit(op);
}

/// Sleeps from completion to completion, within a bound of turns, as long as that holds.
template <class Holds>
void turn_while(Driver& driver, Holds holds, int turns_max = 1000) {
    for (int turns = 0; turns < turns_max && holds(); ++turns) {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
    }
}

}  // namespace driftless
