// An operation that a driver holds may not be handed to it again: its completions would be mixed.
// Dies with: check failed: in_flight() == (slot == no_slot)
#include "tests/abort/keeper.hpp"

int main() {
    driftless::Keeper driver;
    driftless::Op op;
    driver.submit(op);
    driver.submit(op);
}
