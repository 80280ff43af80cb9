/// SmallWorld: what a test that plays a few rows by hand may choose of them, of the engine's
/// settings and of the simulated world.
#pragma once

#include "cmd/mock/core.hpp"
#include "tests/sim/tls_world.hpp"
#include "tests/unit/engine/prompt/rows_to_arm.hpp"

namespace driftless::sim {

struct SmallWorld {
    RowsToArm::Options rows;
    ReplaySettings settings;
    Weather weather;
    mock::CoreOptions server;
    TlsWorld* tls = nullptr;  ///< not owned; nullptr: no TLS

    std::vector<Endpoint> endpoints() const {
        return tls != nullptr ? tls->endpoints() : std::vector<Endpoint>(rows.armer.targets);
    }
};

/// TLS without any fault.
inline TlsWeather fair_tls() {
    return TlsWeather{.on = true};
}

/// Rows that go over TLS, in this world.
inline SmallWorld over_tls(TlsWorld& world) {
    SmallWorld small{.tls = &world};
    small.rows.armer.for_tls = true;
    return small;
}

}  // namespace driftless::sim
