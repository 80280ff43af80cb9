// A sweep goes on only with the traces that it began with.
#include "cmd/cells/kept_traces.hpp"

#include <gtest/gtest.h>

#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

TEST(KeptTraces, AreKnownByTheirBytes) {
    const ScratchFolder folder;
    const std::string one = folder.write("one.jsonl", "a\n");
    const std::string other = folder.write("other.jsonl", "b\n");
    std::string path;
    const Result<std::vector<KeptTrace>> kept = keep_traces({one, other, one}, path);
    ASSERT_TRUE(kept);
    ASSERT_EQ(kept.value().size(), 2U);
    EXPECT_EQ(changed_trace(kept.value()), "");
    (void)folder.write("other.jsonl", "c\n");
    EXPECT_EQ(changed_trace(kept.value()), other);
}

// A file more, one less, and one that has changed.
TEST(KeptTraces, OfAFolderAreAllItsTraces) {
    const ScratchFolder folder;
    (void)folder.write("1.jsonl", "a\n");
    std::string path;
    const Result<std::vector<KeptTrace>> before = keep_traces({folder.path()}, path);
    ASSERT_TRUE(before);
    (void)folder.write("2.jsonl", "b\n");
    EXPECT_EQ(changed_trace(before.value()), folder.path());
    const Result<std::vector<KeptTrace>> after = keep_traces({folder.path()}, path);
    ASSERT_TRUE(after);
    EXPECT_EQ(changed_trace(after.value()), "");
    (void)folder.write("2.jsonl", "c\n");
    EXPECT_EQ(changed_trace(after.value()), folder.path());
}

TEST(KeptTraces, NameWhatCannotBeRead) {
    const ScratchFolder folder;
    const std::string gone = folder.path() + "/gone.jsonl";
    std::string path;
    EXPECT_FALSE(keep_traces({gone}, path));
    EXPECT_EQ(path, gone);
    EXPECT_EQ(changed_trace({{gone, "0"}}), gone);
}

}  // namespace
}  // namespace driftless
