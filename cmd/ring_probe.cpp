#include "cmd/ring_probe.hpp"

#include "cmd/ring_errors.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

std::string_view RingProbe::feature(std::string_view name) const {
    for (const auto& [key, value] : features) {
        if (key == name) {
            return value;
        }
    }
    return "";
}

std::string RingProbe::text() const {
    std::string text = "single issuer, deferred work";
    text += feature("registered_ring") == "yes" ? ", registered ring" : "";
    text += feature("absolute_wait") == "yes" ? ", absolute wait" : "";
    text += feature("no_iowait") == "yes" ? ", no iowait" : "";
    text += "; kernel stamps: sent by " + std::string(feature("transmit_stamps"));
    return text + (feature("receive_stamps") == "yes" ? ", received" : ", not received");
}

RingProbe probe_ring() {
    UringOptions options;
    options.ops_max = 64;
    options.submit_entries = 64;
    options.buffers = 16;
    options.stamps = {true, true};
    const Result<std::unique_ptr<UringDriver>> driver = UringDriver::make(options);
    RingProbe probe;
    if (driver) {
        probe.features = driver.value()->features();
    } else {
        probe.refusal = ring_refusal(driver.error(), read_ring_bars());
    }
    return probe;
}

}  // namespace driftless
