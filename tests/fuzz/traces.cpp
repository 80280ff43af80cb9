// Any bytes as a trace file: lines are split the same however they are cut, and what is usable is
// sorted, rebased, consistent, plans without a fault, and is equal after it was written and read
// back. A target for each reader.

#include "engine/plan/compressed_files.hpp"
#include "engine/plan/plan.hpp"
#include "proto/json/write.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"

namespace driftless {
namespace {

bool read_in_pieces(std::string_view text, std::size_t piece, const ReadOptions& options,
                    Trace& trace, InputErrors& errors) {
    TraceReader reader(options, trace, errors);
    reader.begin_file("fuzz");
    LineSplitter lines;
    for (std::size_t at = 0; at <= text.size(); at += piece) {
        if (at < text.size()) {
            lines.feed(text.substr(at, piece));
        }
        if (at + piece > text.size()) {
            lines.finish();
        }
        while (const auto line = lines.next()) {
            if (!reader.add_line(lines.number(), *line)) {
                return reader.finish();
            }
        }
    }
    return reader.finish();
}

void check_rows(const Trace& trace) {
    std::int64_t previous = 0;
    CHECK(trace.rows.empty() || trace.rows.front().at_ns == 0);
    for (const TraceRow& row : trace.rows) {
        CHECK(row.at_ns >= previous);
        const bool known = row.input_length > 0 && row.output_length > 0;
        CHECK(known || !trace.body_of(row).empty());
        const std::uint64_t size = trace.block_size;
        CHECK(row.ids_count == 0 || (row.input_length + size - 1) / size >= row.ids_count);
        CHECK(row.name_space < trace.name_spaces);
        CHECK(row.session == no_session || row.session < trace.sessions.size());
        for (const Dependency& edge : trace.dependencies_of(row)) {
            CHECK(edge.on < row.index && edge.delay_ns >= 0);
        }
        (void)trace.kept_of(row);
        previous = row.at_ns;
    }
}

void fuzz_trace(std::string_view text, ReadOptions options) {
    if (options.format == "generic") {
        options.time_unit = text.size() % 2 == 0 ? "auto" : "ms";
    }
    for (const bool lenient : {false, true}) {
        Trace whole;
        Trace cut;
        InputErrors errors;
        InputErrors cut_errors;
        options.lenient = lenient;
        const bool usable = read_in_pieces(text, text.size() + 1, options, whole, errors);
        CHECK(usable == errors.empty());
        CHECK(usable == read_in_pieces(text, text.size() % 7 + 1, options, cut, cut_errors));
        CHECK(whole.rows.size() == cut.rows.size());
        CHECK(plain_ids(whole.ids) == plain_ids(cut.ids));
        CHECK(errors.count == cut_errors.count);
        for (const InputError& error : errors.list) {
            CHECK(!to_text(error).empty());
        }
        if (usable) {
            check_rows(whole);
            (void)make_plan(whole, {});  // refuses spans of more than 73 years
            CHECK(canonical_round_trip(whole).empty());
        }
    }
}

constexpr Sessions open = Sessions::open;
constexpr Sessions closed = Sessions::closed;

FuzzTarget of(const std::string& name, const ReadOptions& options) {
    return {name, [options](std::string_view text) { fuzz_trace(text, options); }};
}

// mooncake is found out: mostly Mooncake rows, its dialects and what is refused. Blocks of tensorrt
// are large, because a few bytes may ask for a prompt of 2^27 tokens.
const FuzzTargets trace_targets = {
    of("agentic_mooncake", {.format = "agentic-mooncake", .sessions = open}),
    of("aibrix", {.format = "aibrix", .keep = {"model"}, .default_output = 8}),
    of("aiperf_turns", {.format = "aiperf-multi-turn", .sessions = open}),
    of("azure", {.format = "azure", .keep = {"pool"}}),
    of("burstgpt", {.format = "burstgpt"}),
    of("canonical", {.format = "canonical"}),
    of("dynamo", {.format = "dynamo"}),
    of("generic",
       {.format = "generic",
        .map = {{"time", "t"}, {"in", "u.i"}, {"hashes", "h"}, {"session", "s"}, {"delay", "d"}}}),
    of("isb1", {.format = "isb1", .sessions = open}),
    of("lmcache", {.format = "lmcache", .sessions = open}),
    of("mlperf", {.format = "mlperf-agentic", .sessions = open}),
    of("mooncake", {.keep = {"type"}, .sessions = open}),
    of("qwen", {.format = "qwen"}),
    of("sglang_agentic", {.format = "sglang-agentic", .sessions = open}),
    of("sharegpt", {.format = "sharegpt", .sessions = open}),
    of("tensorrt", {.format = "tensorrt-llm", .block_size = 1U << 20, .sessions = open}),
    of("vidur", {.format = "vidur", .keep = {"pool"}}),
    of("vllm_multi_turn", {.format = "vllm-multi-turn", .sessions = open}),
    of("weka", {.format = "weka", .sessions = closed}),
    of("workload_log", {.format = "workload", .keep = {"request_id"}}),
};

}  // namespace
}  // namespace driftless
