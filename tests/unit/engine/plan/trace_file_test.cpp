// Files and folders of traces, read whatever breaks.

#include "engine/plan/trace_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/trace/read_logs.hpp"
#include "engine/history/past.hpp"
#include "engine/prompt/corpus.hpp"
#include "tests/unit/engine/plan/read_files.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

// Runs of digits compare as numbers; all else by bytes; the order is strict.
TEST(Paths, AreOrderedAndExpanded) {
    const std::vector<std::string> sorted = {"",      "10.jsonl", "a",    "a1",   "a2", "a02b",
                                             "a2b",   "a10",      "a10a", "a11",  "b",  "b9x1",
                                             "b9x10", "b09x11",   "c00",  "c0001"};
    std::vector<std::string> shuffled = sorted;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
    std::sort(shuffled.begin(), shuffled.end(), numeric_less);
    EXPECT_EQ(shuffled, sorted);
    EXPECT_TRUE(numeric_less("t_99999999999999999999", "t_100000000000000000000"));
    EXPECT_FALSE(numeric_less("a1", "a1"));
    // The trace's name is what its run folder will be called.
    expect_each(trace_name, gives("/data/conversation_trace.jsonl", "conversation_trace"),
                gives("x.y.jsonl.zst", "x.y"), gives("plain", "plain"), gives("weka/", "weka"),
                gives("-", "stdin"), gives(".jsonl", ".jsonl"), gives("/", "trace"));
    // Of a folder: files with the endings of traces, compressed or not, no hidden ones, no folders.
    const ScratchFolder folder;
    std::filesystem::create_directories(folder / "sub.jsonl");
    EXPECT_EQ(expand_path(folder.path()).error().code, ErrorCode::missing);
    for (const char* name : {"t_10.jsonl", "t_9.jsonl.gz", "README.md", ".t_1.jsonl", "b.csv"}) {
        folder.write(name, "x");
    }
    const auto paths = expand_path(folder.path() + "/").value();
    EXPECT_EQ(paths, (std::vector<std::string>{folder / "b.csv", folder / "t_9.jsonl.gz",
                                               folder / "t_10.jsonl"}));
    EXPECT_EQ(expand_path("-").value(), std::vector<std::string>{"-"});
    EXPECT_EQ(expand_path("/no/such").value(), std::vector<std::string>{"/no/such"});
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

FilesRead read_text(const std::string& bytes) {
    return read({TempFile("text", bytes).path()});
}

std::string data(const std::string& name) {
    return std::string(TEST_DATA) + "/" + name;
}

constexpr const char* endings[] = {"gz", "bz2", "xz", "zst"};

// Each compression is found by its magic bytes, under a name that says nothing.
TEST(TraceFile, ReadsWhatWasCompressedAsOneInput) {
    for (const char* ending : endings) {
        const Trace trace = read_text(read_bytes(data("compressed/three.jsonl.") + ending)).sound();
        ASSERT_EQ(trace.rows.size(), 3U) << ending;
        EXPECT_EQ(trace.rows[2].at_ns, 20'000'000);
        EXPECT_EQ(plain_ids(trace.ids), (std::vector<std::uint64_t>{0, 1, 2}));
    }
    // Bytes and digest are those of the decompressed input, so compression does not show in them.
    const FilesRead plain =
        read_text(R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]}
{"timestamp": 10, "input_length": 2, "output_length": 1, "hash_ids": [1]}
{"timestamp": 20, "input_length": 3, "output_length": 1, "hash_ids": [2]}
)");
    ASSERT_TRUE(plain.usable);
    for (const char* ending : endings) {
        const FilesRead got = read({data("compressed/three.jsonl.") + ending});
        EXPECT_EQ(got.trace.digest, plain.trace.digest) << ending;
        EXPECT_EQ(got.trace.bytes, plain.trace.bytes) << ending;
        EXPECT_EQ(got.trace.name, "three");
    }
    // Concatenated members are one input.
    for (const char* ending : endings) {
        const std::string member = read_bytes(data("compressed/three.jsonl.") + ending);
        const Trace trace = read_text(member + member + member).sound();
        EXPECT_EQ(trace.rows.size(), 9U) << ending;
        EXPECT_EQ(trace.rows_unsorted, 2U) << ending;
    }
}

