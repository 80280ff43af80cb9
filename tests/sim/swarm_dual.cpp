// The swarm's rows, each to two servers.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

/// One server refuses, resets, stalls, hangs and talks nonsense; the other is well, and our own
/// host is not to blame for anything: what its rows meet is the other side's doing.
void spare_one_side(Random& random, SimOptions& options) {
    const Weather hard = options.weather;
    Weather& weather = options.weather;
    weather = Weather();
    weather.refuse_connect = hard.refuse_connect + 0.3 * random.uniform();
    weather.slow_connect = hard.slow_connect;
    weather.hang_connect = hard.hang_connect + 0.2 * random.uniform();
    weather.block_send = hard.block_send + 0.02 * random.uniform();
    weather.cut = hard.cut + 0.3 * random.uniform();
    weather.stall = hard.stall + 0.01 * random.uniform();
    weather.idle_close = hard.idle_close;
    options.spared = static_cast<std::uint32_t>(random.below(2));
    options.server.faults.clear();
    options.server.slots = 0;
    options.server.keep_alive_requests = 0;
    options.server.keep_alive_timeout = Duration{0};
    options.tls = TlsWeather();
    options.inflight_max = 4096;
    options.capped_by_host = false;
    options.connections_fixed = 0;
    options.body_bytes = 64 << 20;
    options.ring_bytes = 16 << 20;
    options.drain_share = 0.2;
    options.disk = DiskRoom();
    options.abandon = AbandonRules();
    options.stop_at_ns = options.stop_again_ns = -1;
    options.run_json_synced = options.run_json_written = Duration{0};
}

}  // namespace

SimOptions dual_options(std::uint64_t seed) {
    constexpr std::uint64_t dual_stream = 0xD0A1;
    Random random(mix64(seed ^ dual_stream));
    SimOptions options = swarm_options(seed);
    options.dual = true;
    options.targets = 2;
    options.balance = Balance::turn;
    if (options.connection == ConnectionRule::sticky) {  // is refused
        options.connection = ConnectionRule::reuse;
    }
    draw_arrivals(seed, options);
    if (random.below(2) == 0) {
        spare_one_side(random, options);
    } else {
        draw_stop(seed, options);
    }
    return options;
}

SimResult run_dual_swarm(std::uint64_t seed, std::uint32_t rows) {
    return run(swarm_trace(seed, rows / 2), dual_options(seed));
}

}  // namespace driftless::sim
