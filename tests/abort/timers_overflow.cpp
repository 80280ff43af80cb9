// One timer more than there is room for is a programmer's error, not a reallocation.
// Dies with: check failed: heap_.size() < timers_max_
#include "engine/base/timers.hpp"

int main() {
    driftless::Timers timers(1);
    driftless::Timer first;
    driftless::Timer second;
    first.handler = second.handler = [](driftless::Timer&, driftless::Instant) {};
    timers.set(first, driftless::Instant{1});
    timers.set(second, driftless::Instant{2});
}
