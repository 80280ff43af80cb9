// The swarm's rows, dealt to several engines.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

SimOptions engines_options(std::uint64_t seed) {
    constexpr std::uint64_t engines_stream = 0xE261;
    Random random(mix64(seed ^ engines_stream));
    SimOptions options = random.below(3) == 0 ? dual_options(seed) : swarm_options(seed);
    options.spared.reset();       // the side that is well is told apart by one driver
    options.weather.suspend = 0;  // it would be the sleep of one engine
    options.tls = TlsWeather();   // OpenSSL draws from one seed, whoever asks
    options.engines = static_cast<std::uint32_t>(2 + random.below(7));
    options.closed = !options.dual && random.below(3) == 0;
    return options;
}

SimResult run_engines_swarm(std::uint64_t seed, std::uint32_t rows) {
    const SimOptions options = engines_options(seed);
    Trace trace = swarm_trace(seed, options.dual ? rows / 2 : rows);
    if (options.closed) {
        close_sessions(trace, seed);
    }
    return run(trace, options);
}

}  // namespace driftless::sim
