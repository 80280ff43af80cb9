// The swarm's rows, dealt to several engines.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

/// What a run of several engines cannot have, or the simulator cannot share out.
void keep_to_engines(SimOptions& options, Random& random) {
    options.spared.reset();       // the side that is well is told apart by one driver
    options.weather.suspend = 0;  // it would be the sleep of one engine
    options.tls = TlsWeather();   // OpenSSL draws from one seed, whoever asks
    options.engines = static_cast<std::uint32_t>(2 + random.below(7));
}

/// Users, at least one on each engine, by rules of which no engine has to see the whole run.
SimOptions users_on_engines(std::uint64_t seed, const Trace& trace, Random& random) {
    SimOptions options = users_options(seed, trace);
    keep_to_engines(options, random);
    options.users.users = options.engines + static_cast<std::uint32_t>(random.below(5));
    options.users.users_first = 0;
    options.users.idle.system_ns.reset();
    options.users.start = StartRules();
    options.grow = GrowRules();
    options.budgets = BudgetRules();
    return options;
}

Random dice_of(std::uint64_t seed) {
    constexpr std::uint64_t engines_stream = 0xE261;
    return Random(mix64(seed ^ engines_stream));
}

}  // namespace

SimOptions engines_options(std::uint64_t seed) {
    Random random = dice_of(seed);
    SimOptions options = random.below(3) == 0 ? dual_options(seed) : swarm_options(seed);
    keep_to_engines(options, random);
    options.closed = !options.dual && random.below(3) == 0;
    return options;
}

SimResult run_engines_swarm(std::uint64_t seed, std::uint32_t rows) {
    const SimOptions options = engines_options(seed);
    if (!options.dual && seed % 4 == 0) {
        const Trace trees = users_trace(seed, rows);
        Random random = dice_of(seed);
        return run(trees, users_on_engines(seed, trees, random));
    }
    Trace trace = swarm_trace(seed, options.dual ? rows / 2 : rows);
    if (options.closed) {
        close_sessions(trace, seed);
    }
    return run(trace, options);
}

}  // namespace driftless::sim
