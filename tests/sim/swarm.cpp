#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t options_stream = 0x5EED;
constexpr std::uint64_t bodies_stream = 0xB0D1E5;
constexpr std::uint64_t gaps_stream = 0x6A9;
constexpr std::uint64_t sessions_stream = 0x5E55;
constexpr std::uint64_t disk_stream = 0xD15C;
constexpr std::uint64_t fates_stream = 0xFA7E;
constexpr std::uint64_t tls_stream = 0x715;
constexpr std::uint64_t limits_stream = 0x117;
constexpr std::uint64_t flags_stream = 0xF1A6;
constexpr std::uint64_t sleeps_stream = 0x51EE;
constexpr std::uint64_t turns_stream = 0x70412;
constexpr std::uint64_t order_stream = 0x04DE4;
constexpr std::uint64_t ends_stream = 0xE2D5;
constexpr std::uint64_t periods_stream = 0x9E210D;

/// Draws: each kind of fault is off in half of the runs, and else as likely as it gets.
struct Dice {
    Random random;
    double maybe(double most) { return random.below(2) == 0 ? 0.0 : most * random.uniform(); }
    double rarely(double most) { return random.below(4) != 0 ? 0.0 : most * random.uniform(); }
    bool one_in(std::uint64_t n) { return random.below(n) == 0; }
    std::uint32_t number(std::uint64_t least, std::uint64_t range) {
        return static_cast<std::uint32_t>(least + random.below(range));
    }
    Duration duration(Duration most) {
        return {1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.ns)))};
    }
};

void draw_network(Dice& dice, Weather& weather) {
    weather.refuse_connect = dice.maybe(0.2);
    weather.slow_connect = dice.rarely(0.2);
    weather.hang_connect = dice.maybe(0.05);
    weather.late_cancel = dice.maybe(1);
    weather.inline_send = dice.random.uniform();
    weather.short_send = dice.maybe(0.7);
    weather.block_send = dice.rarely(0.02);
    weather.split = dice.random.uniform() * 0.8;
    weather.bytewise = dice.one_in(128);
    weather.stall = dice.rarely(0.002);
    weather.cut = dice.rarely(0.2);
    weather.no_buffers = dice.rarely(0.1);
    weather.idle_close = dice.one_in(4) ? dice.duration(milliseconds(100)) : Duration{0};
}

void draw_host(Dice& dice, Weather& weather) {
    weather.late_wake = dice.maybe(0.2);
    weather.pause = dice.rarely(0.0005);
    weather.overflow = dice.rarely(0.3);
    weather.busy_flush = dice.rarely(0.02);
    weather.stamps = !dice.one_in(8);
    weather.lose_stamp = dice.maybe(0.2);
    weather.late_stamp = dice.maybe(0.3);
    weather.wrong_key = dice.maybe(0.1);
    weather.step_clock = dice.maybe(0.0005);
}

void draw_server(Dice& dice, SimOptions& options) {
    mock::CoreOptions& server = options.server;
    server.keep_alive_requests = dice.one_in(2) ? 3 : 0;
    if (dice.one_in(4)) {  // long beside the runs; some pauses and stalls are longer
        server.keep_alive_timeout = seconds(dice.number(1, 2));
        server.announce_keep_alive = !dice.one_in(3);
    }
    server.overhead.pre = dice.number(0, 6);
    server.overhead.post = dice.number(0, 4);
    server.slots = dice.one_in(2) ? 8 : 0;
    server.seed = options.seed;
    server.early_headers = !dice.one_in(4);
    server.pace.tokens_per_chunk = dice.number(1, 3);
    server.pace.jitter = dice.maybe(0.5);
    for (const mock::Fault fault :
         {mock::Fault::refuse, mock::Fault::reset, mock::Fault::stall, mock::Fault::truncate,
          mock::Fault::malformed, mock::Fault::error, mock::Fault::http_429, mock::Fault::http_500,
          mock::Fault::slow}) {
        const double probability = dice.one_in(3) ? 0.05 * dice.random.uniform() : 0.0;
        if (probability > 0) {
            server.faults.push_back({fault, probability, std::nullopt});
        }
    }
    options.script = {&light_answers(), dice.rarely(0.3), options.seed};
}

