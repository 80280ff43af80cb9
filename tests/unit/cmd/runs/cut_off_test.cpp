// What a try left that was cut off is kept, under the first name that is free.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cmd/runs/cell.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

using Names = std::vector<std::string>;

TEST(CutOff, IsSetAside) {
    const ScratchFolder folder;
    const Result<std::string> nothing = set_aside(folder.path(), "01-speed=1");
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing.value(), "");
    EXPECT_EQ(cuts_of(folder.path(), "01-speed=1"), Names{});
    for (const char* const kept : {"01-speed=1.cut-1", "01-speed=1.cut-2"}) {
        std::filesystem::create_directory(folder / "01-speed=1");
        (void)folder.write("01-speed=1/of", kept);
        const Result<std::string> cut = set_aside(folder.path(), "01-speed=1");
        ASSERT_TRUE(cut);
        EXPECT_EQ(cut.value(), kept);
        EXPECT_EQ(read_bytes(folder / (cut.value() + "/of")), kept);
    }
    EXPECT_EQ(cuts_of(folder.path(), "01-speed=1"),
              (Names{"01-speed=1.cut-1", "01-speed=1.cut-2"}));
    // Nothing in them is a run: nothing is forgotten, nothing is said.
    forget_marks(folder.path(), cuts_of(folder.path(), "01-speed=1"));
}

TEST(CutOff, GoesWhereItBegan) {
    const ScratchFolder folder;
    const std::string here = absolute_path(".");
    const std::string trace = folder.write("trace.jsonl", "a\n");
    std::string unread;
    const Result<std::vector<KeptTrace>> kept = keep_traces({trace}, unread);
    ASSERT_TRUE(kept);
    EXPECT_EQ(go_home(folder.path(), kept.value()), "");
    EXPECT_EQ(absolute_path("trace.jsonl"), absolute_path(trace));
    (void)folder.write("trace.jsonl", "b\n");
    EXPECT_TRUE(says(go_home("", kept.value()), "trace.jsonl has changed since the start"));
    EXPECT_TRUE(says(go_home(folder / "nowhere", {}), "it was started in "));
    ASSERT_EQ(::chdir(here.c_str()), 0);
}

// A sweep goes on only with the traces that it began with.

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
