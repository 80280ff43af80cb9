/// The trace formats that can be read; each is told in the source of its name or of its family.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "proto/json/write.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// The Mooncake format (FAST'25) and its dialects: JSONL, `timestamp` in ms, `input_length`,
// `output_length`, and `hash_ids`, one id per block of 512 tokens, the partial last block
// included.
//
// AIPerf's dialect adds `session_id` and `delay` (ms after the turn before); Dynamo's has the
// aliases `created_time`, `input_tokens`, `output_tokens`, `delay_ms` and ids of 64 bits. Rows in
// words have a text, messages or a body (mooncake.cpp), or are bodies themselves. Ids are
// global to a file. Sources: kvcache-ai/Mooncake, FAST25-release/README.md; trace-formats sections
// 1 and 2.

extern const TraceFormat mooncake_format;
/// The same rows, of which those of a session hold only what is new (segments.hpp).
extern const TraceFormat mooncake_delta_format;

/// Tokens of a block where a reader is not told another size.
inline constexpr std::uint32_t mooncake_block_size = 512;

/// The nearest whole millisecond, in nanoseconds, as the format's times are written. Readers refuse
/// a fraction as a time that may be in seconds, and ours does; rounding keeps the order.
std::int64_t whole_ms(std::int64_t at_ns);

// Dynamo's request trace (`dynamo.request.trace.v1`): JSONL, one event a line, of which the ends
// of requests are rows: `request_received_ms` (epoch), lengths, and sequence hashes of 64 bits.
//
// Lines stand in the order of completion and are sorted; segments of one log share their ids,
// sessions and block size. Markers and events of tools are skipped. Source: ai-dynamo/dynamo;
// trace-formats section 10.1.

extern const TraceFormat dynamo_format;

// Dynamo's agentic Mooncake, version 2: JSONL, a header with `block_size`, then rows with
// `not_before_ms`, lengths, `hash_ids` and `dependencies` on other rows.
//
// Ids hold inside a play (`play_id`). A row that depends on others has no arrival time of its own:
// it is read under `--sessions open` and `closed` only, which lay it out by the recorded delays,
// as if answers took no time; under `closed` it then waits for those others alone. Source:
// ai-dynamo/dynamo; trace-formats section 10.2.

extern const TraceFormat agentic_mooncake_format;

// Conversations without times, an object each: ShareGPT's `conversations` of `from` and `value`,
// and the `messages` of `role` and `content` that vLLM's benchmark of several turns reads.
//
// A row is a question that an answer follows, with everything said before it, recorded answers
// too. Neither has times nor lengths. Sources: ShareGPT_V3 (trace-formats 10); vllm-project/vllm,
// benchmarks/multi_turn/README.md.

extern const TraceFormat sharegpt_format;
extern const TraceFormat vllm_multi_turn_format;

/// Whether a row of messages is a conversation with answers whose questions are asked one by one,
/// not a request: it has nothing beside them but an id, and without an id it ends with an answer.
bool is_only_conversation(const JsonValue& row);

// AIPerf's conversations of several turns (`multi_turn`): an object a session, a question a turn.
//
// `{"session_id":"s","turns":[{"text":"..","timestamp":0},{"text":"..","delay":2000}]}`: times in
// ms, answers unknown, so each row holds its new messages alone (Trace::deltas). A first turn of
// the role system that has nothing but text stands before the first question. Source:
// ai-dynamo/aiperf, src/aiperf/dataset/loader/{multi_turn,models}.py.

extern const TraceFormat aiperf_turns_format;

// Azure's LLM inference traces: CSV with `TIMESTAMP`, `ContextTokens`, `GeneratedTokens`.
//
// Read by name: the multi-modal trace of 2025 puts `NumImages` second; images are counted, not
// sent. Wall clocks without a zone are UTC; the trace of 2024 mixes two spellings in one file. No
// block ids and no sessions: every prompt is private. Source: Azure/AzurePublicDataset;
// trace-formats section 5.

extern const TraceFormat azure_format;

// BurstGPT: CSV with `Timestamp` in seconds since a midnight, `Request tokens`, `Response tokens`.
//
// Read by name: the third release has two more columns, `Session ID` and `Elapsed time`. A
// response of 0 tokens is a request that failed; such rows are dropped and counted. No block ids.
// Source: HPMLL/BurstGPT, README.md; trace-formats section 6.

extern const TraceFormat burstgpt_format;

// vidur's request traces: CSV with `arrived_at` in seconds, `num_prefill_tokens` and
// `num_decode_tokens`. No block ids and no sessions: every prompt is private. Source:
// microsoft/vidur, data/processed_traces.

