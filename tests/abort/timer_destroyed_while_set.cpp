// A timer that the heap still points to may not go away.
// Dies with: check failed: !set()
#include "engine/base/timers.hpp"

int main() {
    driftless::Timers timers(1);
    {
        driftless::Timer timer;
        timer.handler = [](driftless::Timer&, driftless::Instant) {};
        timers.set(timer, driftless::Instant{1});
    }
}