// Limits of our own, small enough to be met.
void draw_client(Dice& dice, SimOptions& options) {
    options.timeouts.connect = dice.one_in(4) ? seconds(4) : milliseconds(300);
    options.targets = dice.one_in(4) ? dice.number(2, 3) : 1;
    options.inflight_max = dice.one_in(4) ? dice.number(1, 4) : dice.number(4, 96);
    options.connections_fixed = dice.one_in(4) ? dice.number(1, 8) : 0;
    options.balance = dice.one_in(2) ? Balance::turn : Balance::session;
    options.connection = dice.one_in(2)   ? ConnectionRule::reuse
                         : dice.one_in(2) ? ConnectionRule::fresh
                                          : ConnectionRule::sticky;
    options.warm_sends = dice.one_in(4);
    options.body_bytes = dice.one_in(4) ? 512 << 10 : 4 << 20;
    options.drain_share = 0.02 + dice.random.uniform() * 0.5;
    if (dice.one_in(8)) {  // a writer that comes too seldom
        options.ring_bytes = 1;
        // Never so seldom that the bound on turns comes before the end.
        options.drain_share = 0.0001 + dice.random.uniform() * 0.001;
    }
    if (dice.one_in(8)) {
        options.stop_at_ns = dice.number(0, 400'000'000);
        options.stop_again_ns =
            dice.one_in(2) ? options.stop_at_ns + dice.number(0, 30'000'000) : -1;
    }
    if (dice.one_in(16)) {
        options.disk.bytes = dice.random.below(300'000);  // some hold all
    }
}

// What our host lacks, and what the network loses.
void draw_limits(Dice dice, SimOptions& options) {
    options.capped_by_host = dice.one_in(3);
    options.weather.no_socket = dice.rarely(0.05);
    options.weather.no_port = dice.rarely(0.05);
    options.weather.no_memory = dice.rarely(0.02);
    options.weather.lose_sent = dice.rarely(0.05);
    options.weather.resend_in_vain = dice.rarely(0.05);
    if (dice.one_in(4)) {  // a stop of the process may be longer
        options.timeouts.total = milliseconds(dice.number(300, 1500));
    }
}

/// The file that has no room, where it is not that of the records: a few lines are all of it.
void draw_disk(std::uint64_t seed, DiskRoom& disk) {
    Dice dice{Random(mix64(seed ^ disk_stream))};
    if (disk.bytes && dice.one_in(2)) {
        disk.only_for = dice.one_in(2) ? "fired.jsonl" : "client.jsonl";
        *disk.bytes %= 8'192;
    }
}

// One run in twelve: a handshake costs 0.7 ms of real time, and such a run has a hundred.
void draw_tls(Dice dice, SimOptions& options) {
    TlsWeather& tls = options.tls;
    tls.on = dice.one_in(12);
    tls.only_first = dice.one_in(4);
    tls.old = dice.one_in(3);
    tls.tickets = dice.number(0, 3);
    tls.no_tls = dice.rarely(0.05);
    tls.alert = dice.rarely(0.05);
    tls.hang_up = dice.rarely(0.05);
    tls.deaf = dice.rarely(0.05);
    tls.wrong_name = dice.rarely(0.05);
    tls.forget = dice.rarely(0.5);
    tls.corrupt = dice.rarely(0.2);
    tls.murmur = dice.maybe(0.8);
    tls.interrupt = dice.maybe(0.1);
    tls.no_goodbye = dice.maybe(1);
    tls.step_max = dice.one_in(2) ? microseconds(500) : Duration{0};
    tls.record_max = dice.one_in(2) ? dice.duration(microseconds(200)) : Duration{0};
}

/// A disk that takes its time.
void draw_run_json(Dice dice, SimOptions& options) {
    options.run_json_synced = dice.one_in(8) ? dice.duration(seconds(3)) : Duration{0};
    options.run_json_written = dice.one_in(8) ? dice.duration(milliseconds(500)) : Duration{0};
}

std::string recorded_body(const TraceRow& row, std::uint32_t words, bool stream, Random& random) {
    std::string body = R"({"model":"mock-model","messages":[{"role":"user","content":")";
    for (std::uint32_t i = 0; i < words; ++i) {
        body += i == 0 ? "" : " ";
        body += static_cast<char>('a' + random.below(26));
    }
    body += R"("}],"max_completion_tokens":)" + std::to_string(row.output_length);
    body +=
        stream ? R"(,"stream":true,"stream_options":{"include_usage":true})" : R"(,"stream":false)";
    return body + R"(,"ignore_eos":true})";
}