extern const TraceFormat vidur_format;

// LMCache's agentic traces: one call of an agent a row, with its whole list of messages
// (huggingface.co/datasets/sammshen/lmcache-agentic-traces).
//
// `pre_gap` is the time in seconds from the answer of the session's call before to this one; there
// are no times of arrival. Rows of one session stand in order.

extern const TraceFormat lmcache_format;

// evalscope's workload traces: a log of request bodies and the times at which they came
// (github.com/modelscope/evalscope, perf plugin `workload_trace`).
//
// `timestamp` is seconds as a number or as text, or an ISO-8601 time; `completion_tokens` is how
// long the answer was. Headers of rows are not sent. Lines of OpenAI's Batch are the same without
// times: `custom_id`, `method`, `url`, `body`.

extern const TraceFormat workload_log_format;

// SGLang's `agentic-trace`: one object with all conversations, each a list of turns.
//
// `{"metadata":{},"conversations":[[{"messages":[..],"prompt_tokens":N},..]]}`: a turn holds its
// new messages alone, without answers, and how long its whole prompt was. No times, no lengths of
// answers; turns without messages ask nothing. Source: sgl-project/sglang,
// python/sglang/benchmark/datasets/agentic_trace.py.

extern const TraceFormat sglang_agentic_format;

// AIBrix's workload files: JSON lines, each an instant in milliseconds with the list of requests
// that leave then.
//
// A request has its text (`prompt`), its lengths (`prompt_length`, `output_length`; older files
// spell them `Prompt Length`, `Output Length`), or both: text is sent as it was recorded. Requests
// of one `session_id` are turns of it. Source: vllm-project/aibrix,
// benchmarks/generator/workload_generator.

extern const TraceFormat aibrix_format;

// The Qwen (Bailian) format: JSONL, `timestamp` in seconds, `input_length`, `output_length`, and
// `hash_ids`, one id per block of 16 tokens, the partial last block included.
//
// `chat_id` names a request and `parent_chat_id` the turn before it (-1: none), so that a chain of
// them is a session, named by its first. Ids may name contents wherever they stand (files A and B)
// or whole prefixes. Source: alibaba-edu/qwen-bailian-usagetraces-anon, README.md; trace-formats
// section 4.

extern const TraceFormat qwen_format;

// Any CSV with a header or JSON lines, by the columns that `--map` names.
//
// Keys of the map: time, in, out (needed), hashes, session, turn, delay. What is not mapped is
// looked up under the key's own name. A JSON column may be a path ("usage.prompt_tokens"). Times
// are in `--time-unit`; without it, ISO-8601 and epochs are known by their looks, and relative
// numbers are refused. Ids are numbers, or strings that are hashed; a CSV cell holds them between
// blanks, commas or semicolons. Block size and rule are found on the data.

extern const TraceFormat generic_format;

/// What `--map` may name on its left.
std::span<const std::string_view> map_keys();

// ISB-1 bundles: one object with `exports`, a cell for each conversation, stack and GPU.
//
// Of `inferencex_multiturn` a cell has `session.turns[]` of `messages`, of
// `inferencex_trace_replay` `events[]` of `input_messages`; both hold all that was said so far.
// Waits count from the answer before: `wait_before_ms`, or the distance of two
// `arrival_time_offset_ms`. A conversation stands in several cells: the first one is read. Events
// in files beside the bundle (`prefix_ref`) are refused. Source: SemiAnalysisAI/InferenceX, pull
// request 1032: datasets/isb1, tools/isb1_to_kvcache_tester.py,
// utils/bench_serving/benchmark_export_replay.py.

extern const TraceFormat isb1_format;

// MLPerf's agentic datasets: JSONL, one message of a conversation a row, with `conversation_id`,
// `turn` from 1 on and `role`.
//
// Each row of a user or of a tool is a request: the messages recorded before it, and its own. The
// answers in it are the recorded ones. It waits for the answer to the request before it and for
// `delay_seconds`; there are no times of arrival and no token counts. Rows of a conversation stand
// together and in order. Source: mlcommons/endpoints, its dataset schema (2026).

extern const TraceFormat mlperf_format;

