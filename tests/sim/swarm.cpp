#include "tests/sim/swarm.hpp"

#include <algorithm>
#include <string>

#include "proto/core/hash.hpp"
#include "tests/sim/canned_answers.hpp"

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
    Trace trace;
    trace.name = "simulated";
    trace.format = "mooncake";
    trace.time_unit = "ms";
    trace.block_size = 512;
    trace.name_spaces = 1;
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
    SimOptions options;
    options.seed = seed;
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

/// Deaths between two steps of the order of a run, and a run.json that cannot be written.
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

SimOptions closed_options(std::uint64_t seed) {
    SimOptions options = swarm_options(seed);
    options.closed = true;
    return options;
}

}  // namespace

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

}  // namespace driftless::sim
