// The swarm's traces, played by users.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t users_stream = 0x75736572;
constexpr std::uint64_t barriers_stream = 0x62617273;

/// Rows that follow each other become trees of up to 12: chains, forks and joins.
void plant_trees(Trace& trace, std::uint64_t seed) {
    Random random(mix64(seed ^ users_stream));
    const std::uint64_t size_max = 1 + random.below(12);
    trace.sessions.clear();
    trace.dependencies.clear();
    std::uint64_t left = 0;
    std::uint32_t first = 0;
    for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
        if (left == 0) {
            left = 1 + random.below(size_max);
            first = row;
            trace.sessions.push_back("tree " + std::to_string(trace.sessions.size()));
        }
        --left;
        trace.rows[row].session = static_cast<std::uint32_t>(trace.sessions.size() - 1);
        if (row == first || random.below(12) == 0) {
            continue;  // it begins with its tree
        }
        for (std::uint64_t parents = 1 + random.below(2); parents > 0; --parents) {
            const auto on = static_cast<std::uint32_t>(first + random.below(row - first));
            const Trigger trigger = random.below(6) == 0 ? Trigger::dispatch : Trigger::completion;
            const bool at_once = random.below(2) == 0;
            trace.dependencies.push_back(
                {row, on, trigger,
                 at_once ? 0 : static_cast<std::int64_t>(random.below(30'000'000))});
        }
    }
}

/// Of a third of the seeds: some rows wait until others of their tree are over, too.
void plant_barriers(Trace& trace, std::uint64_t seed) {
    Random random(mix64(seed ^ barriers_stream));
    if (random.below(3) > 0) {
        return;
    }
    std::vector<Dependency> barriers;
    std::uint32_t first = 0;
    for (std::uint32_t row = 1; row < trace.rows.size(); ++row) {
        first = trace.rows[row].session == trace.rows[row - 1].session ? first : row;
        if (row > first && random.below(3) == 0) {
            const auto on = static_cast<std::uint32_t>(first + random.below(row - first));
            barriers.push_back({row, on, Trigger::over, 0});
        }
    }
    trace.dependencies.insert(trace.dependencies.end(), barriers.begin(), barriers.end());
    std::sort(trace.dependencies.begin(), trace.dependencies.end(),
              [](const Dependency& a, const Dependency& b) {
                  return std::tie(a.row, a.on, a.trigger) < std::tie(b.row, b.on, b.trigger);
              });
}

void draw_failures(Random& random, FailureRules& rules) {
    rules.waits_for_429 = random.below(4) == 0;
    if (random.below(2) == 0) {
        return;
    }
    rules.rule = random.below(2) == 0 ? FailureRule::go_on : FailureRule::retry;
    rules.retries_max =
        rules.rule == FailureRule::retry ? 1 + static_cast<std::uint32_t>(random.below(3)) : 0;
}

void draw_idle(Random& random, IdleCaps& caps) {
    if (random.below(3) == 0) {
        caps.tree_ns = static_cast<std::int64_t>(random.below(20'000'000));
    }
    if (random.below(3) == 0) {
        caps.system_ns = static_cast<std::int64_t>(random.below(10'000'000));
    }
}

void draw_start(Random& random, StartRules& rules) {
    if (random.below(2) == 0) {
        rules.from = random.below(2) == 0 ? 0.0 : random.uniform();
        rules.to = rules.from + (1 - rules.from) * random.uniform();
        rules.by_turns = random.below(2) == 0;
        rules.prime_one_token = random.below(2) == 0;
    }
    if (random.below(3) == 0) {
        rules.warmup_requests = 1 + static_cast<std::uint32_t>(random.below(8));
    }
}

}  // namespace

UserRules drawn_rules(std::uint64_t seed) {
    Random random(mix64(mix64(seed) ^ users_stream));
    UserRules rules{
        .users = 1 + static_cast<std::uint32_t>(random.below(8)),
        .ramp_ns = random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(20'000'000)),
        .order = random.below(2) == 0 ? TreeRule::file : TreeRule::shuffle,
        .seed = seed};
    if (random.below(3) == 0) {
        rules.for_ns = rules.ramp_ns + 1 + static_cast<std::int64_t>(random.below(300'000'000));
    }
    draw_failures(random, rules.failures);
    draw_idle(random, rules.idle);
    if (rules.ramp_ns == 0) {
        draw_start(random, rules.start);
    }
    rules.recycle = rules.for_ns && random.below(2) == 0;
    return rules;
}

namespace {

/// In a third of the runs one user begins, or a few, and others are added.
void draw_growth(std::uint64_t seed, SimOptions& options) {
    Random random(mix64(mix64(seed ^ users_stream) + 1));
    if (random.below(3) != 0 || options.users.users < 2) {
        return;
    }
    options.users.users_first =
        1 + static_cast<std::uint32_t>(random.below(options.users.users - 1));
    options.grow.metric = static_cast<GrowMetric>(random.below(3));
    options.grow.figure = static_cast<GrowFigure>(random.below(6));
    options.grow.limit_ns = 1 + static_cast<std::int64_t>(random.below(400'000'000));
}

/// In a fifth of the runs rows are kept open, and no trees.
bool plays_single_rows(std::uint64_t seed) {
    return Random(mix64(mix64(seed ^ users_stream) + 2)).below(5) == 0;
}

void keep_rows_open(SimOptions& options) {
    UserRules& rules = options.users;
    rules.single_rows = true;
    rules.order = TreeRule::file;
    rules.idle = {};
    rules.start = {};
}

}  // namespace

Trace users_trace(std::uint64_t seed, std::uint32_t rows) {
    Trace trace = swarm_trace(seed, drawn_rules(seed).recycle ? rows / 8 : rows);
    if (plays_single_rows(seed)) {
        trace.dependencies.clear();
        return trace;
    }
    plant_trees(trace, seed);
    plant_barriers(trace, seed);
    return trace;
}

SimOptions users_options(std::uint64_t seed, const Trace& trace) {
    SimOptions options = swarm_options(seed);
    options.closed = true;
    options.users = drawn_rules(seed);
    // Whole requests are sent as they stand: there is no second pass of them.
    options.users.recycle = options.users.recycle && trace.body_ends.empty();
    options.drain_ns = static_cast<std::int64_t>(Random(seed).below(200'000'000));
    draw_budgets(seed, trace, options);
    if (plays_single_rows(seed)) {
        keep_rows_open(options);
    } else {
        draw_growth(seed, options);
    }
    return options;
}

SimResult run_users_swarm(std::uint64_t seed, std::uint32_t rows) {
    const Trace trace = users_trace(seed, rows);
    SimOptions options = users_options(seed, trace);
    draw_stop(seed, options);
    return run(trace, options);
}

// No disk is full: such a run ends by itself, before its time.
KilledUsers run_killed_users_swarm(std::uint64_t seed, std::uint32_t rows) {
    const Trace trace = users_trace(seed, rows);
    SimOptions options = users_options(seed, trace);
    options.disk = {};
    Fate fate = swarm_fates(seed).front();
    fate.dies = true;
    fate.resuming = false;
    return run_killed_users(trace, options, fate);
}

}  // namespace driftless::sim
