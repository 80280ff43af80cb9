// A folder stands for its traces in numeric order; names lose folder and endings.
#include "engine/input/paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

namespace driftless {
namespace {

// Runs of digits compare as numbers; all else by bytes; the order is strict.
TEST(Paths, OrderNumbersAsNumbers) {
    const std::vector<std::string> sorted = {"",      "10.jsonl", "a",    "a1",   "a2", "a02b",
                                             "a2b",   "a10",      "a10a", "a11",  "b",  "b9x1",
                                             "b9x10", "b09x11",   "c00",  "c0001"};
    std::vector<std::string> shuffled = sorted;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
    std::sort(shuffled.begin(), shuffled.end(), numeric_less);
    EXPECT_EQ(shuffled, sorted);
    EXPECT_TRUE(numeric_less("t_99999999999999999999", "t_100000000000000000000"));
    EXPECT_FALSE(numeric_less("a1", "a1"));
}

// The trace's name is what its run folder will be called.
TEST(Paths, NameTraces) {
    EXPECT_EQ(trace_name("/data/conversation_trace.jsonl"), "conversation_trace");
    EXPECT_EQ(trace_name("x.y.jsonl.zst"), "x.y");
    EXPECT_EQ(trace_name("plain"), "plain");
    EXPECT_EQ(trace_name("weka/"), "weka");
    EXPECT_EQ(trace_name("-"), "stdin");
    EXPECT_EQ(trace_name(".jsonl"), ".jsonl");
    EXPECT_EQ(trace_name("/"), "trace");
}

// Of a folder: files with the endings of traces, compressed or not, no hidden ones, no folders.
TEST(Paths, ExpandFolders) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(testing::TempDir()) / "driftless_paths_test";
    fs::remove_all(folder);
    fs::create_directories(folder / "sub.jsonl");
    EXPECT_EQ(expand_path(folder.string()).error().code, ErrorCode::missing);
    for (const char* name : {"t_10.jsonl", "t_9.jsonl.gz", "README.md", ".t_1.jsonl", "b.csv"}) {
        std::ofstream(folder / name) << "x";
    }
    const auto paths = expand_path(folder.string() + "/");
    ASSERT_TRUE(paths);
    EXPECT_EQ(paths.value(), (std::vector<std::string>{(folder / "b.csv").string(),
                                                       (folder / "t_9.jsonl.gz").string(),
                                                       (folder / "t_10.jsonl").string()}));
    EXPECT_EQ(expand_path("-").value(), std::vector<std::string>{"-"});
    EXPECT_EQ(expand_path("/no/such").value(), std::vector<std::string>{"/no/such"});
    fs::remove_all(folder);
}

}  // namespace
}  // namespace driftless
