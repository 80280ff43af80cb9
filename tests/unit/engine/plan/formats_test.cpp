// Every small trace in tests/data/traces is detected as what it is, with the choices printed; those
// that must not be replayed are refused with what they are and what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/plan/trace_file.hpp"
#include "tests/unit/engine/plan/read_files.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string path_of(const std::string& name) {
    return std::string(TEST_DATA) + "/traces/" + name;
}

FilesRead read(TraceFiles files, const std::string& name) {
    files.paths = {path_of(name)};
    return read_files(files);
}

struct Detected {
    const char* name;
    std::size_t rows;
    const char* choice;
    const char* note;  ///< another one that must be there
};
constexpr Detected detected[] = {
    {"mooncake.jsonl", 3,
     "format mooncake, times in ms, blocks of 512 tokens, partial blocks have ids",
     "1 output length of 0 taken as 1"},
    {"qwen.jsonl", 3, "format qwen, times in s, blocks of 16 tokens, partial blocks have ids",
     "2 sessions"},
    {"weka", 6, "format weka, times in s, blocks of 64 tokens, partial blocks have none",
     "2 files: equal block ids of different files share nothing"},
    {"weka_ceil.jsonl", 4, "format weka, times in s, blocks of 64 tokens, partial blocks have ids",
     "2 conversations whose partial blocks also have ids"},
    {"azure_2023.csv", 2, "format azure, times in iso, no block ids", "span 0.250 s"},
    {"azure_2024.csv", 3, "format azure, times in iso", "span 1.000 s"},
    {"azure_2025.csv", 2, "format azure, times in iso", "1 row with images, which are not sent"},
    {"azure_lower.csv", 2, "format azure, times in iso", "span 0.250 s"},
    {"azure_headerless.csv", 2, "format azure, times in iso",
     "1 file without a CSV header, read as Azure's time, input and output"},
    {"vidur.csv", 3, "format vidur, times in s, no block ids", "span 5.892 s"},
    {"aibrix.jsonl", 3, "format aibrix, times in ms, no block ids", "1 session"},
    {"burstgpt_6.csv", 2, "format burstgpt, times in s", "1 failed request (no tokens) dropped"},
    {"burstgpt_8.csv", 3, "format burstgpt, times in s", "1 session"},
    {"dynamo.jsonl", 2, "format dynamo, times in ms, blocks of 16 tokens", "1 tool event skipped"},
    {"agentic_mooncake.jsonl", 3, "format agentic-mooncake, times in ms, blocks of 64 tokens",
     "span 0.400 s"},
    {"aiperf_text.jsonl", 5, "format mooncake, times in ms",
     "4 rows have no recorded prompt length"},
    {"lmcache.jsonl", 3, "format lmcache, times in s", "span 1.250 s"},
    {"../../golden/traces/mlperf.jsonl", 13, "format mlperf-agentic, times in s, no block ids",
     "13 recorded requests, with text"},
    {"../../golden/traces/tensorrt", 17,
     "format tensorrt-llm, times in ms, blocks of 16 tokens, partial blocks have ids",
     "3 drops of the KV cache, which are not sent"},
    {"../../golden/traces/semianalysis", 10, "blocks of 64 tokens, partial blocks have ids",
     "2 conversations whose partial blocks also have ids"},
    {"../../golden/traces/talks/sharegpt.json", 6, "format sharegpt, times in s, no block ids",
     "6 recorded requests, with text"},
    {"../../golden/traces/talks/vllm.json", 6, "format vllm-multi-turn", "3 sessions"},
    {"../../golden/traces/talks/isb1.json", 6, "format isb1, times in ms",
     "3 cells with the same conversations as other cells: left out"},
    {"../../golden/traces/talks/live.jsonl", 6, "format mooncake, times in ms",
     "6 rows have only new messages"},
    {"../../golden/traces/talks/multi_turn.jsonl", 6, "format aiperf-multi-turn, times in ms",
     "6 rows have only new messages"},
    {"../../golden/traces/talks/sglang.json", 6, "format sglang-agentic",
     "6 rows have only new messages"},
    {"workload.jsonl", 3, "format workload, times in s",
     "1 row with its own headers, which are sent only with replay --keep headers.NAME "
     "--header \"NAME: {kept.headers.NAME}\""},
};