// TensorRT-LLM's execution traces of agents (`*.trace.json`): a JSON object is one run of an
// agent, a list of events in the order in which they happened.
//
// A message of an assistant is a request. Its prompt is the messages of its conversation so far,
// whose tokens were counted, made as long as the server counted it; block ids are made from them.
// System prompts of one `system_prompt_id` are the same in all conversations and runs. Events of
// one `branch_path` follow each other; calls of tools are pauses; a fork's branches begin where
// its parent stood, and the parent goes on when all have ended. There are no times of arrival.
// Full traces (`*.full.trace.json`) are read by the same counts; their text is not sent. Source:
// NVIDIA/TensorRT-LLM, tensorrt_llm/scaffolding (2026).

extern const TraceFormat tensorrt_format;

// Agentic coding traces of kv-cache-tester ("Weka"): a JSON object is a conversation, with a file
// of its own or a line in a JSONL file. `requests` have `t` in seconds from the conversation's
// start, `in`, `out`, and `hash_ids` of 64 tokens that name whole blocks; its derivatives name the
// partial one too, which each conversation shows by its counts.
//
// Ids are valid inside one conversation only. Sub-agents, entries with requests of their own,
// become sessions beside their parent; their times count from the sub-agent's start or from the
// conversation's, as the first one shows. Agents that were recorded in one list with others are
// separated into chains if sessions are closed (flat_agents.hpp). Conversations have no arrival
// times: they are read under `--sessions open` and `closed` only, which start every one at 0.
// Source: callanjfox/kv-cache-tester; trace-formats section 3.

extern const TraceFormat weka_format;

// The canonical format: our own JSONL, which holds everything that a Trace holds.
//
// The first line is a header: `{"schema":"driftless.trace","version":1,"block_size":512,
// "tail_rule":"ceil"}`. Each further line is a row, in file order: `at_ns` from the trace's start,
// `input_length`, `output_length`; where there are any, `hash_ids` (64 bits), `name_space`
// (0 where absent), `session` with `session_number` where several sessions have one name, `turn`,
// and `after`, the rows that it waits for: `[{"row":3,"trigger":"completion","delay_ns":0}]`,
// where `row` counts the file's rows from 0. `replay --save-prompts` writes the same with a `body`
// in each row, the request body that is sent as it stands, and `body_api` in the header, the
// dialect that the bodies were made for (for `--api template` with the file's digest:
// "template:0123456789abcdef"). If recorded requests hold only new messages, the header has
// `"deltas":true`. Other columns are carried along for `--keep`. A row without `hash_ids` has a
// private prompt; a row with fewer ids than its length needs is accepted only if the header has
// `"uncovered":true`.

extern const TraceFormat canonical_format;

inline constexpr std::string_view canonical_schema = "driftless.trace";
inline constexpr std::uint64_t canonical_version = 1;
/// Keys of a header and of a row.
std::span<const std::string_view> canonical_columns();

// Lines of the format, for whoever writes them: a trace (write.cpp) or rows that are made
// one by one (engine/plan).

struct CanonicalHeader {
    std::uint32_t block_size = 0;
    TailRule tail_rule = TailRule::ceil;
    std::string_view source;  ///< name of the trace
    std::string_view format;  ///< that it was read as
};
/// Writes the members that every header has. The caller opens and closes the object.
void write_canonical_header(JsonWriter& json, const CanonicalHeader& header);

/// What a line says of a row beside its ids and waits. Lengths, namespace and turn of 0 are left
/// out.
struct CanonicalRow {
    std::int64_t at_ns = 0;
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::uint32_t name_space = 0;
    std::optional<std::string_view> session;
    std::optional<std::uint32_t> session_number;
    std::uint32_t turn = 0;
};
/// Writes the members in their order. `ids`: any range of numbers with `empty`. The caller opens
/// and closes the object; waits come next.
template <typename Ids>
void write_canonical_row(JsonWriter& json, const CanonicalRow& row, const Ids& ids) {
    json.key("at_ns").integer(row.at_ns);
    if (row.input_length > 0) {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (!ids.empty()) {
        json.key("hash_ids").begin_array();
        for (const std::uint64_t id : ids) {
            json.unsigned_integer(id);
        }
        json.end_array();
    }
    if (row.name_space != 0) {
        json.key("name_space").unsigned_integer(row.name_space);
    }
    if (row.session) {
        json.key("session").string(*row.session);
    }
    if (row.session_number) {
        json.key("session_number").unsigned_integer(*row.session_number);
    }
    if (row.turn != 0) {
        json.key("turn").unsigned_integer(row.turn);
    }
}
/// Writes one element of `after`: a row that this one waits for, by its number in the file.
void write_canonical_wait(JsonWriter& json, std::uint32_t on, Trigger trigger,
                          std::int64_t delay_ns);

}  // namespace driftless
