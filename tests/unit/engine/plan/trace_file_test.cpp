// A folder stands for its traces in numeric order; names lose folder and endings.

#include "engine/plan/trace_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "engine/plan/plan.hpp"
#include "tests/unit/engine/plan/read_files.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

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

// Traces are read from plain and compressed files, whole or damaged, and their facts are noted.

namespace fs = std::filesystem;

/// A file that lasts as long as its test.
class TempFile {
  public:
    TempFile(const std::string& name, const std::string& bytes)
        : path_(folder_.write(name, bytes)) {}
    const std::string& path() const { return path_; }

  private:
    ScratchFolder folder_;
    std::string path_;
};

FilesRead read(const std::vector<std::string>& paths) {
    return read_files({.paths = paths});
}

std::string data(const std::string& name) {
    return std::string(TEST_DATA) + "/" + name;
}

constexpr const char* endings[] = {"gz", "bz2", "xz", "zst"};

// Each compression is found by its magic bytes, under a name that says nothing.
TEST(TraceFile, FindsCompressionByMagicBytes) {
    for (const char* ending : endings) {
        const TempFile file("magic", read_bytes(data("compressed/three.jsonl.") + ending));
        const FilesRead got = read({file.path()});
        ASSERT_TRUE(got.usable) << ending << got.first_error();
        ASSERT_EQ(got.trace.rows.size(), 3U) << ending;
        EXPECT_EQ(got.trace.rows[2].at_ns, 20'000'000);
        EXPECT_EQ(plain_ids(got.trace.ids), (std::vector<std::uint64_t>{0, 1, 2}));
    }
}

// Bytes and digest are those of the decompressed input, so compression does not show in them.
TEST(TraceFile, DigestsWhatWasDecompressed) {
    const FilesRead plain = [] {
        const TempFile file(
            "plain",
            R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]}
{"timestamp": 10, "input_length": 2, "output_length": 1, "hash_ids": [1]}
{"timestamp": 20, "input_length": 3, "output_length": 1, "hash_ids": [2]}
)");
        return read({file.path()});
    }();
    ASSERT_TRUE(plain.usable);
    for (const char* ending : endings) {
        const FilesRead got = read({data("compressed/three.jsonl.") + ending});
        EXPECT_EQ(got.trace.digest, plain.trace.digest) << ending;
        EXPECT_EQ(got.trace.bytes, plain.trace.bytes) << ending;
        EXPECT_EQ(got.trace.name, "three");
    }
}

// Concatenated members are one input.
TEST(TraceFile, JoinsMembers) {
    for (const char* ending : endings) {
        const std::string member = read_bytes(data("compressed/three.jsonl.") + ending);
        const TempFile file("members", member + member + member);
        const FilesRead got = read({file.path()});
        ASSERT_TRUE(got.usable) << ending << got.first_error();
        EXPECT_EQ(got.trace.rows.size(), 9U) << ending;
        EXPECT_EQ(got.trace.rows_unsorted, 2U) << ending;
    }
}

