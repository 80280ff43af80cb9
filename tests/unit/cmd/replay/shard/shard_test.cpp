// Shard: caps are shared out to the last one, and files have names of their own.
#include "cmd/replay/shard/shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace driftless {
namespace {

ReplayCommandLine line_of(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"trace.jsonl", "--url", "http://h:1"});
    ReplayCommandLine line = parse_replay_options(flags, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return line;
}

TEST(Shard, SharesCapsOut) {
    std::uint64_t inflight = 0;
    std::uint64_t tokens = 0;
    for (const char* part : {"0/3", "1/3", "2/3"}) {
        ReplayCommandLine line =
            line_of({"--shard", part, "--max-inflight", "8", "--budget-input", "1001/s"});
        EXPECT_EQ(settle_shard({}, false, line), "");
        inflight += *line.options.sending.inflight_max;
        tokens += line.options.sending.budget_input->rate.tokens;
    }
    EXPECT_EQ(inflight, 8U);
    EXPECT_EQ(tokens, 1001U);
    for (const char* cap : {"3", "4"}) {
        ReplayCommandLine line = line_of({"--shard", "2/3", "--max-inflight", cap});
        EXPECT_EQ(settle_shard({}, false, line), "");
        EXPECT_EQ(line.options.sending.inflight_max, 1U);
    }
    ReplayCommandLine low = line_of({"--shard", "2/3", "--max-inflight", "2"});
    EXPECT_NE(settle_shard({}, false, low).find("--max-inflight is 2"), std::string::npos);
}

TEST(Shard, KeepsWhatTheEnvironmentSaid) {
    const Variables variables{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}};
    const auto keeps = [](const ReplayCommandLine& line) {
        return std::count(line.arguments.begin(), line.arguments.end(), "--shard=1/4") == 1;
    };
    ReplayCommandLine found = line_of({"-o", "out"});
    EXPECT_EQ(settle_shard(variables, false, found), "");
    EXPECT_TRUE(keeps(found));
    EXPECT_EQ(found.options.shard.from, "SLURM_PROCID");
    EXPECT_EQ(found.options.results.out, "out/shard-1");
    ReplayCommandLine taken_up = line_of({});
    EXPECT_EQ(settle_shard(variables, true, taken_up), "");
    EXPECT_FALSE(taken_up.options.shard.any());
    ReplayCommandLine none = line_of({"--shard", "none"});
    EXPECT_EQ(settle_shard(variables, false, none), "");
    EXPECT_FALSE(none.options.shard.any());
}

TEST(Shard, NamesFilesOfItsOwn) {
    EXPECT_EQ(file_of_shard("", 1), "");
    EXPECT_EQ(file_of_shard("rows", 1), "rows-shard-1");
    EXPECT_EQ(file_of_shard("a.b/bodies.jsonl.gz", 12), "a.b/bodies-shard-12.jsonl.gz");
    EXPECT_EQ(file_of_shard("/x/.hidden", 0), "/x/.hidden-shard-0");
}

}  // namespace
}  // namespace driftless
