// Blocks of system prompt and tools: as declared, or as the first requests of a tree show, and of
// every row that begins with them.
#include "engine/plan/system_blocks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

struct Rows {
    Trace trace;

    Rows() {
        trace.block_size = 16;
        trace.name_spaces = 2;
    }
    Rows& row(std::uint32_t session, const std::vector<std::uint64_t>& ids, std::uint32_t declared,
              std::uint32_t name_space = 0) {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.session = session;
        row.name_space = name_space;
        row.at_ns = row.index;
        row.ids_begin = trace.ids.size();
        row.ids_count = static_cast<std::uint32_t>(ids.size());
        row.input_length = row.ids_count * 16 + 3;
        row.output_length = 1;
        while (trace.sessions.size() <= session) {
            trace.sessions.push_back(std::to_string(trace.sessions.size()));
        }
        trace.ids.append(ids);
        trace.rows.push_back(row);
        trace.system_tokens.push_back(declared);
        return *this;
    }
    std::vector<std::uint32_t> blocks() const {
        return system_blocks(trace, make_plan(trace, {}).value()).blocks;
    }
};

using Blocks = std::vector<std::uint32_t>;

// Whole blocks alone, and none that a row does not have.
TEST(SystemBlocks, AreTheDeclaredOnes) {
    EXPECT_EQ(Rows().row(0, {1, 2, 3, 4}, 35).row(0, {1, 2, 3, 4, 5}, 35).blocks(), (Blocks{2, 2}));
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 15).blocks(), Blocks{0});
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 16).blocks(), Blocks{1});
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 1000).blocks(), Blocks{3});
    EXPECT_EQ(Rows().row(0, {}, 1000).blocks(), Blocks{0});
}

// A row that parts from them earlier shares what it has of them; in another namespace ids mean
// something else.
TEST(SystemBlocks, AreThoseOfEveryRowThatBeginsWithThem) {
    Rows rows;
    rows.row(0, {1, 2, 3, 4}, 48).row(1, {1, 2, 9}, 0).row(2, {9, 1, 2}, 0);
    rows.row(3, {1, 2, 3}, 0, 1);
    EXPECT_EQ(rows.blocks(), (Blocks{3, 2, 0, 0}));
}

// Of what is declared and what is seen the longer one holds; one session alone shows nothing.
TEST(SystemBlocks, AreWhatATreeShows) {
    Rows rows;
    rows.row(0, {1, 2, 3, 4}, 16).row(1, {1, 2, 3, 5}, 0).row(0, {1, 2, 3, 4, 6}, 16);
    EXPECT_EQ(rows.blocks(), (Blocks{1, 1, 1})) << "two trees";
    rows.trace.dependencies.push_back({1, 0, Trigger::completion, 0});
    EXPECT_EQ(rows.blocks(), (Blocks{3, 3, 3}));
    const SystemBlocks found = system_blocks(rows.trace, make_plan(rows.trace, {}).value());
    EXPECT_EQ(found.rows, 3u);
    EXPECT_EQ(found.most, 3u);
}

}  // namespace
}  // namespace driftless
