#include "cmd/replay/run_json/stamp_facts.hpp"

namespace driftless {

namespace {

// Clauses; several may hold.
std::string why_not(StampRule rule, const UringDriver& driver, const LaneCounts& lanes) {
    if (rule == StampRule::none) {
        return "--stamps none";
    }
    std::string why = rule == StampRule::wire ? "--stamps wire" : "";
    const auto add = [&](const char* reason) {
        why += (why.empty() ? "" : "; ") + std::string(reason);
    };
    if (lanes.lanes_without_stamps > 0) {
        add("the kernel stamps only TCP packets, not Unix sockets");
    }
    if (rule == StampRule::full && !driver.receive_stamps()) {
        add("the kernel refuses receive stamps");
    }
    if (lanes.stamps_refused > 0) {
        add("the clock was set during the run");
    } else if (lanes.wire_missing > 0) {
        add("some kernel stamps are missing");
    }
    return why;
}

}  // namespace

StampSupport stamps_of(StampRule rule) {
    return {rule != StampRule::none, rule == StampRule::full};
}

StampFacts stamp_facts(StampRule rule, const UringDriver& driver, Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    StampFacts facts;
    facts.transmit = driver.transmit_stamps();
    facts.receive = driver.receive_stamps();
    facts.reason = why_not(rule, driver, lanes);
    facts.wire = lanes.wire_stamps;
    facts.missing = lanes.wire_missing;
    facts.refused = lanes.stamps_refused;
    facts.stray = lanes.stamps_stray;
    facts.clock_offset_ns = run.clock().offset_ns;
    facts.clock_error_ns = run.clock().error_ns;
    facts.clock_steps = run.clock().steps;
    return facts;
}

}  // namespace driftless
