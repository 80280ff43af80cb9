// An operation that a driver holds may not go away: the kernel would write into freed memory.
// Dies with: check failed: !in_flight()
#include "tests/abort/keeper.hpp"

int main() {
    driftless::Keeper driver;
    driftless::Op op;
    driver.submit(op);
}
