// Marks of rows outlive the process that set them, however it ends, and are read by the number of
// rows and the run that they are of.
#include "engine/record/fired_marks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

namespace driftless {
namespace {

/// Of this process and test; removed at the end.
class Marks : public testing::Test {
  protected:
    ~Marks() override { FiredMarks::remove(id_); }
    const std::string id_ = "test-" + std::to_string(::getpid()) + "-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Marks, OutliveAKill) {
    constexpr std::size_t rows = 1000;
    const std::set<std::uint32_t> left{0, 1, 63, 64, 500, 998, 999};
    const pid_t child = ::fork();
    if (child == 0) {
        Result<FiredMarks> marks = FiredMarks::create(id_, rows);
        for (const std::uint32_t row : left) {
            marks.value().mark(row);
        }
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const Result<FiredMarks> marks = FiredMarks::open(id_, rows);
    ASSERT_TRUE(marks) << marks.error().doing;
    for (std::uint32_t row = 0; row < rows; ++row) {
        EXPECT_EQ(marks.value().marked(row), left.contains(row)) << row;
    }
}

TEST_F(Marks, AreOfOneRun) {
    for (const std::size_t rows : {1, 63, 64, 65, 4096 * 8, 4096 * 8 + 1}) {
        Result<FiredMarks> marks = FiredMarks::create(id_, rows);
        ASSERT_TRUE(marks) << rows;
        EXPECT_EQ(FiredMarks::create(id_, rows).error().code, ErrorCode::exists);
        EXPECT_EQ(FiredMarks::open(id_, rows + 1).error().code, ErrorCode::invalid);
        marks.value().mark(static_cast<std::uint32_t>(rows - 1));
        marks.value().mark(static_cast<std::uint32_t>(rows + 64));  // of no row: nothing happens
        const Result<FiredMarks> again = FiredMarks::open(id_, rows);
        ASSERT_TRUE(again) << rows;
        EXPECT_TRUE(again.value().marked(static_cast<std::uint32_t>(rows - 1)));
        EXPECT_FALSE(again.value().marked(static_cast<std::uint32_t>(rows + 64)));
        FiredMarks::remove(id_);
        EXPECT_EQ(FiredMarks::open(id_, rows).error().code, ErrorCode::not_found);
    }
}

TEST_F(Marks, MayBeNone) {
    FiredMarks none;
    none.mark(0);
    EXPECT_FALSE(none.marked(0));
}

}  // namespace
}  // namespace driftless
