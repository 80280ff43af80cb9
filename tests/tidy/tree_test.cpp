// The tree keeps the rules of the style that a program can check.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/tidy/rules.hpp"

namespace driftless::tidy {
namespace {

void expect_clean(Findings (*check)(const Files& files)) {
    ASSERT_GT(source_files().size(), 50U) << "the tree was not found at " SOURCE_TREE;
    const Findings findings = check(source_files());
    EXPECT_TRUE(findings.empty()) << to_text(findings);
}

TEST(Tree, DependsInOneDirection) {
    expect_clean(check_direction);
}
TEST(Tree, KeepsHeavyHeadersInOneRoom) {
    expect_clean(check_heavy_headers);
}
TEST(Tree, HasLinesOf100Columns) {
    expect_clean(check_lines);
}
TEST(Tree, HasFilesThatTellOneStory) {
    expect_clean(check_file_sizes);
}
TEST(Tree, HasFunctionsThatFitAScreen) {
    expect_clean(check_function_sizes);
}
TEST(Tree, HasLocalFunctionsThatAreStatic) {
    expect_clean(check_local_functions);
}
TEST(Tree, HasHeadersThatSayWhatTheyAre) {
    expect_clean(check_header_openings);
}
TEST(Tree, HasNothingLeftOpen) {
    expect_clean(check_words);
}
TEST(Tree, SpeaksPlainEnglish) {
    expect_clean(check_plain_words);
}
TEST(Tree, RefusesAValueWithARemedy) {
    expect_clean(check_remedies);
}
TEST(Tree, HasOneTypeOfAName) {
    expect_clean(check_type_names);
}
TEST(Tree, NamesFilesThatAreThere) {
    expect_clean(check_file_names);
}
TEST(Tree, UsesNothingThatItBans) {
    expect_clean(check_banned_names);
}
TEST(Tree, HasNoLambdaCoroutines) {
    expect_clean(check_lambda_coroutines);
}
TEST(Tree, HasNothingLeftOpenAndTheHousePlan) {
    expect_clean(check_awaits);
    // Scripts, CMake files and pages are finished too.
    namespace fs = std::filesystem;
    Files others;
    const fs::path top = SOURCE_TREE;
    for (const char* path : {"CMakeLists.txt", "README.md", "tests/tests.cmake", "tests/run",
                             "cmd/quickstart", "cmd/packages.sh"}) {
        std::ostringstream text;
        text << std::ifstream(top / path).rdbuf();
        others.push_back(make_source(path, text.str()));
    }
    const Findings findings = check_words(others);
    EXPECT_TRUE(findings.empty()) << to_text(findings);
    // The top level is the house plan (design, section 2); build and run folders are ignored by
    // git.
    const std::set<std::string> plan{"CMakeLists.txt", "LICENSE", "README.md", "cmd",
                                     "engine",         "perf",    "proto",     "tests"};
    for (const auto& entry : std::filesystem::directory_iterator(SOURCE_TREE)) {
        const std::string name = entry.path().filename();
        const bool is_ignored =
            name.starts_with(".") || name.starts_with("build") || name == "runs";
        EXPECT_TRUE(is_ignored || plan.contains(name))
            << name << ": belongs into a folder of the house plan";
    }
}

}  // namespace
}  // namespace driftless::tidy
