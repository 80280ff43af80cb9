#include "tests/sim/sim_run.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "engine/preflight/preflight.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/prompt/vocab.hpp"
#include "engine/record/assembler.hpp"
#include "engine/replay/run.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint64_t turns_max = 20'000'000;
constexpr Duration lead = milliseconds(200);

/// Takes what is in the ring, and holds each record against the laws of a row.
struct Drain {
    EventRing& ring;
    Assembler& assembler;
    SimResult& result;
    bool lossless;

    void law(bool holds, const Record& record, const char* text) {
        if (!holds) {
            result.broken_laws.push_back("row " + std::to_string(record.row) + ": " + text);
        }
    }

    void check(const Record& record) {
        const auto ordered = [](OptionalNs before, OptionalNs after) {
            return !before || !after || *before <= *after;
        };
        law(!record.fired_ns || *record.fired_ns >= record.due_ns, record, "fired before due");
        law(ordered(record.armed_ns, record.fired_ns), record, "fired before armed");
        law(ordered(record.fired_ns, record.wire_ns), record, "on the wire before fired");
        law(ordered(record.wire_ns, record.ended_ns), record, "ended before on the wire");
        law(record.receive_delay_ns.value_or(0) >= 0, record, "read before it was received");
        law(ordered(record.fired_ns, record.sent_ns), record, "sent before fired");
        law(ordered(record.fired_ns, record.headers_ns), record, "headers before fired");
        law(ordered(record.headers_ns, record.first_byte_ns), record, "body before headers");
        law(ordered(record.first_byte_ns, record.first_token_ns), record, "token before body");
        law(ordered(record.first_token_ns, record.last_token_ns), record, "tokens out of order");
        law(ordered(record.last_token_ns, record.done_ns), record, "done before last token");
        law(ordered(record.done_ns, record.ended_ns), record, "ended before done");
        law(ordered(record.fired_ns, record.ended_ns), record, "ended before fired");
        law(!record.fired_ns || record.ended_ns, record, "fired, and no end");
        law(std::is_sorted(record.chunk_ns.begin(), record.chunk_ns.end()), record,
            "chunks out of order");
        law(record.outcome != Outcome::not_sent || !record.fired_ns, record, "not_sent but fired");
        const bool good = record.outcome == Outcome::ok && record.tainted.empty();
        law(!good || record.prompt_tokens == std::int64_t{record.input_length}, record,
            "ok, but the server counted another prompt");
        law(!good || !lossless || record.output_tokens == std::int64_t{record.output_length},
            record, "ok, but another number of tokens");
    }

    void all() {
        for (const Event* event = ring.front(); event != nullptr; event = ring.front()) {
            const Record* record = assembler.consume(*event, EventRing::payload_of(*event));
            if (record != nullptr) {
                append_jsonl(result.jsonl, *record);
                result.records.push_back(*record);
                result.bytes_in_records += record->bytes_received;
                check(*record);
            }
            ring.pop();
        }
    }
};

