// What a try left that was cut off is kept, under the first name that is free.
#include "cmd/cells/cut_off.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/scratch_folder.hpp"

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
    EXPECT_NE(go_home("", kept.value()).find("trace.jsonl has changed since the start"),
              std::string::npos);
    EXPECT_NE(go_home(folder / "nowhere", {}).find("it was started in "), std::string::npos);
    ASSERT_EQ(::chdir(here.c_str()), 0);
}

}  // namespace
}  // namespace driftless
