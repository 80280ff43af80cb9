// How fast the writer takes what the engine pushes: chunks a second through ring, JSON, assembler
// and lines, for streams as vLLM sends them. And what a push costs the engine.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/record/writer.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t rows = 64;
constexpr std::uint32_t chunks_per_row = 341;  // the mean of the conversation hour

struct Input {
    Trace trace;
    Plan plan;
    Input() {
        for (std::uint32_t i = 0; i < rows; ++i) {
            TraceRow row;
            row.index = i;
            row.input_length = 100;
            row.output_length = chunks_per_row;
            trace.rows.push_back(row);
            plan.rows.push_back({i, i, 0});
        }
    }
};

constexpr std::string_view chat_chunk =
    "data: {\"id\":\"chatcmpl-8f2c4e0bb6c14d3b9b8e4f9d7a6c5b4a\",\"object\":\"chat.completion."
    "chunk\",\"created\":1795224229,\"model\":\"meta-llama/Llama-3.1-8B-Instruct\",\"choices\":[{"
    "\"index\":0,\"delta\":{\"content\":\" Hel\"},\"logprobs\":null,\"finish_reason\":null,"
    "\"token_ids\":null}]}\n\n";
constexpr std::string_view completions_chunk =
    "data: {\"id\":\"cmpl-8f2c4e0bb6c14d3b9b8e4f9d7a6c5b4a\",\"object\":\"text_completion\","
    "\"created\":1795224229,\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\"tok \","
    "\"logprobs\":null,\"finish_reason\":null}]}\n\n";

void push(EventRing& ring, EventKind kind, std::uint32_t row, std::int64_t stamp_ns,
          std::string_view payload = {}) {
    Event event;
    event.kind = kind;
    event.request = row;
    event.stamp_ns = stamp_ns;
    event.status = 200;
    if (kind == EventKind::armed) {
        event = Event::of_armed({row, row, row, 0}, stamp_ns);
    } else if (kind == EventKind::end) {
        event.end = {};
    }
    CHECK(ring.push(event, payload) == EventRing::Push::whole);
}

// All rows side by side, a chunk of each in turn, as open streams come.
void push_streams(EventRing& ring, std::string_view chunk, RecordWriter& writer) {
    for (std::uint32_t row = 0; row < rows; ++row) {
        push(ring, EventKind::armed, row, row);
        push(ring, EventKind::fired, row, row);
        push(ring, EventKind::part, row, row,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        push(ring, EventKind::head, row, row);
    }
    for (std::uint32_t i = 0; i < chunks_per_row; ++i) {
        for (std::uint32_t row = 0; row < rows; ++row) {
            push(ring, EventKind::chunk, row, 1000 + i, chunk);
        }
        writer.drain(rows);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
        push(ring, EventKind::end, row, 100'000);
    }
    writer.drain(SIZE_MAX);
    writer.finish();
}

void write_streams(benchmark::State& state, const char* api, std::string_view chunk,
                   std::int64_t period_ns = 10'000'000'000) {
    const Input input;
    EventRing ring(1 << 20, rows);
    std::string requests;
    std::string fired;
    std::string periods;
    for (auto _ : state) {
        requests.clear();
        fired.clear();
        periods.clear();
        AssemblerConfig config;
        config.trace = &input.trace;
        config.plan = &input.plan;
        config.dialect = find_dialect(api);
        config.urls = {"http://127.0.0.1:8000/"};
        config.periods.length_ns = period_ns;
        RecordSinks sinks;
        sinks.requests = LineSink(&requests);
        sinks.fired = LineSink(&fired);
        sinks.periods = LineSink(&periods);
        RecordWriter writer(std::move(config), {}, std::move(sinks));
        writer.read_from({{&ring}});
        writer.begin({0});
        push_streams(ring, chunk, writer);
        CHECK(writer.counts().ended == rows && writer.counts().failed == 0);
    }
    state.SetItemsProcessed(state.iterations() * rows * chunks_per_row);
    state.SetBytesProcessed(state.iterations() * rows * chunks_per_row *
                            static_cast<std::int64_t>(chunk.size()));
}
BENCHMARK_CAPTURE(write_streams, chat, "openai-chat", chat_chunk);
BENCHMARK_CAPTURE(write_streams, chat_without_periods, "openai-chat", chat_chunk, 0);
BENCHMARK_CAPTURE(write_streams, completions, "openai-completions", completions_chunk);

// A push beside the pop that makes room for the next, on one thread: no cache line travels.
void push_and_pop(benchmark::State& state) {
    EventRing ring(1 << 20, rows);
    Event event;
    event.kind = EventKind::chunk;
    const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
    for (auto _ : state) {
        benchmark::DoNotOptimize(ring.push(event, payload));
        benchmark::DoNotOptimize(ring.front());
        ring.pop();
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_and_pop)->Arg(0)->Arg(250);

}  // namespace
}  // namespace driftless
