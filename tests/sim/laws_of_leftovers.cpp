#include "tests/sim/laws_of_leftovers.hpp"

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

std::string bodies_returned(const SimResult& result) {
    return only(result.body_bytes_held == 0, std::to_string(result.body_bytes_held) + " bytes");
}

std::string frames_returned(const SimResult& result) {
    return only(result.frames_live == 0, std::to_string(result.frames_live) + " live");
}

std::string operations_ended(const SimResult& result) {
    return only(result.ops_in_flight == 0, std::to_string(result.ops_in_flight) + " in flight");
}

std::string sockets_closed(const SimResult& result) {
    return only(result.sockets_open == 0, std::to_string(result.sockets_open) + " open");
}

std::string events_read(const SimResult& result) {
    Breaches breaches;
    breaches.unless(result.events_left == 0, std::to_string(result.events_left) + " in the ring");
    breaches.unless(result.counts.stray_events == 0,
                    std::to_string(result.counts.stray_events) + " of rows that had ended");
    breaches.unless(result.counts.unended == 0,
                    std::to_string(result.counts.unended) + " rows without an end");
    return breaches.text();
}

}  // namespace driftless::sim