TEST(Formats, AreDetected) {
    TraceFiles files;
    files.sessions = Sessions::open;
    for (const Detected& one : detected) {
        const FilesRead got = read(files, one.name);
        ASSERT_TRUE(got.usable) << one.name << ": " << got.first_error();
        EXPECT_EQ(got.trace.rows.size(), one.rows) << one.name;
        EXPECT_TRUE(got.has_note(one.choice)) << one.name << ": " << got.notes[0];
        EXPECT_TRUE(got.has_note(one.note)) << one.name << ": " << one.note;
    }
}

struct Refused {
    const char* name;
    const char* what;
    const char* remedy;
};
constexpr Refused refused[] = {
    {"refused/ragpulse.jsonl", "a RAGPulse trace",
     "prompts cannot be built from it; use another trace"},
    {"refused/sharegpt.json", "conversations, which have no arrival times", "--dataset FILE"},
    {"refused/servegen_trace.csv", "ServeGen's parameters", "--map time=timestamp,in=input_tokens"},
    {"refused/servegen_dataset.json", "ServeGen's parameters", "run ServeGen"},
    {"refused/parquet.parquet", "a Parquet file", "read_parquet"},
    {"refused/arrow.arrow", "an Arrow file", "read_feather"},
    {"refused/seconds.jsonl", "it may be in milliseconds, as in Mooncake traces, or in seconds",
     "--time-unit s or"},
    {"refused/many_logs.jsonl", "does not have the keys of a known format",
     "--map time=timestamp,in=input_tokens,out=output_tokens"},
    {"refused/block_16.jsonl", "contradict blocks of 512 tokens in 2 of 3 rows",
     "use --block-size 16"},
    {"weka", "conversations, which have no arrival times", "--sessions open"},
    {"lmcache.jsonl", "it is not an arrival time", "--sessions open"},
    {"../../golden/traces/mlperf.jsonl", "conversations, which have no arrival times",
     "--sessions closed"},
    {"../../golden/traces/tensorrt", "runs of agents, which have no arrival times",
     "--sessions closed"},
    {"any.csv", "is not the CSV header of a known format", "--map time=COLUMN"},
};

TEST(Formats, AreRefusedWithTheRemedy) {
    for (const Refused& one : refused) {
        const FilesRead got = read({}, one.name);
        EXPECT_FALSE(got.usable) << one.name;
        EXPECT_TRUE(says(got.first_error(), one.what));
        EXPECT_TRUE(says(got.first_error(), one.remedy));
    }
}

// What the user states is not in doubt.
TEST(Formats, TakeTheUsersWord) {
    TraceFiles files;
    files.time_unit = "s";
    const FilesRead seconds = read(files, "refused/seconds.jsonl");
    ASSERT_TRUE(seconds.usable) << seconds.first_error();
    EXPECT_EQ(seconds.trace.rows[1].at_ns, 1'250'000'000);
    TraceFiles blocks;
    blocks.block_size = 16;
    EXPECT_TRUE(read(blocks, "refused/block_16.jsonl").usable);
}

// --hash-scope goes before the format's own word.
TEST(Formats, TakeTheScopeOfIds) {
    const auto name_spaces = [](IdScope scope, const char* name) {
        TraceFiles files{.sessions = Sessions::open, .id_scope = scope};
        const FilesRead got = read(files, name);
        EXPECT_TRUE(got.usable) << got.first_error();
        return got.trace.name_spaces;
    };
    EXPECT_EQ(name_spaces(IdScope::format, "weka"), 2U);
    EXPECT_EQ(name_spaces(IdScope::all, "weka"), 1U);
    EXPECT_EQ(name_spaces(IdScope::file, "weka_ceil.jsonl"), 1U);
    EXPECT_EQ(name_spaces(IdScope::format, "weka_ceil.jsonl"), 2U);
    EXPECT_EQ(name_spaces(IdScope::session, "qwen.jsonl"), 2U);
    EXPECT_EQ(name_spaces(IdScope::session, "mooncake.jsonl"), 1U);
    EXPECT_EQ(name_spaces(IdScope::file, "agentic_mooncake.jsonl"), 1U);
}

}  // namespace
}  // namespace driftless