// A last member that breaks off keeps what decodes, with a warning; nothing at all is an error.
TEST(TraceFile, KeepsWhatStandsBeforeDamage) {
    const std::string whole = read_bytes(data("compressed/many.jsonl.gz"));
    EXPECT_EQ(read({data("compressed/many.jsonl.gz")}).trace.bytes, 313'780U);
    const TempFile cut("cut", whole.substr(0, whole.size() * 3 / 4));
    const FilesRead got = read({cut.path()});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 2991U) << "as many lines as Python's zlib decodes of it";
    EXPECT_EQ(got.trace.bytes, 234'143U);
    EXPECT_EQ(read_text(whole.substr(0, 400)).trace.rows.size(), 49U)
        << "less than a block of a library";
    EXPECT_TRUE(got.has_note("warning: " + cut.path() + ": truncated gzip input: read up to line " +
                             std::to_string(got.trace.rows.size())));
    const TempFile stub("stub", whole.substr(0, 40));
    EXPECT_FALSE(read({stub.path()}).usable);
    EXPECT_TRUE(says(read({stub.path()}).first_error(), "truncated gzip input"));
    // Damage in the middle keeps what stands before it; bytes behind the last member that are none
    // are no damage.
    std::string bytes = whole;
    bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 0x55);  // of the checksum
    const FilesRead other_got = read_text(bytes);
    ASSERT_TRUE(other_got.usable) << other_got.first_error();
    EXPECT_EQ(other_got.trace.rows.size(), 4000U);
    EXPECT_TRUE(
        other_got.has_note("damaged gzip input (incorrect data check): read up to line 4000"));
    const FilesRead fine = read_text(whole + std::string(512, '\0'));
    EXPECT_EQ(fine.trace.rows.size(), 4000U);
    EXPECT_FALSE(fine.has_note("warning"));
}

// What a damaged file decodes to may be no trace: the damage is named before the lines that came of
// it, be it found while they are read or behind them.
TEST(TraceFile, NamesDamageAndUtf16) {
    const std::string whole = read_bytes(data("compressed/many.jsonl.gz"));
    int refused = 0;
    for (std::size_t at = 20; at < whole.size(); at += 97) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        const FilesRead got = read_text(bytes);
        if (!got.usable) {
            ++refused;
            EXPECT_TRUE(says(got.first_error(), " gzip input")) << at << ": " << got.first_error();
        }
    }
    EXPECT_GT(refused, 10);
    // UTF-16, as some tools of Windows write it, is named, with and without its mark.
    const std::string text = R"({"timestamp": 0, "input_length": 9, "output_length": 1})"
                             "\n";
    for (const bool marked : {true, false}) {
        for (const bool big_endian : {true, false}) {
            std::string bytes = !marked ? "" : big_endian ? "\xFE\xFF" : "\xFF\xFE";
            for (const char c : text) {
                bytes += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
            }
            EXPECT_TRUE(
                says(read_text(bytes).first_error(), "text in UTF-16; convert it to UTF-8"));
        }
    }
}

// Wherever another compression breaks off, or is damaged, that is said: as an error where nothing
// came before it, else as a warning.
TEST(TraceFile, SaysWhatDamagesOrEndlessLinesAre) {
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
    // zstd's skippable frames stand before, between and behind the frames of a log (pzstd writes
    // them).
    const std::string frame = read_bytes(data("compressed/three.jsonl.zst"));
    const std::string skip = std::string("\x5A\x2A\x4D\x18\x03\x00\x00\x00", 8) + "abc";
    EXPECT_EQ(read_text(skip + skip + frame + skip + frame + skip).sound().rows.size(), 6U);
    EXPECT_FALSE(read_text(skip.substr(0, 9)).usable);
    // A dataset in one endless line is named, not only its length.
    const std::string chat = R"({"id":"x","conversations":[{"from":"human","value":"hello"}]},)";
    std::string text = "[";
    while (text.size() <= std::size_t{64} << 20) {
        text += chat;
    }
    EXPECT_TRUE(says(read_text(text + "]").first_error(), "looks like ShareGPT conversations"));
    // Columns that nobody reads are told by name, with the flag that carries them.
    const FilesRead got = read_text(
        R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0], "user": 1, "a\"b": 2}
{"timestamp": 9, "input_length": 1, "output_length": 1, "hash_ids": [0], "user": 3}
)");
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_TRUE(got.has_note("3 values of unknown columns ignored ("));
    EXPECT_TRUE(got.has_note("user"));
    EXPECT_TRUE(got.has_note("replay --keep copies columns into the records"));
}