// A last member that breaks off keeps what decodes, with a warning; nothing at all is an error.
TEST(TraceFile, KeepsWhatDecodesOfABrokenMember) {
    const std::string whole = read_bytes(data("compressed/many.jsonl.gz"));
    EXPECT_EQ(read({data("compressed/many.jsonl.gz")}).trace.bytes, 313'780U);
    const TempFile cut("cut", whole.substr(0, whole.size() * 3 / 4));
    const FilesRead got = read({cut.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 2991U) << "as many lines as Python's zlib decodes of it";
    EXPECT_EQ(got.trace.bytes, 234'143U);
    const TempFile small("small", whole.substr(0, 400));
    EXPECT_EQ(read({small.path()}).trace.rows.size(), 49U) << "less than a block of a library";
    EXPECT_TRUE(got.has_note("warning: " + cut.path() + ": truncated gzip input: read up to line " +
                             std::to_string(got.trace.rows.size())));
    const TempFile stub("stub", whole.substr(0, 40));
    EXPECT_FALSE(read({stub.path()}).usable);
    EXPECT_TRUE(says(read({stub.path()}).first_error(), "truncated gzip input"));
}

// Damage in the middle keeps what stands before it; bytes behind the last member that are none are
// no damage.
TEST(TraceFile, KeepsWhatStandsBeforeDamage) {
    const std::string whole = read_bytes(data("compressed/many.jsonl.gz"));
    std::string bytes = whole;
    bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 0x55);  // of the checksum
    const TempFile damaged("damaged", bytes);
    const FilesRead got = read({damaged.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 4000U);
    EXPECT_TRUE(got.has_note("damaged gzip input (incorrect data check): read up to line 4000"));
    const TempFile padded("padded", whole + std::string(512, '\0'));
    const FilesRead fine = read({padded.path()});
    EXPECT_EQ(fine.trace.rows.size(), 4000U);
    EXPECT_FALSE(fine.has_note("warning"));
}

// What a damaged file decodes to may be no trace: the damage is named before the lines that came of
// it, be it found while they are read or behind them.
TEST(TraceFile, NamesDamageBeforeWhatCameOfIt) {
    const std::string whole = read_bytes(data("compressed/many.jsonl.gz"));
    int refused = 0;
    for (std::size_t at = 20; at < whole.size(); at += 97) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        const TempFile damaged("damaged", bytes);
        const FilesRead got = read({damaged.path()});
        if (!got.usable) {
            ++refused;
            EXPECT_TRUE(says(got.first_error(), " gzip input")) << at << ": " << got.first_error();
        }
    }
    EXPECT_GT(refused, 10);
}

// UTF-16, as some tools of Windows write it, is named, with and without its mark.
TEST(TraceFile, NamesUtf16) {
    const std::string text = R"({"timestamp": 0, "input_length": 9, "output_length": 1})"
                             "\n";
    for (const bool marked : {true, false}) {
        for (const bool big_endian : {true, false}) {
            std::string bytes = !marked ? "" : big_endian ? "\xFE\xFF" : "\xFF\xFE";
            for (const char c : text) {
                bytes += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
            }
            const TempFile file("utf16", bytes);
            EXPECT_TRUE(
                says(read({file.path()}).first_error(), "text in UTF-16; convert it to UTF-8"));
        }
    }
}

// Wherever another compression breaks off, or is damaged, that is said: as an error where nothing
// came before it, else as a warning.
TEST(TraceFile, SaysWhereOtherCompressionsEnd) {
    for (const char* ending : {"bz2", "xz", "zst"}) {
        const std::string whole = read_bytes(data("compressed/three.jsonl.") + ending);
        const auto is_reported = [&](const std::string& bytes) {
            const TempFile file("cut", bytes);
            const FilesRead got = read({file.path()});
            return got.usable ? got.has_note("warning: " + file.path() + ": ")
                              : got.first_error().starts_with(file.path());
        };
        EXPECT_FALSE(is_reported(whole)) << ending;
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
            EXPECT_TRUE(is_reported(whole.substr(0, bytes)))
                << ending << " of " << bytes << " bytes";
        }
        std::string damaged = whole;
        damaged[damaged.size() / 2] ^= 0x10;
        EXPECT_TRUE(is_reported(damaged)) << ending;
    }
}

// zstd's skippable frames stand before, between and behind the frames of a log (pzstd writes them).
TEST(TraceFile, PassesOverSkippableFrames) {
    const std::string frame = read_bytes(data("compressed/three.jsonl.zst"));
    const std::string skip = std::string("\x5A\x2A\x4D\x18\x03\x00\x00\x00", 8) + "abc";
    const TempFile file("skippable", skip + skip + frame + skip + frame + skip);
    const FilesRead got = read({file.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 6U);
    const TempFile stub("skip_stub", skip.substr(0, 9));
    EXPECT_FALSE(read({stub.path()}).usable);
}

// A dataset in one endless line is named, not only its length.
TEST(TraceFile, NamesDatasetsThatAreOneLine) {
    const std::string chat = R"({"id":"x","conversations":[{"from":"human","value":"hello"}]},)";
    std::string text = "[";
    while (text.size() <= std::size_t{64} << 20) {
        text += chat;
    }
    const TempFile file("sharegpt", text + "]");
    EXPECT_TRUE(says(read({file.path()}).first_error(), "looks like ShareGPT conversations"));
}

// Columns that nobody reads are told by name, with the flag that carries them.
TEST(TraceFile, TellsOfUnknownColumns) {
    const TempFile file(
        "unknown",
        R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0], "user": 1, "a\"b": 2}
{"timestamp": 9, "input_length": 1, "output_length": 1, "hash_ids": [0], "user": 3}
)");
    const FilesRead got = read({file.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_TRUE(got.has_note("3 values of unknown columns ignored ("));
    EXPECT_TRUE(got.has_note("user"));
    EXPECT_TRUE(got.has_note("replay --keep copies columns into the records"));
}

// Missing files, empty files and folders without traces each have one clear error.
TEST(TraceFile, RefusesWhatIsNotThere) {
    const FilesRead missing = read({"/no/such/trace.jsonl"});
    EXPECT_FALSE(missing.usable);
    EXPECT_EQ(missing.first_error(),
              "/no/such/trace.jsonl: No such file or directory; name a file, a folder, or - for "
              "standard input");
    EXPECT_EQ(read({"http://user:word@host:1"}).first_error(),
              "http://..: No such file or directory; a server is named with --url, a trace as "
              "a file, a folder, or - for standard input");
    EXPECT_EQ(read({""}).first_error(),
              "the name of the trace file is empty; name a file, a folder, or - for standard "
              "input");
    const TempFile empty("empty", "");
    EXPECT_EQ(read({empty.path()}).first_error(),
              empty.path() + ": has no rows; a trace needs at least one");
    EXPECT_EQ(read({"/no/such/a", "/no/such/b"}).errors.count, 2U);
}

// One row is one row.
TEST(TraceFile, CountsOneRow) {
    const TempFile file(
        "one.jsonl", R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})");
    EXPECT_TRUE(read({file.path()}).has_note("span 0.000 s, 1 row, max 1 row at one instant"));
}

// The folder of a run is one error, which says how to repeat the run.
TEST(TraceFile, RefusesTheFolderOfARun) {
    const ScratchFolder run;
    for (const char* name : {"run.json", "requests.jsonl", "fired.jsonl", "summary.json"}) {
        run.write(name, "{}\n");
    }
    const FilesRead got = read({run.path()});
    EXPECT_FALSE(got.usable);
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.first_error(), run.path() +
                                     ": is the folder of a run, not a trace; repeat the run with "
                                     "replay --from " +
                                     run.path() + ", or make a trace of it: convert " + run.path() +
                                     " -o FILE");
}

