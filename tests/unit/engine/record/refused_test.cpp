// What the kernel refuses of files, threads and memory of a run: each is an error with its errno,
// and what was begun is given back.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "engine/history/fired_marks.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "engine/record/line_sink.hpp"
#include "engine/record/writer.hpp"
#include "tests/unit/engine/record/script.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

namespace fs = std::filesystem;

class RecordRefused : public RefusingKernel {
  protected:
    const ScratchFolder folder_;
};

TEST_F(RecordRefused, FilesOfARun) {
    const std::string path = folder_ / "lines";
    for (const auto& [sys_errno, code] :
         {std::pair{EACCES, ErrorCode::denied}, std::pair{EROFS, ErrorCode::denied},
          std::pair{ENOTDIR, ErrorCode::not_found}, std::pair{ENOSPC, ErrorCode::exhausted},
          std::pair{EDQUOT, ErrorCode::exhausted}, std::pair{EMFILE, ErrorCode::exhausted},
          std::pair{EIO, ErrorCode::io_failed}}) {
        EXPECT_TRUE(while_refusing({{SYS_openat, sys_errno}}, [&, code = code] {
            EXPECT_EQ(LineSink::create(path).error().code, code);
            EXPECT_EQ(LineSink::append(path).error().code, code);
            std::string failed;
            EXPECT_EQ(append_sinks({folder_.path(), "", false, true}, failed).error().code, code);
            EXPECT_TRUE(failed.starts_with(folder_.path())) << failed;
        }));
    }
}

// A file that cannot be read or cut is not written behind a torn line.
TEST_F(RecordRefused, TornLines) {
    const std::string path = folder_ / "lines";
    std::ofstream(path) << "whole\ntorn";
    for (const long call : {SYS_pread64, SYS_ftruncate}) {
        EXPECT_TRUE(while_refusing({{call, EIO}}, [&path] {
            const Result<LineSink> sink = LineSink::append(path);
            ASSERT_FALSE(sink);
            EXPECT_EQ(sink.error().code, ErrorCode::io_failed);
            EXPECT_STREQ(sink.error().doing, "cut a torn line off a file of the run");
        }));
    }
    EXPECT_EQ(fs::file_size(path), 10U) << "as it was";
}

TEST_F(RecordRefused, TheWritersThread) {
    for (const auto& [sys_errno, code] :
         {std::pair{EAGAIN, ErrorCode::exhausted}, std::pair{EPERM, ErrorCode::denied}}) {
        EXPECT_TRUE(
            while_refusing({{SYS_clone3, sys_errno}, {SYS_clone, sys_errno}}, [code = code] {
                ScriptTrace input(4);
                RecordWriter writer(input.config(), {}, {});
                EventRing ring(1, 4);
                writer.read_from({{&ring}});
                const auto started = writer.start_thread(nullptr, {});
                ASSERT_FALSE(started);
                EXPECT_EQ(started.error().code, code);
                writer.stop();  // there is nothing to wait for
            }));
    }
}

TEST_F(RecordRefused, MarksOfARun) {
    constexpr std::size_t rows = 64 * 1021;  // and three words: 8 KiB
    constexpr std::uint32_t bytes = 8192;
    const auto says = [](std::initializer_list<RefusedCall> refusals, const char* doing,
                         ErrorCode code) {
        EXPECT_TRUE(while_refusing(refusals, [doing, code] {
            const Result<FiredMarks> made = FiredMarks::create("0badcafe", rows);
            ASSERT_FALSE(made);
            EXPECT_STREQ(made.error().doing, doing);
            EXPECT_EQ(made.error().code, code);
        }));
        EXPECT_EQ(FiredMarks::open("0badcafe", rows).error().code, ErrorCode::not_found)
            << "left behind: " << doing;
    };
    says({{SYS_openat, EACCES}}, "create the marks of a run", ErrorCode::denied);
    says({{SYS_fallocate, ENOMEM}}, "take memory for the marks of a run", ErrorCode::exhausted);
    says({{SYS_mmap, ENOMEM, 1, bytes}}, "map the marks of a run", ErrorCode::exhausted);
    const Result<FiredMarks> made = FiredMarks::create("0badcafe", rows);
    ASSERT_TRUE(made);
    for (const RefusedCall refusal :
         {RefusedCall{SYS_newfstatat, ENOMEM}, RefusedCall{SYS_mmap, ENOMEM, 1, bytes}}) {
        EXPECT_TRUE(while_refusing({refusal, {SYS_fstat, ENOMEM}}, [] {
            EXPECT_EQ(FiredMarks::open("0badcafe", rows).error().code, ErrorCode::exhausted);
        }));
    }
    EXPECT_EQ(FiredMarks::open("0badcafe", rows + 1).error().code, ErrorCode::invalid);
    FiredMarks::remove("0badcafe");
}

TEST_F(RecordRefused, MemoryOfBodies) {
    constexpr std::uint32_t bytes = 1 << 20;
    EXPECT_TRUE(while_refusing({{SYS_mmap, ENOMEM, 1, bytes}}, [] {
        BodyPool pool;
        const Result<void> opened = pool.open(bytes);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::exhausted);
        EXPECT_EQ(opened.error().sys_errno, ENOMEM);
    }));
}

}  // namespace
}  // namespace driftless
