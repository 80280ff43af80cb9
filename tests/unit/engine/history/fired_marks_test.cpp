// Marks of rows outlive the process that set them, however it ends, and are read by the number of
// rows and the run that they are of.
#include "engine/history/fired_marks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
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
            marks.value().count_request();
            marks.value().mark(row);  // in the next pass
            marks.value().count_request();
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
    EXPECT_EQ(marks.value().count(), left.size());
    EXPECT_EQ(marks.value().requests(), 2 * left.size());
}

TEST_F(Marks, OfSeveralEnginesAreReadAsOne) {
    constexpr std::size_t rows = 200;
    {
        Result<FiredMarks> first = FiredMarks::create(id_, rows, 0, 3);
        Result<FiredMarks> second = FiredMarks::create(id_, rows, 1, 3);
        Result<FiredMarks> third = FiredMarks::create(id_, rows, 2, 3);
        ASSERT_TRUE(first && second && third);
        EXPECT_EQ(FiredMarks::create(id_, rows, 2, 3).error().code, ErrorCode::exists);
        first.value().mark(3);
        first.value().count_request();
        second.value().mark(64);
        second.value().count_request();
        second.value().count_request();
        third.value().mark(199);
    }
    for (int look = 0; look < 2; ++look) {  // a look changes nothing
        const Result<FiredMarks> all = FiredMarks::open(id_, rows);
        ASSERT_TRUE(all) << all.error().doing;
        EXPECT_EQ(all.value().count(), 3u);
        EXPECT_TRUE(all.value().marked(3) && all.value().marked(64) && all.value().marked(199));
        EXPECT_EQ(all.value().requests(), 3u);
    }
    FiredMarks::remove(id_);
    for (std::uint32_t engine = 0; engine < 3; ++engine) {  // none is left
        EXPECT_TRUE(FiredMarks::create(id_, rows, engine, 3)) << engine;
    }
}

// Those of the engines that are left would say of its rows that they had not left: they would be
// sent to the server a second time.
TEST_F(Marks, AreGoneWhereThoseOfAnEngineAre) {
    for (std::uint32_t gone = 0; gone < 3; ++gone) {
        for (std::uint32_t engine = 0; engine < 3; ++engine) {
            ASSERT_TRUE(FiredMarks::create(id_, 10, engine, 3));
        }
        EXPECT_TRUE(FiredMarks::open(id_, 10));
        const std::string suffix = gone == 0 ? "" : "." + std::to_string(gone);
        ASSERT_EQ(::unlink(("/dev/shm/driftless-" + id_ + suffix).c_str()), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::not_found) << gone;
        for (std::uint32_t engine = 0; engine < 3; ++engine) {
            const std::string name = engine == 0 ? "" : "." + std::to_string(engine);
            (void)::unlink(("/dev/shm/driftless-" + id_ + name).c_str());
        }
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

// /dev/shm is everybody's: marks that others made or may write to are not believed, and a link that
// stands in their place is not followed.
TEST_F(Marks, OfOthersAreNotRead) {
    const std::string path = "/dev/shm/driftless-" + id_;
    ASSERT_TRUE(FiredMarks::create(id_, 10));
    for (const mode_t mode : {0640u, 0604u, 0620u, 0602u, 0666u}) {
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied) << mode;
    }
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_TRUE(FiredMarks::open(id_, 10));
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
        EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied);
    }
    const std::string other = id_ + "-target";
    ASSERT_TRUE(FiredMarks::create(other, 10));
    FiredMarks::remove(id_);
    ASSERT_EQ(::symlink(("/dev/shm/driftless-" + other).c_str(), path.c_str()), 0);
    EXPECT_FALSE(FiredMarks::open(id_, 10));
    FiredMarks::remove(id_);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(FiredMarks::open(id_, 10).error().code, ErrorCode::denied);
    FiredMarks::remove(other);
}

TEST_F(Marks, MayBeNone) {
    FiredMarks none;
    none.mark(0);
    EXPECT_FALSE(none.marked(0));
}

}  // namespace
}  // namespace driftless
