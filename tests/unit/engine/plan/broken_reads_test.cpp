// Files without read permission, and reads that fail in the middle: every reader of
// files says which file and why, in the system's words; nothing takes the part that it got for the
// whole.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cmd/trace/read_logs.hpp"
#include "engine/history/past.hpp"
#include "engine/plan/files.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/prompt/corpus.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

namespace fs = std::filesystem;

/// Standard input that gives these bytes, and then fails with EAGAIN.
class FailingInput {
  public:
    explicit FailingInput(std::string_view bytes) : before_(::dup(STDIN_FILENO)) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        writer_ = ends[1];
        EXPECT_EQ(::write(writer_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        ::dup2(ends[0], STDIN_FILENO);
        ::close(ends[0]);
    }
    ~FailingInput() {
        before_ >= 0 ? ::dup2(before_, STDIN_FILENO) : ::close(STDIN_FILENO);
        ::close(before_);
        ::close(writer_);
    }
    FailingInput(const FailingInput&) = delete;
    FailingInput& operator=(const FailingInput&) = delete;

  private:
    int before_;
    int writer_ = -1;
};

const std::string again = std::strerror(EAGAIN);
constexpr const char* row =
    R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})"
    "\n";

/// Files of every compression, whole and cut, and what else a first read may bring.
std::vector<std::string> beginnings() {
    std::vector<std::string> all{"", "\x50\x2A", std::string("\x50\x2A\x4D\x18\x40\0\0\0abc", 11),
                                 row};
    for (const char* ending : {"gz", "bz2", "xz", "zst"}) {
        const std::string whole =
            read_bytes(TEST_DATA "/compressed/three.jsonl." + std::string(ending));
        all.push_back(whole.substr(0, 6));
        all.push_back(whole.substr(0, whole.size() / 2));
        all.push_back(whole);
    }
    return all;
}

// However a file begins, a read that fails is an error, after what could be decoded before.
TEST(BrokenReads, AreNoEndOfFile) {
    for (const std::string& begin : beginnings()) {
        const FailingInput input(begin);
        Result<InputSource> source = InputSource::open("-");
        ASSERT_TRUE(source);
        Result<std::string_view> piece = source.value().read();
        for (int reads = 0; piece && !piece.value().empty() && reads < 10; ++reads) {
            piece = source.value().read();
        }
        ASSERT_FALSE(piece) << begin.size();
        EXPECT_EQ(piece.error().code, ErrorCode::io_failed);
        EXPECT_EQ(source.value().reason_of(piece.error()), again);
    }
}

TEST(BrokenReads, RefuseATrace) {
    const FailingInput input(row);
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    EXPECT_FALSE(read_trace({.paths = {"-"}}, trace, errors, notes));
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(to_text(errors.list[0]), "standard input: " + again);
}

TEST(BrokenReads, RefuseALog) {
    const FailingInput input(R"({"timestamp":1767607200,"prompt":"x","response":"y"})"
                             "\n");
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    Result<KeyedHash> hash = KeyedHash::create("0123456789abcdef");
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    EXPECT_FALSE(
        read_logs({.paths = {"-"}}, tokenizer.value(), hash.value(), trace, errors, notes));
    ASSERT_EQ(errors.list.size(), 1U);
    EXPECT_EQ(to_text(errors.list[0]),
              "standard input: cannot be read: " + again + "; repair the file");
}

TEST(BrokenReads, RefuseTokenizersAndDatasets) {
    std::string why;
    {
        const FailingInput input("{");
        EXPECT_FALSE(load_tokenizer("-", why));
        EXPECT_EQ(why, "- cannot be read to its end: " + again);
    }
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    const FailingInput input(R"([{"text":"a b c")");
    EXPECT_FALSE(load_corpus("-", "", tokenizer.value(), "the", why));
    EXPECT_EQ(why, "-: cannot be read (" + again + ")");
}

/// Files of a folder of this test's own, which another thread may not open, or not read.
class Forbidden : public RefusingKernel {
  protected:
    const ScratchFolder folder_;
};

