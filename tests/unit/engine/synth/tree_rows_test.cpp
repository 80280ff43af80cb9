// Conversations and trees of agents keep their laws: prompts grow, waits come before, no more
// sub-agents than may run at a time.
#include "engine/synth/tree_rows.hpp"

#include <map>
#include <set>

#include "tests/unit/engine/synth/made.hpp"

namespace driftless {
namespace {

/// Session of the parent: "agent-3/2/1" has "agent-3/2".
std::string parent_of(const std::string& session) {
    return session.substr(0, session.rfind('/'));
}

bool begins_with(const std::vector<std::uint64_t>& ids, const std::vector<std::uint64_t>& head) {
    return ids.size() >= head.size() && std::equal(head.begin(), head.end(), ids.begin());
}

/// What holds for all rows of every kind of tree.
void check_rows(const std::vector<SynthRow>& rows, std::uint32_t block_size) {
    std::map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const SynthRow& row = rows[i];
        ASSERT_TRUE(i == 0 || rows[i - 1].at_ns <= row.at_ns);
        ASSERT_EQ(row.ids.size(), row.input_length / block_size);
        for (const SynthWait& wait : row.waits) {
            ASSERT_LT(wait.row, i);
        }
        const auto before = last.find(row.session);
        if (before == last.end()) {
            ASSERT_EQ(row.turn, 1U);
            ASSERT_EQ(row.turn_before, no_row);
        } else {
            ASSERT_EQ(row.turn, rows[before->second].turn + 1);
            ASSERT_EQ(row.turn_before, before->second);
            ASSERT_EQ(row.waits[0].row, before->second);
        }
        last[row.session] = i;
    }
}

TEST(TreeRows, MakeConversationsThatGrow) {
    const auto rows = made_rows(
        "chat --sessions 20 --turns uniform:2..6 --system 100 --in 50 --growth 30 --out-tokens 20 "
        "--gap 2s --token-time 10ms");
    check_rows(rows, 16);
    for (const SynthRow& row : rows) {
        EXPECT_EQ(row.input_length, 150U + 50 * (row.turn - 1));
        EXPECT_EQ(row.ids[5], 5U);  // the system prompt: 6 blocks
        if (row.turn > 1) {
            const SynthRow& before = rows[row.turn_before];
            EXPECT_TRUE(begins_with(row.ids, before.ids));
            EXPECT_EQ(row.waits[0].delay_ns, 2'000'000'000);
            EXPECT_EQ(row.at_ns, before.at_ns + 20 * 10'000'000 + 2'000'000'000);
        }
    }
}

TEST(TreeRows, EndASessionThatOutgrowsItsContext) {
    for (const SynthRow& row : made_rows("chat --sessions 5 --turns 50 --max-context 2000")) {
        EXPECT_LE(row.input_length, 2000U);
    }
}

TEST(TreeRows, MakeSubAgentsThatTheirParentJoins) {
    const auto rows = made_rows(
        "agents --trees 10 --turns 6 --sub-turns uniform:1..3 --depth 2 --spawn 0.4 --fan-out "
        "uniform:1..7 --parallel 3");
    check_rows(rows, 16);
    std::set<std::size_t> joined;
    std::map<std::string, std::size_t> last;
    int sub_agents = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const SynthRow& row = rows[i];
        const bool root = parent_of(row.session) == row.session;
        if (row.turn == 1 && !root) {
            ++sub_agents;
            EXPECT_EQ(rows[row.waits[0].row].session, parent_of(row.session));
        }
        for (const SynthWait& wait : row.waits) {
            if (parent_of(rows[wait.row].session) == row.session) {
                joined.insert(wait.row);
            }
        }
        last[row.session] = i;
    }
    EXPECT_GT(sub_agents, 50);
    for (const auto& [session, row] : last) {  // every sub-agent's last row is waited for
        if (parent_of(session) != session) {
            EXPECT_TRUE(joined.contains(row)) << session;
        }
    }
}

TEST(TreeRows, KeepToTheNumberOfSubAgentsAtATime) {
    const auto rows = made_rows(
        "agents --trees 1 --turns 2 --sub-turns 1 --spawn 1 --fan-out 10 --parallel 4 --out-tokens "
        "50 --token-time 10ms");
    std::map<std::int64_t, int> at_a_time;
    for (const SynthRow& row : rows) {
        at_a_time[row.at_ns] += row.turn == 1 && row.session != "agent-0" ? 1 : 0;
    }
    EXPECT_EQ(at_a_time[500'000'000], 4);
    EXPECT_EQ(at_a_time[1'000'000'000], 4);
    EXPECT_EQ(at_a_time[1'500'000'000], 2);
    EXPECT_EQ(rows.back().session, "agent-0");
    EXPECT_EQ(rows.back().waits.size(), 11U);
}

TEST(TreeRows, SumUpAContextThatIsFull) {
    const auto rows = made_rows(
        "stress compaction --sessions 1 --turns 30 --system 160 --in 100 --growth 100 --out-tokens "
        "60 --compact-at 1000 --summary 200 --block-size 10");
    check_rows(rows, 10);
    int summaries = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i - 1].input_length > 1000) {
            ++summaries;
            EXPECT_EQ(rows[i - 1].output_length, 200U);
            EXPECT_EQ(rows[i].input_length, 160U + 200 + 100);
            EXPECT_EQ(rows[i].ids[15], 15U);
            EXPECT_NE(rows[i].ids[16], rows[i - 1].ids[16]);
        } else {
            EXPECT_TRUE(begins_with(rows[i].ids, rows[i - 1].ids));
        }
    }
    EXPECT_EQ(summaries, static_cast<int>(rows.size()) - 30);
    EXPECT_GE(summaries, 5);
}

TEST(TreeRows, FanOutFromOnePrompt) {
    const auto rows = made_rows(
        "stress fan-out --groups 1 --in 160 --suffix 32 --fan-out 5 --out-tokens 16 --token-time "
        "10ms");
    ASSERT_EQ(rows.size(), 7U);
    for (std::size_t i = 1; i < 6; ++i) {
        EXPECT_TRUE(begins_with(rows[i].ids, rows[0].ids));
        EXPECT_EQ(rows[i].input_length, 160U + 16 + 32);
        EXPECT_EQ(rows[i].at_ns, rows[1].at_ns);
        EXPECT_EQ(rows[i].waits.size(), 1U);
    }
    EXPECT_NE(rows[1].ids[10], rows[2].ids[10]);
}

TEST(TreeRows, ComeBackAfterALongTime) {
    const auto rows = made_rows(
        "stress reactivation --sessions 3 --after 10m --turns 2 --in 160 --out-tokens 10 --rate "
        "inf");
    ASSERT_EQ(rows.size(), 6U);
    for (std::size_t i = 3; i < 6; ++i) {
        EXPECT_EQ(rows[i].waits[0].delay_ns, 600'000'000'000);
        EXPECT_TRUE(begins_with(rows[i].ids, rows[i - 3].ids));
    }
}

}  // namespace
}  // namespace driftless
