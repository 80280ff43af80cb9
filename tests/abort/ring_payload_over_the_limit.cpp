// A payload above the ring's limit is cut by its producer, never by the ring.
// Dies with: check failed: payload.size() <= payload_bytes_max
#include <string>

#include "engine/record/ring.hpp"

int main() {
    driftless::EventRing ring(1 << 20, 16);
    const std::string payload(driftless::EventRing::payload_bytes_max + 1, 'x');
    ring.push(driftless::Event{}, payload);
}
