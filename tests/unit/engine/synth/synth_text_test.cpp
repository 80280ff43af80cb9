// The bytes of each kind, which are the same on every machine, and what formats cannot hold.
#include "engine/synth/synth_text.hpp"

#include <fstream>

#include "tests/unit/engine/synth/made.hpp"

namespace driftless {
namespace {

struct Golden {
    const char* file;
    const char* line;
};
constexpr Golden golden[] = {
    {"random", "random --rows 6 --in normal:512:100 --out-tokens lognormal:128:0.8 --seed 1"},
    {"prefix",
     "prefix --rows 6 --groups 3 --prefix 70 --suffix uniform:10..40 --popularity zipf:1"},
    {"chat", "chat --sessions 3 --turns 2 --system 40 --in exponential:50 --growth 16 --seed 2"},
    {"agents",
     "agents --trees 1 --turns 3 --sub-turns 2 --system 64 --sub-system 32 --in 20 --growth 16 "
     "--out-tokens 30 --spawn 0.7 --compact-at 200 --summary 40 --seed 3"},
    {"reuse", "stress reuse --rows 4 --in 64 --working-set 128 --hit 50"},
    {"working_set", "stress working-set --in 32 --working-set 32..64 --steps 2 --rounds 2"},
    {"offload", "stress offload --in 32 --capacity 100 --rounds 2"},
    {"compaction",
     "stress compaction --sessions 1 --turns 5 --system 16 --in 64 --growth 16 --out-tokens 16 "
     "--compact-at 128 --summary 16"},
    {"reactivation", "stress reactivation --sessions 2 --in 64 --after uniform:1m..2m"},
    {"fan_out", "stress fan-out --groups 1 --in 64 --suffix 16 --fan-out 3 --rate 600/m"},
    {"mooncake",
     "agents --trees 1 --turns 2 --sub-turns 1 --system 600 --in 20 --growth 16 "
     "--spawn 1 --fan-out 1 --to mooncake"},
};

/// `driftless synth LINE > tests/data/synth/FILE.jsonl` wrote them.
TEST(SynthText, IsTheSameEverywhere) {
    for (const Golden& one : golden) {
        std::ifstream file(std::string(TEST_DATA "/synth/") + one.file + ".jsonl");
        std::ostringstream text;
        text << file.rdbuf();
        EXPECT_EQ(made_text(one.line), text.str()) << one.file;
    }
}

TEST(SynthText, DiffersWithTheSeed) {
    for (const char* kind : {"random", "prefix", "chat --sessions 3", "agents --trees 2",
                             "stress reuse --rows 9", "stress working-set"}) {
        EXPECT_NE(made_text(std::string(kind) + " --seed 8"),
                  made_text(std::string(kind) + " --seed 9"))
            << kind;
    }
}

TEST(SynthText, IsReadAsItWasMade) {
    const std::string line = "agents --trees 5 --turns 8 --spawn 0.3 --gap exponential:2s";
    const auto rows = made_rows(line);
    const Trace trace = made_trace(line);
    EXPECT_EQ(trace.format, "canonical");
    EXPECT_EQ(trace.block_size, 16U);
    EXPECT_EQ(trace.tail_rule, TailRule::floor);
    EXPECT_EQ(trace.rows_unsorted, 0U);
    ASSERT_EQ(trace.rows.size(), rows.size());
    std::size_t waits = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(trace.rows[i].at_ns, rows[i].at_ns);
        EXPECT_EQ(trace.rows[i].input_length, rows[i].input_length);
        EXPECT_EQ(trace.rows[i].output_length, rows[i].output_length);
        EXPECT_EQ(trace.sessions[trace.rows[i].session], rows[i].session);
        const BlockIdSpan ids = trace.ids_of(trace.rows[i]);
        EXPECT_TRUE(std::equal(ids.begin(), ids.end(), rows[i].ids.begin(), rows[i].ids.end()));
        waits += rows[i].waits.size();
    }
    EXPECT_EQ(trace.dependencies.size(), waits);
}

TEST(SynthText, FitsMooncake) {
    const std::string line = "chat --sessions 4 --gap 2s --to mooncake --arrivals constant";
    const Trace trace = made_trace(line);
    EXPECT_EQ(trace.format, "mooncake");
    const auto rows = made_rows(line);
    ASSERT_EQ(trace.rows.size(), rows.size());
    std::size_t waits = 0;
    for (const SynthRow& row : rows) {
        waits += row.waits.size();
    }
    EXPECT_EQ(trace.dependencies.size(), waits);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 2'000'000'000);
}

TEST(SynthText, NamesWhatMooncakeLoses) {
    const SynthOptions options =
        synth_options("agents --trees 1 --turns 2 --spawn 1 --to mooncake --block-size 64");
    SynthText text(options.spec, options.name, *options.target);
    std::string all;
    while (text.next(all)) {
    }
    const std::vector<std::string> losses = text.losses();
    ASSERT_EQ(losses.size(), 3U);
    EXPECT_NE(losses[0].find("--block-size 64"), std::string::npos);
    EXPECT_NE(losses[1].find("for something other than"), std::string::npos);
    EXPECT_NE(losses[2].find("fraction"), std::string::npos);
}

}  // namespace
}  // namespace driftless