TEST_F(Forbidden, FilesAreDenied) {
    std::string why;
    Result<Tokenizer> loaded = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    Tokenizer& tokenizer = loaded.value();
    EXPECT_TRUE(while_refusing({{SYS_openat, EACCES}}, [&] {
        EXPECT_EQ(InputSource::open("/any").error().code, ErrorCode::denied);
        EXPECT_FALSE(load_tokenizer("/any", why));
        EXPECT_EQ(why, "/any cannot be read: permission denied");
        EXPECT_FALSE(load_corpus("/any", "", tokenizer, "the", why));
        EXPECT_EQ(why, "/any: cannot be read: permission denied");
        EXPECT_EQ(expand_path(folder_.path()).error().code, ErrorCode::denied);
        Past past{RunFacts{}};
        EXPECT_FALSE(read_past(folder_.path(), "", past, why));
        EXPECT_EQ(why, folder_ / "requests.jsonl: cannot be read (Permission denied)");
    }));
    for (const auto& [sys_errno, code] :
         {std::pair{EIO, ErrorCode::io_failed}, std::pair{ENOTDIR, ErrorCode::not_found}}) {
        EXPECT_TRUE(while_refusing({{SYS_openat, sys_errno}}, [&, code = code] {
            EXPECT_EQ(InputSource::open("/any").error().code, code);
            EXPECT_EQ(expand_path(folder_.path()).error().code, code);
        }));
    }
    EXPECT_TRUE(while_refusing({{SYS_openat, ELOOP}}, [&] {
        EXPECT_FALSE(load_tokenizer("/any", why));
        EXPECT_EQ(why, "/any cannot be read");
    }));
}

TEST_F(Forbidden, FoldersAreNoFiles) {
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    EXPECT_FALSE(load_corpus(folder_.path(), "", tokenizer.value(), "the", why));
    EXPECT_EQ(why, folder_.path() + ": is a folder; name a file");
    const std::string half = read_bytes(TEST_DATA "/compressed/three.jsonl.gz").substr(0, 40);
    EXPECT_FALSE(load_corpus(folder_.write("half", half), "", tokenizer.value(), "the", why));
    EXPECT_EQ(why, folder_.path() +
                       "/half: is damaged or ends early; fetch the whole file "
                       "(truncated gzip input)");
    // A rank file needs the file beside it, which is a folder here.
    const std::string ranks = folder_.write("ranks", "IQ== 0\n");
    fs::create_directory(folder_ / "tokenizer_config.json");
    EXPECT_FALSE(load_tokenizer(ranks, why));
    EXPECT_TRUE(says(why, "tokenizer_config.json next to it is a folder"));
}

TEST_F(Forbidden, FoldersHoldTraces) {
    const auto refused = [](auto read) {
        InputErrors errors;
        Trace trace;
        std::vector<std::string> notes;
        EXPECT_FALSE(read(trace, errors, notes));
        return errors.empty() ? "" : to_text(errors.list[0]);
    };
    const std::string expected =
        folder_.path() +
        ": holds no trace; trace files end in .jsonl, .json, .ndjson or .csv, compressed or not";
    EXPECT_EQ(refused([this](Trace& trace, InputErrors& errors, std::vector<std::string>& notes) {
                  return read_trace({.paths = {folder_.path()}}, trace, errors, notes);
              }),
              expected);
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    Result<KeyedHash> hash = KeyedHash::create("0123456789abcdef");
    EXPECT_TRUE(
        says(refused([&](Trace& trace, InputErrors& errors, std::vector<std::string>& notes) {
                 return read_logs({.paths = {folder_.path()}}, tokenizer.value(), hash.value(),
                                  trace, errors, notes);
             }),
             folder_.path() + ": "));
}

// A run's files that cannot be read to their end, or hold a line that no run writes.
TEST_F(Forbidden, RunsAreReadWhole) {
    std::string why;
    Past past{RunFacts{}};
    fs::create_symlink("/proc/self/mem", folder_ / "requests.jsonl");  // EIO at its first byte
    EXPECT_FALSE(read_past(folder_.path(), "", past, why));
    EXPECT_EQ(why, folder_ / "requests.jsonl: cannot be read (Input/output error)");
    fs::remove(folder_ / "requests.jsonl");
    (void)folder_.write("fired.jsonl", std::string((std::size_t{64} << 20) + 1, ' '));
    EXPECT_FALSE(read_past(folder_.path(), "", past, why));
    EXPECT_EQ(why, folder_ / "fired.jsonl: a line is longer than any line of a run");
}

// A full disk is told by each step that may meet it, and leaves no half file.
TEST_F(Forbidden, OutputNeedsRoom) {
    for (const char* name : {"out.jsonl", "out.jsonl.gz", "out.jsonl.xz"}) {
        const std::string path = folder_ / name;
        EXPECT_TRUE(while_refusing({{SYS_write, ENOSPC}}, [&path] {
            Result<OutputSink> sink = OutputSink::create(path);
            ASSERT_TRUE(sink);
            Result<void> done = sink.value().write(std::string(std::size_t{4} << 20, 'x'));
            done = done ? sink.value().finish() : done;
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().sys_errno, ENOSPC) << path << done.error().doing;
        }));
        EXPECT_FALSE(fs::exists(path));
    }
}

}  // namespace
}  // namespace driftless
