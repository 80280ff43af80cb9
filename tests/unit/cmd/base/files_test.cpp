// Whether a run's folder can be made is tried in the nearest folder above it that is there.
#include "cmd/base/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace driftless {
namespace {

// "R/trace_replay": a folder whose name is one letter was taken to be "." or "/", and to be there.
TEST(Folders, TriesAboveFoldersOfOneLetter) {
    namespace fs = std::filesystem;
    const fs::path before = fs::current_path();
    const fs::path scratch =
        fs::temp_directory_path() / ("driftless-folders-" + std::to_string(::getpid()));
    fs::create_directory(scratch);
    fs::current_path(scratch);
    EXPECT_TRUE(try_place("R/trace_replay"));
    EXPECT_TRUE(try_place("R/a/b"));
    EXPECT_TRUE(try_place("run"));
    EXPECT_TRUE(fs::is_empty(scratch)) << "nothing is left behind";
    fs::current_path(before);
    fs::remove_all(scratch);
}

}  // namespace
}  // namespace driftless