/// Conversations of all lengths, and rows that belong to none.
void add_sessions(Trace& trace, std::uint64_t seed) {
    Random random(mix64(seed ^ sessions_stream));
    const std::uint64_t sessions = 1 + random.below(trace.rows.size());
    for (std::uint64_t i = 0; i < sessions; ++i) {
        trace.sessions.push_back(std::to_string(i));
    }
    for (TraceRow& row : trace.rows) {
        row.session =
            random.below(4) == 0 ? no_session : static_cast<std::uint32_t>(random.below(sessions));
    }
}

/// Quiet stretches, in which connections grow too old.
void add_gaps(Trace& trace, std::uint64_t seed) {
    Random random(mix64(seed ^ gaps_stream));
    std::int64_t later_ns = 0;
    for (TraceRow& row : trace.rows) {
        later_ns +=
            random.below(50) == 0 ? static_cast<std::int64_t>(random.below(3'000'000'000)) : 0;
        row.at_ns += later_ns;
    }
}

}  // namespace

Trace make_trace(std::uint64_t seed, std::uint32_t rows) {
    Random random(seed);
    Trace trace{.name = "simulated",
                .format = "mooncake",
                .time_unit = "ms",
                .block_size = 512,
                .name_spaces = 1};
    std::int64_t at = 0;
    for (std::uint32_t i = 0; i < rows; ++i) {
        at += random.below(4) == 0 ? static_cast<std::int64_t>(random.below(30)) * 1'000'000 : 0;
        TraceRow row{.at_ns = at, .index = i, .line = i + 1};
        // Above any overhead; some are longer than the first slice of a request.
        const std::uint64_t most = random.below(32) == 0 ? 24'000 : 1500;
        row.input_length = static_cast<std::uint32_t>(16 + random.below(most));
        row.output_length = static_cast<std::uint32_t>(1 + random.below(16));
        row.ids_begin = trace.ids.size();
        row.ids_count = (row.input_length + 511) / 512;
        std::uint64_t id = random.below(4);
        for (std::uint32_t block = 0; block < row.ids_count; ++block) {
            trace.ids.push_back(id);
            id = mix64(id + random.below(2));
        }
        trace.rows.push_back(row);
    }
    return trace;
}

void record_bodies(Trace& trace, std::uint64_t seed, double share, std::uint32_t overhead,
                   bool stream) {
    Random random(mix64(seed ^ bodies_stream));
    for (const TraceRow& row : trace.rows) {
        if (random.uniform() < share) {
            trace.body_bytes += recorded_body(row, row.input_length - overhead, stream, random);
        }
        trace.body_ends.push_back(trace.body_bytes.size());
    }
    trace.body_api = "openai-chat";
}

SimOptions swarm_options(std::uint64_t seed) {
    Dice dice{Random(mix64(seed ^ options_stream))};
    SimOptions options{.seed = seed};
    draw_network(dice, options.weather);
    draw_host(dice, options.weather);
    draw_server(dice, options);
    draw_client(dice, options);
    options.own_fields = dice.one_in(3);
    options.stream = !dice.one_in(8);
    draw_disk(seed, options.disk);
    draw_tls({Random(mix64(seed ^ tls_stream))}, options);
    draw_limits({Random(mix64(seed ^ limits_stream))}, options);
    options.weather.suspend = Dice{Random(mix64(seed ^ sleeps_stream))}.rarely(0.0001);
    draw_run_json({Random(mix64(seed ^ order_stream))}, options);
    options.period_ns = milliseconds(Dice{Random(mix64(seed ^ periods_stream))}.number(5, 300)).ns;
    options.weather.stuck_flag = Dice{Random(mix64(seed ^ flags_stream))}.maybe(1);
    options.weather.lose_end = Dice{Random(mix64(seed ^ ends_stream))}.rarely(0.5);
    draw_abandonment(seed, options);
    return options;
}

/// Deaths between two steps of a run, and a run.json that cannot be written.
void draw_order(Dice dice, Fate& fate) {
    fate.call = dice.one_in(8) ? dice.number(1, 10) : 0;
    fate.run_json = !dice.one_in(24) ? RunJsonFault::none
                    : dice.one_in(2) ? RunJsonFault::naming
                                     : RunJsonFault::time_zero;
}

std::vector<Fate> swarm_fates(std::uint64_t seed) {
    Dice dice{Random(mix64(seed ^ fates_stream))};
    std::vector<Fate> fates(dice.number(2, 2));
    for (std::size_t i = 0; i < fates.size(); ++i) {
        Fate& fate = fates[i];
        fate.resend = dice.one_in(4);
        fate.stop_ns = i > 0 && dice.one_in(8) ? dice.number(0, 400'000'000) : -1;
        if (i + 1 == fates.size()) {
            break;
        }
        const bool full = dice.one_in(6);
        fate.dies = !full || dice.one_in(2);
        fate.disk.bytes = full ? std::optional(dice.random.below(200'000)) : std::nullopt;
        draw_disk(mix64(seed + i), fate.disk);
        fate.at = dice.random.uniform();
        fate.dice = dice.random.below(UINT64_MAX);
        fate.resuming = dice.one_in(8);
        fate.host = dice.one_in(4);
        fate.after_stop_ns = dice.one_in(2) ? dice.number(0, 60'000'000) : -1;
        fate.steps = dice.one_in(3) ? 0 : dice.number(1, 40);
        draw_order({Random(mix64(mix64(seed + i) ^ order_stream))}, fate);
    }
    return fates;
}

Trace swarm_trace(std::uint64_t seed, std::uint32_t rows) {
    const SimOptions options = swarm_options(seed);
    Trace trace = make_trace(seed, rows);
    if (seed % 4 == 0) {
        const mock::TemplateTokens& overhead = options.server.overhead;
        record_bodies(trace, seed, 0.3, overhead.pre + overhead.post, options.stream);
    }
    add_sessions(trace, seed);
    if (options.server.keep_alive_timeout.ns > 0) {
        add_gaps(trace, seed);
    }
    return trace;
}

void close_sessions(Trace& trace, std::uint64_t seed) {
    Dice dice{Random(mix64(seed ^ turns_stream))};
    const std::uint32_t reach = dice.number(1, 12);  // 1: one chain; many: wide trees
    for (std::uint32_t row = 1; row < trace.rows.size(); ++row) {
        if (dice.one_in(5)) {
            continue;  // a tree of its own
        }
        for (std::uint32_t parents = dice.one_in(4) ? 2 : 1; parents > 0; --parents) {
            const std::uint32_t back = dice.number(1, std::min(row, reach));
            const Trigger trigger = dice.one_in(6) ? Trigger::dispatch : Trigger::completion;
            const Duration gap = dice.one_in(2) ? Duration{0} : dice.duration(milliseconds(30));
            trace.dependencies.push_back({row, row - back, trigger, gap.ns});
        }
    }
}

namespace {

Trace closed_trace(std::uint64_t seed, std::uint32_t rows) {
    Trace trace = swarm_trace(seed, rows);
    close_sessions(trace, seed);
    return trace;
}

/// What waits for what is recorded in half of them, and nobody waits.
Trace open_trace(std::uint64_t seed, std::uint32_t rows) {
    return seed % 2 == 0 ? closed_trace(seed, rows) : swarm_trace(seed, rows);
}

}  // namespace

SimOptions closed_options(std::uint64_t seed) {
    SimOptions options = swarm_options(seed);
    options.closed = true;
    return options;
}

SimResult run_closed_swarm(std::uint64_t seed, std::uint32_t rows) {
    const Trace trace = closed_trace(seed, rows);
    SimOptions options = closed_options(seed);
    draw_budgets(seed, trace, options);
    draw_stop(seed, options);
    return run(trace, options);
}

KilledRun run_killed_closed_swarm(std::uint64_t seed, std::uint32_t rows) {
    return run_killed(closed_trace(seed, rows), closed_options(seed), swarm_fates(seed));
}

SimResult run_swarm(std::uint64_t seed, std::uint32_t rows) {
    const Trace trace = open_trace(seed, rows);
    SimOptions options = swarm_options(seed);
    draw_arrivals(seed, options);
    draw_budgets(seed, trace, options);
    draw_stop(seed, options);
    return run(trace, options);
}

KilledRun run_killed_swarm(std::uint64_t seed, std::uint32_t rows) {
    SimOptions options = swarm_options(seed);
    draw_arrivals(seed, options);
    return run_killed(open_trace(seed, rows), options, swarm_fates(seed));
}

// The token budgets of the swarm.

namespace {

constexpr std::uint64_t budgets_stream = 0xB0D6E7;

/// So many tokens may leave in 20 ms to 3 s, and in one period from a hundredth of them on.
TokenRate drawn_rate(Random& random, std::uint64_t tokens) {
    const std::uint64_t whole_ms = 20 + random.below(3'000);
    const std::uint64_t period_ms = 1 + random.below(400);
    return {1 + tokens * period_ms / whole_ms, milliseconds(static_cast<std::int64_t>(period_ms))};
}

}  // namespace

void draw_budgets(std::uint64_t seed, const Trace& trace, SimOptions& options) {
    Random random(mix64(seed ^ budgets_stream));
    if (random.below(3) != 0) {
        return;
    }
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    for (const TraceRow& row : trace.rows) {
        input += row.input_length;
        output += row.output_length;
    }
    const std::uint64_t which = random.below(3);
    options.budgets.uncached = random.below(2) == 0;
    if (which != 0) {
        options.budgets.input = drawn_rate(random, input);
    }
    if (which != 1) {
        options.budgets.output = drawn_rate(random, output);
    }
}

// The swarm's rows, each to two servers.

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

// The swarm's rows, dealt to several engines.

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

// The swarm's rows, at a rate.

void draw_arrivals(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t rates_stream = 0x72617465;
    Random random(mix64(seed ^ rates_stream));
    if (random.below(3) != 0) {
        return;
    }
    ArrivalRules rules;
    const double rate = 50 + static_cast<double>(random.below(5000));
    rules.law = static_cast<ArrivalLaw>(random.below(3));
    rules.shape = 0.2 + 3 * random.uniform();
    rules.curve = RateCurve(rate);
    rules.seed = seed;
    rules.scaled = rules.law != ArrivalLaw::constant && random.below(3) == 0;
    if (rules.law != ArrivalLaw::constant && random.below(3) == 0) {
        rules.curve.add(0.05 + random.uniform() / 10, rate * random.uniform(), rate);
    }
    options.arrivals = rules;
}

void draw_abandonment(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t abandonment_stream = 0xABA4D0;
    Random random(mix64(seed ^ abandonment_stream));
    if (random.below(3) != 0) {
        return;
    }
    AbandonRules& rules = options.abandon;
    rules.share = random.below(8) == 0 ? 1 : random.uniform();
    rules.from_ns = static_cast<std::int64_t>(random.below(50'000'000));
    rules.to_ns = rules.from_ns + static_cast<std::int64_t>(random.below(200'000'000));
    rules.seed = seed;
}

StopRule stop_rule(const char* figure, double bound, std::int64_t for_ns) {
    StopRule rule{.threshold = {.figure = find_figure(figure), .bound = bound}};
    rule.figure = rule.threshold.figure->stop.value_or(StopFigure::errors);
    rule.for_ns = for_ns;
    rule.text = std::string(figure) + " > " + std::to_string(bound);
    return rule;
}

void draw_stop(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t stop_stream = 0x5709;
    Random random(mix64(seed ^ stop_stream));
    if (random.below(3) != 0) {
        return;
    }
    const auto for_ns =
        random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(300'000'000));
    if (random.below(2) == 0) {
        options.stop_when.push_back(stop_rule("errors", 0.5 * random.uniform(), for_ns));
    } else {
        const char* const figure = random.below(2) == 0 ? "ttft" : "tpot";
        options.stop_when.push_back(stop_rule(figure, 1e7 * random.uniform(), for_ns));
    }
}

// The swarm's conversations: sessions of messages, played with the answers of the run.

namespace {

constexpr std::uint64_t talks_stream = 0x7A1C5;
constexpr std::array<const char*, 3> followers{"user", "tool", "user"};

std::string message(const char* role, std::uint32_t words, Random& random) {
    std::string text;
    for (std::uint32_t word = 0; word < words; ++word) {
        text += word == 0 ? "" : " ";
        text += static_cast<char>('a' + random.below(26));
        text += static_cast<char>('a' + random.below(26));
    }
    return R"({"role":")" + std::string(role) + R"(","content":")" + text + R"("})";
}

/// A conversation that goes on, or a new one.
struct Talk {
    std::string messages;
    std::uint32_t tokens = 0;  ///< of the latest prompt, as recorded
    std::uint32_t answer = 0;  ///< of the answer to it
    std::uint32_t left = 0;    ///< rows to come
};

}  // namespace

// What is recorded of lengths may be off by the same number of tokens in a whole conversation.
Trace talks_trace(std::uint64_t seed, std::uint32_t rows, std::uint32_t overhead) {
    Random random(mix64(seed ^ talks_stream));
    Trace trace = make_trace(seed, rows);
    const std::uint64_t turns_max = 1 + random.below(8);
    const bool knows_lengths = random.below(3) != 0;
    trace.deltas = random.below(3) == 0;
    trace.recorded = true;
    Talk talk;
    for (std::uint32_t index = 0; index < rows; ++index) {
        TraceRow& row = trace.rows[index];
        const auto words = static_cast<std::uint32_t>(1 + random.below(12));
        row.ids_begin = row.ids_count = 0;
        row.output_length = static_cast<std::uint32_t>(2 + random.below(14));
        if (talk.left == 0) {
            talk = {};
            talk.left = static_cast<std::uint32_t>(1 + random.below(turns_max));
            talk.messages = message("user", words, random);
            const auto off = static_cast<std::uint32_t>(random.below(7));
            talk.tokens = std::max(overhead + words + off, 4U) - 3;
            trace.sessions.push_back("talk " + std::to_string(trace.sessions.size()));
            row.turn = 1;
        } else {
            const std::string next = message(followers[random.below(3)], words, random);
            const std::string recorded = message("assistant", talk.answer, random);
            talk.messages = trace.deltas ? next : talk.messages + "," + recorded + "," + next;
            talk.tokens += talk.answer + words;
            const bool at_once = random.below(2) == 0;
            trace.dependencies.push_back(
                {index, index - 1, Trigger::completion,
                 at_once ? 0 : static_cast<std::int64_t>(random.below(30'000'000))});
            row.turn = trace.rows[index - 1].turn + 1;
        }
        --talk.left;
        talk.answer = row.output_length;
        row.session = static_cast<std::uint32_t>(trace.sessions.size() - 1);
        row.input_length = knows_lengths ? talk.tokens : 0;
        trace.body_bytes += R"({"messages":[)" + talk.messages + "]}";
        trace.body_ends.push_back(trace.body_bytes.size());
    }
    trace.ids = {};
    return trace;
}

SimOptions talks_options(std::uint64_t seed) {
    SimOptions options = closed_options(seed);
    options.live = true;
    options.server.check_history = 1 << 16;
    options.script.share = 0;  // what it says the mock does not remember
    return options;
}

SimResult run_talks_swarm(std::uint64_t seed, std::uint32_t rows) {
    SimOptions options = talks_options(seed);
    if (seed % 2 == 1) {
        options.users = drawn_rules(seed);
        options.users.start = {};
        options.users.recycle = false;
        options.drain_ns = static_cast<std::int64_t>(Random(seed).below(200'000'000));
    }
    const mock::TemplateTokens& overhead = options.server.overhead;
    return run(talks_trace(seed, rows, overhead.pre + overhead.post), options);
}

}  // namespace driftless::sim
