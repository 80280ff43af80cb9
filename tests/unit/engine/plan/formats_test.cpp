// Every format as it is found, and real traces.

#include "engine/plan/trace_file.hpp"
#include "tests/unit/engine/plan/read_files.hpp"

namespace driftless {

// Every small trace in tests/data/traces is detected as what it is, with the choices printed; those
// that must not be replayed are refused with what they are and what to do.

namespace {

FilesRead read(TraceFiles files, const std::string& name) {
    files.paths = {TEST_DATA "/traces/" + name};
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
    TraceFiles files{.sessions = Sessions::open};
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

TEST(Formats, AreRefusedWithTheRemedyAndTakeTheScopeOfIds) {
    for (const Refused& one : refused) {
        const FilesRead got = read({}, one.name);
        EXPECT_FALSE(got.usable) << one.name;
        EXPECT_TRUE(says(got.first_error(), one.what));
        EXPECT_TRUE(says(got.first_error(), one.remedy));
    }
    // What the user states is not in doubt.
    EXPECT_EQ(read(TraceFiles{.time_unit = "s"}, "refused/seconds.jsonl").sound().rows[1].at_ns,
              1'250'000'000);
    EXPECT_TRUE(read(TraceFiles{.block_size = 16}, "refused/block_16.jsonl").usable);
    // --hash-scope goes before the format's own word.
    const auto name_spaces = [](IdScope scope, const char* name) {
        const FilesRead got = read(TraceFiles{.sessions = Sessions::open, .id_scope = scope}, name);
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

// Real traces have the figures that their publishers, or independent programs, counted.

namespace fs = std::filesystem;

FilesRead read(const std::string& path, Sessions sessions = Sessions::recorded) {
    return read_files({.paths = {path}, .sessions = sessions});
}

std::string shared(const std::string& name) {
    return std::string(SHARED_DATA) + "/traces/" + name;
}

struct Lengths {
    std::vector<std::uint32_t> sorted;
    double mean = 0;

    std::uint32_t at(std::size_t percent) const {  // nearest rank
        return sorted[(sorted.size() * percent + 99) / 100 - 1];
    }
};

Lengths lengths_of(const Trace& trace, std::uint32_t TraceRow::* field) {
    Lengths lengths;
    for (const TraceRow& row : trace.rows) {
        lengths.sorted.push_back(row.*field);
        lengths.mean += row.*field;
    }
    lengths.mean /= static_cast<double>(trace.rows.size());
    std::sort(lengths.sorted.begin(), lengths.sorted.end());
    return lengths;
}

// CRLF, no final newline, seven digits: the figures of a measurement by another program.
TEST(RealTraces, AzureCodeOf2023) {
    if (!fs::exists(shared("azure_2023_code.csv"))) {
        GTEST_SKIP() << "the Azure trace is not there";
    }
    const Trace trace = read(shared("azure_2023_code.csv")).sound();
    EXPECT_EQ(trace.bytes, 320'117U);
    ASSERT_EQ(trace.rows.size(), 8'819U);
    EXPECT_NEAR(static_cast<double>(trace.rows.back().at_ns) / 1e9, 3435.95, 0.005);
    EXPECT_EQ(std::tuple(trace.rows_unsorted, trace.zero_outputs), std::tuple(0U, 0U));
    EXPECT_EQ(trace.rows.front().input_length, 4808U);
    EXPECT_EQ(trace.rows.back().input_length, 549U);
    EXPECT_EQ(trace.rows.back().output_length, 173U);
    const Lengths input = lengths_of(trace, &TraceRow::input_length);
    EXPECT_EQ(std::tuple(input.sorted.front(), input.at(50)), std::tuple(3U, 1469U));
    EXPECT_EQ(std::tuple(input.at(90), input.at(99)), std::tuple(5194U, 7436U));
    EXPECT_EQ(input.sorted.back(), 7437U);
    EXPECT_NEAR(input.mean, 2047.8, 0.05);
    const Lengths output = lengths_of(trace, &TraceRow::output_length);
    EXPECT_EQ(std::tuple(output.sorted.front(), output.at(50)), std::tuple(6U, 13U));
    EXPECT_EQ(std::tuple(output.at(90), output.at(99)), std::tuple(55U, 252U));
    EXPECT_EQ(output.sorted.back(), 1899U);
    EXPECT_NEAR(output.mean, 27.9, 0.05);
}

class RealConversations : public testing::Test {
  protected:
    void SetUp() override {
        if (!fs::exists(shared("weka"))) {
            GTEST_SKIP() << "the Weka conversations are not there";
        }
    }
};

/// Tokens and sub-agents as each file's `totals` say, which the reader does not look at; rows and
/// ids as another program counted them.
struct Conversation {
    const char* file;
    std::size_t rows;
    std::uint64_t input_tokens;
    std::uint64_t output_tokens;
    std::size_t subagents;
    std::size_t ids;
};
constexpr Conversation conversations[] = {
    {"trace_0001.json", 41, 4'873'373, 27'119, 0, 76'127},
    {"trace_0091.json", 10, 1'284'267, 1'447, 0, 20'061},
    {"trace_0103.json", 3, 49'384, 618, 0, 771},
    {"trace_0277.json", 53, 2'576'410, 31'862, 4, 40'230},
    {"trace_0279.json", 90, 8'140'469, 45'386, 2, 127'153},
    {"trace_0291.json", 32, 2'254'119, 19'504, 2, 35'209},
    {"trace_0295.json", 416, 36'192'797, 233'225, 8, 565'303},
};

TEST_F(RealConversations, HaveTheirTotals) {
    for (const Conversation& one : conversations) {
        const Trace trace = read(shared(std::string("weka/") + one.file), Sessions::open).sound();
        EXPECT_EQ(trace.rows.size(), one.rows) << one.file;
        EXPECT_EQ(trace.ids.size(), one.ids) << one.file;
        std::uint64_t input = 0;
        std::uint64_t output = 0;
        for (const TraceRow& row : trace.rows) {
            input += row.input_length;
            output += row.output_length;
        }
        EXPECT_EQ(input, one.input_tokens) << one.file;
        EXPECT_EQ(output - trace.zero_outputs, one.output_tokens) << one.file;
        EXPECT_EQ(trace.sessions.size(), 1 + one.subagents) << one.file;
        EXPECT_EQ(trace.tail_rule, TailRule::floor) << one.file;
    }
}

/// How the ids of consecutive requests of a conversation relate.
struct Steps {
    std::size_t pairs = 0;
    std::size_t prefixes = 0;  ///< what they have in common is their common beginning
    std::size_t appended = 0;  ///< the first is a whole prefix of the second
    std::size_t diverged = 0;  ///< both go on, differently
    std::size_t tails = 0;     ///< .. in the last block of the first
    std::size_t shrunk = 0;    ///< the second has fewer
    bool operator==(const Steps&) const = default;
};

void add_step(const Trace& trace, const TraceRow& before, const TraceRow& row, Steps& steps) {
    std::set<std::uint64_t> old;
    for (std::size_t at = 0; at < before.ids_count; ++at) {
        old.insert(trace.ids[before.ids_begin + at]);
    }
    std::size_t common = 0;
    std::size_t prefix = 0;
    for (std::size_t at = 0; at < row.ids_count; ++at) {
        const std::uint64_t id = trace.ids[row.ids_begin + at];
        common += old.contains(id) ? 1 : 0;
        prefix += prefix == at && at < before.ids_count && trace.ids[before.ids_begin + at] == id;
    }
    const bool both = prefix < before.ids_count && prefix < row.ids_count;
    ++steps.pairs;
    steps.prefixes += common == prefix ? 1 : 0;
    steps.appended += prefix == before.ids_count && prefix < row.ids_count ? 1 : 0;
    steps.diverged += both ? 1 : 0;
    steps.tails += both && prefix + 1 == before.ids_count ? 1 : 0;
    steps.shrunk += row.ids_count < before.ids_count ? 1 : 0;
}

// The structure that prompts are made of: ids are prefixes, every block is whole, and each request
// of a conversation begins with its first id. Counted by another program from the files.
TEST_F(RealConversations, HaveIdsThatArePrefixes) {
    const Trace trace = read(shared("weka"), Sessions::open).sound();
    EXPECT_EQ(std::tuple(trace.files.size(), trace.name_spaces), std::tuple(12U, 12U));
    EXPECT_EQ(std::tuple(trace.rows.size(), trace.ids.size()), std::tuple(663U, 869'388U));
    EXPECT_EQ(std::tuple(trace.zero_outputs, trace.unknown_keys), std::tuple(1U, 0U));
    EXPECT_EQ(trace.rows.back().at_ns, 22'423'000'000'000);
    Steps steps;
    std::size_t whole = 0;
    std::size_t first = 0;
    std::size_t exact = 0;
    std::map<std::uint32_t, const TraceRow*> last;  // [session] of conversations
    for (const TraceRow& row : trace.rows) {
        whole += row.ids_count == row.input_length / 64 ? 1 : 0;
        if (trace.sessions[row.session].find('/') != std::string::npos) {
            continue;  // a sub-agent
        }
        exact += row.input_length % 64 == 0 ? 1 : 0;
        first += trace.ids[row.ids_begin] == 1 ? 1 : 0;
        const TraceRow*& before = last[row.session];
        if (before != nullptr) {
            add_step(trace, *before, row, steps);
        }
        before = &row;
    }
    EXPECT_EQ(std::tuple(whole, first, exact), std::tuple(663U, 501U, 11U));
    EXPECT_EQ(steps, (Steps{489, 489, 450, 39, 22, 5}));
}

// Under closed sessions agents that were recorded in one line are apart: the requests of each
// chain, as AIPerf's weka_agent_chains counts them. In no other of the twelve conversations are
// there any.
TEST_F(RealConversations, TellAgentsInOneLineApart) {
    const Trace trace = read(shared("weka"), Sessions::closed).sound();
    std::map<std::string, std::uint32_t> rows;
    for (const TraceRow& row : trace.rows) {
        const std::string& session = trace.sessions[row.session];
        rows[session] +=
            session.starts_with("trace_0295") && session.find('/') == std::string::npos ? 1 : 0;
    }
    std::erase_if(rows, [](const auto& one) {
        return one.second == 0 && one.first.find("::fa:") == std::string::npos;
    });
    EXPECT_EQ(rows, (std::map<std::string, std::uint32_t>{{"trace_0295", 257},
                                                          {"trace_0295::fa:000", 1},
                                                          {"trace_0295::fa:001", 16},
                                                          {"trace_0295::fa:002", 2},
                                                          {"trace_0295::fa:003", 48}}));
}

}  // namespace
}  // namespace driftless