ReplaySettings settings_of(const SimOptions& options) {
    ReplaySettings settings;
    settings.inflight_max = options.inflight_max;
    settings.lanes_max =
        options.connections_fixed > 0 ? options.connections_fixed : options.inflight_max;
    settings.connections_fixed = options.connections_fixed;
    settings.timeouts.connect = milliseconds(300);
    settings.timeouts.first_byte = seconds(3);
    settings.timeouts.idle = seconds(1);
    settings.timeouts.total = seconds(20);
    settings.grace = milliseconds(50);
    settings.wait = WaitPolicy::hybrid;
    return settings;
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
        TraceRow row;
        row.at_ns = at;
        row.index = i;
        row.line = i + 1;
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

SimOptions swarm(std::uint64_t seed) {
    Random random(mix64(seed ^ 0x5EED));
    SimOptions options;
    options.seed = seed;
    const auto maybe = [&](double most) {
        return random.below(2) == 0 ? 0.0 : most * random.uniform();
    };
    options.weather.refuse_connect = maybe(0.2);
    options.weather.hang_connect = maybe(0.05);
    options.weather.reset = maybe(0.002);
    options.weather.short_send = maybe(0.7);
    options.weather.late_wake = maybe(0.2);
    options.weather.split = random.uniform() * 0.8;
    options.weather.stamps = random.below(8) != 0;
    options.weather.lose_stamp = maybe(0.2);
    options.weather.late_stamp = maybe(0.3);
    options.weather.wrong_key = maybe(0.1);
    options.weather.step_clock = maybe(0.0005);
    options.server.keep_alive_requests = static_cast<std::uint32_t>(random.below(2) * 3);
    options.server.overhead.pre = static_cast<std::uint32_t>(random.below(6));
    options.server.overhead.post = static_cast<std::uint32_t>(random.below(4));
    options.server.slots = static_cast<std::uint32_t>(random.below(2) * 8);
    options.server.seed = seed;
    options.server.pace.tokens_per_chunk = static_cast<std::uint32_t>(1 + random.below(3));
    options.server.pace.jitter = maybe(0.5);
    for (const mock::Fault fault :
         {mock::Fault::refuse, mock::Fault::reset, mock::Fault::stall, mock::Fault::truncate,
          mock::Fault::malformed, mock::Fault::error, mock::Fault::http_429, mock::Fault::http_500,
          mock::Fault::slow}) {
        const double probability = random.below(3) == 0 ? 0.05 * random.uniform() : 0.0;
        if (probability > 0) {
            options.server.faults.push_back({fault, probability, std::nullopt});
        }
    }
    options.inflight_max = static_cast<std::uint32_t>(4 + random.below(96));
    options.connections_fixed =
        random.below(4) == 0 ? static_cast<std::uint32_t>(1 + random.below(8)) : 0;
    options.drain_share = 0.02 + random.uniform() * 0.5;
    if (random.below(8) == 0) {
        options.stop_at_ns = static_cast<std::int64_t>(random.below(400'000'000));
        options.stop_again_ns =
            random.below(2) == 0
                ? options.stop_at_ns + static_cast<std::int64_t>(random.below(30'000'000))
                : -1;
    }
    return options;
}

SimResult run(const Trace& trace, const SimOptions& options) {
    SimResult result;
    PlanOptions plan_options;
    plan_options.seed = options.seed;
    const Result<Plan> planned = make_plan(trace, plan_options);
    CHECK(static_cast<bool>(planned));
    const Plan& plan = planned.value();
    result.rows = plan.rows.size();

    const Dialect& dialect = dialect_of(Api::openai_chat);
    BodySpec spec;
    spec.model = "mock-model";
    Result<BodyFrame> frame = dialect.make_body_frame(spec);
    CHECK(static_cast<bool>(frame));
    RequestHeadSpec head_spec;
    head_spec.target = dialect.default_path;
    head_spec.host = "simulated";
    const std::vector<RequestHead> heads{RequestHead(head_spec)};

    PromptOptions prompt_options;
    prompt_options.seed = options.seed;
    prompt_options.overhead = {options.server.overhead.pre, options.server.overhead.post};
    PromptBuilder prompts(trace, WordTable::built_in(), prompt_options);
    BodyPool bodies;
    CHECK(static_cast<bool>(bodies.open(options.body_bytes)));
    EventRing ring(options.ring_bytes, options.inflight_max);
    AssemblerConfig config;
    config.trace = &trace;
    config.plan = &plan;
    config.dialect = &dialect;
    config.urls = {"http://simulated"};
    Assembler assembler(config);
    Drain drain{ring, assembler, result, true};

    SimDriver driver(options.seed, options.weather, options.server);
    Random random(mix64(options.seed));
    std::atomic<int> stop_requests{0};
    {
        Armer armer(trace, plan, prompts, bodies, heads, frame.value(), {"sim", 1});
        Run replay(driver, {trace, plan, armer, bodies, ring, {Address{}}, stop_requests},
                   settings_of(options));
        while (!replay.warm() && ++result.turns < turns_max) {
            (void)replay.turn();
        }
        const Instant zero = driver.now() + lead;
        replay.begin(zero);
        assembler.begin(zero);
        while (++result.turns < turns_max) {
            if (!replay.turn()) {
                result.ended = true;
                break;
            }
            const std::int64_t at = (driver.now() - zero).ns;
            stop_requests = (options.stop_at_ns >= 0 && at >= options.stop_at_ns ? 1 : 0) +
                            (options.stop_again_ns >= 0 && at >= options.stop_again_ns ? 1 : 0);
            if (random.uniform() < options.drain_share) {
                drain.all();
            }
        }
        drain.all();
        result.ops_in_flight = driver.in_flight();
        result.sockets_open = driver.sockets_open();
        result.bytes_delivered = driver.bytes_delivered();
    }
    result.body_bytes_held = bodies.used_bytes();
    return result;
}

}  // namespace driftless::sim