// A line beyond the limit is refused by its number.
TEST(TraceFile, RefusesEndlessLines) {
    const TempFile file("long", "\n" + std::string((std::size_t{64} << 20) + 1, ' '));
    const FilesRead got = read({file.path()});
    EXPECT_FALSE(got.usable);
    EXPECT_EQ(got.first_error(),
              file.path() + ":2: is longer than 64 MiB; put one row on each line");
}

// BOM, CRLF, blank lines and a missing final newline change nothing.
TEST(TraceFile, ReadsUntidyText) {
    const std::string line =
        R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})";
    const TempFile file("untidy", "\xEF\xBB\xBF" + line + "\r\n\r\n  \n" + line);
    const FilesRead got = read({file.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 2U);
    EXPECT_EQ(got.trace.rows[1].line, 4U);
}

// Several files are one trace with a namespace each, and a note says so.
TEST(TraceFile, JoinsFiles) {
    const FilesRead got =
        read({data("compressed/three.jsonl.gz"), data("compressed/three.jsonl.xz")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 6U);
    EXPECT_EQ(got.trace.name, "three+1");
    std::set<std::uint32_t> name_spaces;
    for (const TraceRow& row : got.trace.rows) {
        name_spaces.insert(row.name_space);
    }
    EXPECT_EQ(name_spaces.size(), 2U);
    EXPECT_TRUE(got.has_note("2 files: equal block ids of different files share nothing"));
}

// The sample trace has the figures that its generator was asked for, counted by another program.
TEST(TraceFile, ReadsTheSample) {
    const FilesRead got = read({data("sample.jsonl")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.notes, (std::vector<std::string>{
                             "format mooncake, times in ms, blocks of 512 tokens, partial blocks "
                             "have ids",
                             "span 11.750 s, 240 rows, 20.43/s, max 9 rows at one instant"}));
    const Result<Plan> plan = make_plan(got.trace, {});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan.value().input_tokens, 508'352U);
    EXPECT_EQ(plan.value().output_tokens, 15'239U);
    EXPECT_EQ(plan.value().foretold.cached_tokens, 257'536U);
    EXPECT_EQ(plan.value().burst_rows_max, 9U);
}

/// Hits of an infinite cache as the published figures count them: the leading ids of each row that
/// an earlier row had, the partial last block with its id included. Ids of this trace are chained,
/// so that a set of ids knows prefixes.
struct PublishedHits {
    std::uint64_t blocks = 0;
    std::uint64_t tokens = 0;
};

PublishedHits published_hits(const Trace& trace) {
    PublishedHits hits;
    std::set<std::uint64_t> seen;
    for (const TraceRow& row : trace.rows) {
        const auto ids = trace.ids_of(row);
        std::uint64_t blocks = 0;
        while (blocks < ids.size() && seen.contains(ids[blocks])) {
            ++blocks;
        }
        hits.blocks += blocks;
        hits.tokens += std::min<std::uint64_t>(blocks * trace.block_size, row.input_length);
        seen.insert(ids.begin(), ids.end());
    }
    return hits;
}

// The conversation hour: every figure of the published table that reading and planning can reach.
TEST(TraceFile, ReadsTheConversationHour) {
    const std::string path = std::string(SHARED_DATA) + "/traces/mooncake_conversation.jsonl";
    if (!fs::exists(path)) {
        GTEST_SKIP() << "the Mooncake conversation trace is not there";
    }
    const FilesRead got = read({path});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 12'031U);
    EXPECT_EQ(got.trace.bytes, 3'029'533U);
    EXPECT_EQ(got.trace.ids.size(), 288'500U);
    EXPECT_EQ(got.trace.rows_unsorted, 0U);
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    EXPECT_TRUE(got.has_note("span 3536.999 s, 12031 rows, 3.40/s, max 28 rows at one instant"));

    const Result<Plan> plan = make_plan(got.trace, {});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan.value().input_tokens, 144'793'823U);
    EXPECT_EQ(plan.value().output_tokens, 4'122'048U);
    EXPECT_EQ(plan.value().burst_rows_max, 28U);
    EXPECT_EQ(plan.value().last_due_ns, 3'536'999'000'000);

    // Published: 36.64 % of blocks and 37.36 % of tokens, partial tails and last tokens included.
    const PublishedHits hits = published_hits(got.trace);
    EXPECT_NEAR(static_cast<double>(hits.blocks) / 288'500, 0.3664, 0.00005);
    EXPECT_NEAR(static_cast<double>(hits.tokens) / 144'793'823, 0.3736, 0.00005);
    // Ours counts full blocks only and never a row's last token, as a server's cache does, so it
    // is a little less: 35,307 tokens over the hour. Counted by an independent program.
    EXPECT_EQ(plan.value().foretold.cached_tokens, 54'063'104U);
    EXPECT_EQ(hits.tokens, 54'063'104U + 35'307U);
}

}  // namespace

}  // namespace driftless