// Missing files, empty files and folders without traces each have one clear error.
TEST(TraceFile, RefusesWhatIsNoTrace) {
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
    // One row is one row.
    EXPECT_TRUE(
        read_text(R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})")
            .has_note("span 0.000 s, 1 row, max 1 row at one instant"));
    // The folder of a run is one error, which says how to repeat the run.
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
    // A line beyond the limit is refused by its number.
    const TempFile file("long", "\n" + std::string((std::size_t{64} << 20) + 1, ' '));
    const FilesRead endless = read({file.path()});
    EXPECT_FALSE(endless.usable);
    EXPECT_EQ(endless.first_error(),
              file.path() + ":2: is longer than 64 MiB; put one row on each line");
}

// BOM, CRLF, blank lines and a missing final newline change nothing.
TEST(TraceFile, ReadsUntidyTextSeveralFilesAndTheSample) {
    const std::string line =
        R"({"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [0]})";
    const Trace trace = read_text("\xEF\xBB\xBF" + line + "\r\n\r\n  \n" + line).sound();
    EXPECT_EQ(std::tuple(trace.rows.size(), trace.rows[1].line), std::tuple(2U, 4U));
    // Several files are one trace with a namespace each, and a note says so.
    const FilesRead got =
        read({data("compressed/three.jsonl.gz"), data("compressed/three.jsonl.xz")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(std::tuple(got.trace.rows.size(), got.trace.name), std::tuple(6U, "three+1"));
    const auto name_spaces = members_of(got.trace.rows, &TraceRow::name_space);
    EXPECT_EQ(std::set(name_spaces.begin(), name_spaces.end()).size(), 2U);
    EXPECT_TRUE(got.has_note("2 files: equal block ids of different files share nothing"));
    // The sample trace has the figures that its generator was asked for, counted by another
    // program.
    const FilesRead other_got = read({data("sample.jsonl")});
    ASSERT_TRUE(other_got.usable) << other_got.first_error();
    EXPECT_EQ(other_got.notes,
              (std::vector<std::string>{
                  "format mooncake, times in ms, blocks of 512 tokens, partial blocks "
                  "have ids",
                  "span 11.750 s, 240 rows, 20.43/s, max 9 rows at one instant"}));
    const Plan plan = make_plan(other_got.trace, {}).value();
    EXPECT_EQ(std::tuple(plan.input_tokens, plan.output_tokens), std::tuple(508'352U, 15'239U));
    EXPECT_EQ(plan.foretold.cached_tokens, 257'536U);
    EXPECT_EQ(plan.burst_rows_max, 9U);
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
    EXPECT_EQ(std::tuple(got.trace.rows.size(), got.trace.bytes), std::tuple(12'031U, 3'029'533U));
    EXPECT_EQ(got.trace.ids.size(), 288'500U);
    EXPECT_EQ(std::tuple(got.trace.rows_unsorted, got.trace.unknown_keys), std::tuple(0U, 0U));
    EXPECT_TRUE(got.has_note("span 3536.999 s, 12031 rows, 3.40/s, max 28 rows at one instant"));

    const Plan plan = make_plan(got.trace, {}).value();
    EXPECT_EQ(plan.input_tokens, 144'793'823U);
    EXPECT_EQ(std::tuple(plan.output_tokens, plan.burst_rows_max), std::tuple(4'122'048U, 28U));
    EXPECT_EQ(plan.last_due_ns, 3'536'999'000'000);

    // Published: 36.64 % of blocks and 37.36 % of tokens, partial tails and last tokens included.
    const PublishedHits hits = published_hits(got.trace);
    EXPECT_NEAR(static_cast<double>(hits.blocks) / 288'500, 0.3664, 0.00005);
    EXPECT_NEAR(static_cast<double>(hits.tokens) / 144'793'823, 0.3736, 0.00005);
    // Ours counts full blocks only and never a row's last token, as a server's cache does, so it
    // is a little less: 35,307 tokens over the hour. Counted by an independent program.
    EXPECT_EQ(plan.foretold.cached_tokens, 54'063'104U);
    EXPECT_EQ(hits.tokens, 54'063'104U + 35'307U);
}

// Lines come out the same however the bytes were cut, and each way of ending one is understood.

struct Split {
    std::vector<std::string> lines;
    std::uint64_t number = 0;
    bool operator==(const Split&) const = default;
};

void drain(LineSplitter& splitter, Split& split) {
    while (const auto line = splitter.next()) {
        split.lines.emplace_back(*line);
    }
    split.number = splitter.number();
}

Split split_in_pieces(const std::string& text, std::size_t piece) {
    LineSplitter splitter;
    Split split;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        splitter.feed(std::string_view(text).substr(at, piece));
        drain(splitter, split);
    }
    splitter.finish();
    drain(splitter, split);
    return split;
}

using Lines = std::vector<std::string>;

// LF, CRLF, a missing final newline, blank lines, a byte order mark, and nothing at all.
TEST(LineSplitter, UnderstandsEveryEndAndBoundsALine) {
    EXPECT_EQ(split_in_pieces("a\nb\n", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\r\nb\r\n", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\nb", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\r\nb\r", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\n\n\r\nb\n", 100).lines, (Lines{"a", "", "", "b"}));
    EXPECT_EQ(split_in_pieces("\xEF\xBB\xBFHi\n\xEF\xBB\xBFx\n", 100).lines,
              (Lines{"Hi", "\xEF\xBB\xBFx"}));
    EXPECT_EQ(split_in_pieces("", 100).lines, Lines{});
    EXPECT_EQ(split_in_pieces("\n", 100).lines, Lines{""});
    // Whole, byte by byte, and at every size between: the same lines and numbers.
    const std::string text =
        "\xEF\xBB\xBF"
        "first\r\n\nthird line\r\n\r\nfifth\nlast";
    const Split whole = split_in_pieces(text, text.size());
    EXPECT_EQ(whole.lines, (Lines{"first", "", "third line", "", "fifth", "last"}));
    EXPECT_EQ(whole.number, 6U);
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
        EXPECT_EQ(split_in_pieces(text, piece), whole) << piece;
    }
    // A line of 64 MiB is read; one byte more is refused, without being kept.
    const std::string piece(line_bytes_max / 4, 'x');
    LineSplitter fits;
    LineSplitter too_long;
    for (int i = 0; i < 4; ++i) {
        fits.feed(piece);
        too_long.feed(piece);
        EXPECT_FALSE(fits.next().has_value());
        EXPECT_FALSE(too_long.next().has_value());
    }
    fits.feed("\n");
    EXPECT_EQ(fits.next().value().size(), line_bytes_max);
    too_long.feed("x\n");
    EXPECT_FALSE(too_long.next().has_value());
    EXPECT_TRUE(too_long.too_long());
    EXPECT_EQ(too_long.pending(), line_bytes_max);
}

// What is written is what is read back, compressed as the name says, into new files only.

class Sink : public testing::Test {
  protected:
    static std::string read_all(const std::string& path, std::string& compression) {
        Result<InputSource> source = InputSource::open(path);
        EXPECT_TRUE(source);
        std::string all;
        for (;;) {  // ends with the file
            const Result<std::string_view> piece = source.value().read();
            if (!piece || piece.value().empty()) {
                compression = source.value().compression();
                return all;
            }
            all += piece.value();
        }
    }

    static void write(const std::string& path, std::string_view bytes) {
        OutputSink sink = OutputSink::create(path).value();
        ASSERT_TRUE(sink.write(bytes.substr(0, bytes.size() / 3)));
        ASSERT_TRUE(sink.write(bytes.substr(bytes.size() / 3)));
        ASSERT_TRUE(sink.finish());
    }

    const ScratchFolder folder_;
};

TEST_F(Sink, CompressesAsTheNameSays) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) {
        text += "line " + std::to_string(i) + "\n";
    }
    const std::pair<const char*, const char*> names[] = {{"t.jsonl", "none"},
                                                         {"t.jsonl.gz", "gzip"},
                                                         {"t.jsonl.bz2", "bzip2"},
                                                         {"t.jsonl.xz", "xz"},
                                                         {"t.jsonl.zst", "zstd"}};
    for (const auto& [name, compression] : names) {
        write(folder_ / name, text);
        std::string found;
        EXPECT_TRUE(read_all(folder_ / name, found) == text) << name;
        EXPECT_EQ(found, compression);
    }
    EXPECT_EQ(std::filesystem::file_size(folder_ / "t.jsonl"), text.size()) << "no padding";
}

// The same bytes in, the same file out: nothing of the clock gets in.
TEST_F(Sink, IsTheSameEachTimeAndNeverOverwrites) {
    const auto bytes = [&](const char* name) {
        write(folder_ / name, "some text");
        return read_bytes(folder_ / name);
    };
    const std::string first = bytes("a.gz");
    ASSERT_GT(first.size(), 8U);
    EXPECT_EQ(first.substr(4, 4), std::string(4, '\0')) << "RFC 1952: no time";
    EXPECT_EQ(first, bytes("b.gz"));
    write(folder_ / "t", "first");
    EXPECT_EQ(OutputSink::create(folder_ / "t").error().code, ErrorCode::exists);
    std::string compression;
    EXPECT_EQ(read_all(folder_ / "t", compression), "first");
    EXPECT_EQ(OutputSink::create(folder_ / "no/t").error().code, ErrorCode::not_found);
    // A file that was not finished does not stay.
    {
        ASSERT_TRUE(OutputSink::create(folder_ / "t.zst").value().write("half"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "t.zst"));
}

// Files without read permission, and reads that fail in the middle: every reader of
// files says which file and why, in the system's words; nothing takes the part that it got for the
// whole.

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
TEST(BrokenReads, AreNoEndOfFileAndRefuseWhateverIsRead) {
    for (const std::string& begin : beginnings()) {
        const FailingInput input(begin);
        InputSource source = InputSource::open("-").value();
        Result<std::string_view> piece = source.read();
        for (int reads = 0; piece && !piece.value().empty() && reads < 10; ++reads) {
            piece = source.read();
        }
        ASSERT_FALSE(piece) << begin.size();
        EXPECT_EQ(piece.error().code, ErrorCode::io_failed);
        EXPECT_EQ(source.reason_of(piece.error()), again);
    }
    const FailingInput input(row);
    const FilesRead cut = read_files({.paths = {"-"}});
    EXPECT_FALSE(cut.usable);
    EXPECT_EQ(cut.first_error(), "standard input: " + again);
    const FailingInput third_input(R"({"timestamp":1767607200,"prompt":"x","response":"y"})"
                                   "\n");
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    Result<KeyedHash> hash = KeyedHash::create("0123456789abcdef");
    Trace other_trace;
    InputErrors other_errors;
    std::vector<std::string> other_notes;
    EXPECT_FALSE(read_logs({.paths = {"-"}}, tokenizer.value(), hash.value(), other_trace,
                           other_errors, other_notes));
    ASSERT_EQ(other_errors.list.size(), 1U);
    EXPECT_EQ(to_text(other_errors.list[0]),
              "standard input: cannot be read: " + again + "; repair the file");
    std::string other_why;
    {
        const FailingInput other_input("{");
        EXPECT_FALSE(load_tokenizer("-", other_why));
        EXPECT_EQ(other_why, "- cannot be read to its end: " + again);
    }
    Result<Tokenizer> other_tokenizer =
        load_tokenizer(TEST_DATA "/tokenizers/llama3.json", other_why);
    const FailingInput other_input(R"([{"text":"a b c")");
    EXPECT_FALSE(load_corpus("-", "", other_tokenizer.value(), "the", other_why));
    EXPECT_EQ(other_why, "-: cannot be read (" + again + ")");
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
            OutputSink sink = OutputSink::create(path).value();
            Result<void> done = sink.write(std::string(std::size_t{4} << 20, 'x'));
            done = done ? sink.finish() : done;
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().sys_errno, ENOSPC) << path << done.error().doing;
        }));
        EXPECT_FALSE(fs::exists(path));
    }
}

}  // namespace
}  // namespace driftless
