// The reader of all formats: detection, options, kept columns, blank lines, several files.
#include "proto/trace/reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

// Unknown keys are ignored and counted, kept ones are carried as JSON.
TEST(Reader, KeepsColumns) {
    const std::string more = R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0],)"
                             R"("type":"a\"b","n":{"x":1}})";
    ReadOptions options;
    options.keep = {"n", "type", "timestamp"};
    const ReadTrace got = read({more, row("0", 1, 1, "0")}, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[0]), R"({"n":{"x":1},"type":"a\"b","timestamp":0})");
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[1]), R"({"n":null,"type":null,"timestamp":0})");
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    const ReadTrace plain = read({more});
    EXPECT_EQ(plain.trace.unknown_keys, 2U);
    EXPECT_EQ(plain.trace.kept_of(plain.trace.rows[0]), "");
    options.keep = {"tpye"};
    EXPECT_EQ(read({more}, options).first_error(),
              "--keep \"tpye\" is not a column of any row; other columns are type, n");
    options.model_column = "tpye";  // which is kept for the user, who gave no --keep
    EXPECT_EQ(read({more}, options).first_error(),
              "--map \"model=tpye\" names a column that no row has; other columns are type, n");
}

// What no format reads is named as what it looks like, with what to do.
TEST(Reader, NamesForeignFormats) {
    const auto looks = [](const std::string& line, const std::string& what) {
        const ReadTrace got = read({line, line});
        EXPECT_FALSE(got.usable);
        EXPECT_EQ(got.errors.count, 1U) << "once for the file, not once a row";
        EXPECT_TRUE(says(got.first_error(), what));
        EXPECT_FALSE(got.errors.list[0].remedy.empty());
    };
    looks(R"({"timestamp": "0", "input_length": 5, "output_length": 3, "hash_ids": {"sys": [1]}})",
          "RAGPulse");
    looks(R"({"session_id": "a", "turns": [{"messages": []}]})", "AIPerf conversations");
    looks(R"({"captureData": {}, "eventMetadata": {}})", "SageMaker");
    looks(R"({"row": 0, "request": 0, "due_ns": 0, "fired_ns": 12})", "the records of a run");
    looks(R"([{"id": "a", "conversations": []}])", "--dataset FILE");
    looks("PAR1\x15\x04", "a Parquet file; convert it to JSON lines");
    looks("ARROW1\x15\x04", "an Arrow file; convert it to JSON lines");
    looks("\xD0\xCF\x11\xE0\xA1\xB1", "an Excel workbook; save it as CSV");
    looks(std::string("PK\x03\x04\x14\0docProps/app.xml", 22), "an Excel workbook; save it as CSV");
    looks("PK\x03\x04\x14mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
          "an OpenDocument spreadsheet; save it as CSV");
    looks("PK\x03\x04\x14trace.jsonl", "a zip archive; unpack it");
    looks("a" + std::string(256, '\0') + "ustar  0", "a tar archive; unpack it: tar -xf");
    looks("\x1F\x8B\x08", "a compressed file inside another one; decompress it once");
    looks("a,b,c\r1,2,3\r4,5,6", "text whose lines end in CR alone; convert them to LF: tr '\\r'");
    looks(R"({"data": [{"session_id": "s", "payloads": [{}]}]})", "AIPerf's inputs.json");
    looks(R"({"data": [{"type": "GENERATION", "traceId": "t"}]})", "a Langfuse export");
    looks(R"({"object": "list", "data": [{"a": 1}]})",
          "jq -c '.data[]' FILE > NEW_FILE; else name");
    looks(R"({"a": [{"b": 1}], "c": [{"d": 1}]})", "a known format; name the columns");
    looks(R"({"conversation_id": 1, "messages": []})", "session_id: .conversation_id");
    looks(std::string("{\0\"\0", 4), "iconv -f UTF-16LE");
    looks(std::string("\0{\0\"", 4), "iconv -f UTF-16BE");
    looks(R"({"hello": "world"})",
          "there are hello; or choose one of these with --format: mooncake");
    looks("hello", "neither a JSON object nor a CSV header");
    looks("when,who,what", "a known format; name the columns with --map time=COLUMN");
}

// A NUL byte is named as what it is, with its line and byte, wherever it stands.
TEST(Reader, NamesNulBytes) {
    const std::string one = row("0", 1, 1, "0");
    const std::string nul(1, '\0');
    const auto refuses = [&nul](const std::vector<std::string>& lines, const std::string& where,
                                std::size_t byte) {
        const std::string text = read(lines).first_error();
        EXPECT_TRUE(text.starts_with("t.jsonl:" + where + ": ")) << text;
        EXPECT_TRUE(says(text, "has a NUL byte, at byte " + std::to_string(byte) +
                                   "; remove it: tr -d '\\0' < FILE > NEW_FILE"));
    };
    refuses({one + nul}, "1", one.size() + 1);
    refuses({one, one + nul}, "2", one.size() + 1);
    refuses({one, nul + nul}, "2", 1);
    refuses({"{\"time" + nul + "stamp\": 0}"}, "1", 7);
    refuses({"{", one.substr(1) + nul}, "2", one.size());
    EXPECT_TRUE(says(read({nul + nul}).first_error(), "looks like a binary file"));
}

// JSON with such line ends is no JSON; the remedy is that of the line ends.
TEST(Reader, NamesLineEndsOfOldFiles) {
    const std::string one = row("0", 1, 1, "0");
    const ReadTrace got = read({one + "\r" + one});
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.errors.list[0].remedy, "convert them to LF: tr '\\r' '\\n' < FILE > NEW_FILE");
}

// A first row that would suit two formats is refused until choose one with --format.
TEST(Reader, RefusesAmbiguity) {
    const std::string both = R"({"event": {}, "requests": [], "block_size": 16})";
    EXPECT_TRUE(says(read({both}).first_error(),
                     "has the keys of weka and of dynamo; choose one with --format"));
}

// A JSON text over several lines is gathered, and an array is its rows.
TEST(Reader, GathersJsonTexts) {
    const std::string first = row("0", 1, 1, "0");
    const ReadTrace array = read({"[", first + ",", row("7", 2, 1, "1"), "]"});
    ASSERT_TRUE(array.usable) << array.first_error();
    ASSERT_EQ(array.trace.rows.size(), 2U);
    EXPECT_EQ(array.trace.rows[1].at_ns, 7'000'000);
    EXPECT_TRUE(read({"[" + first + "]"}).usable);
    EXPECT_EQ(read({"[" + first + ", 5]"}).first_error(),
              "t.jsonl:1: [1] \"5\" is not a JSON object; correct or remove it");
    const ReadTrace bad = read({"[", first + ",", row("-7", 2, 1, "1"), "]"});
    EXPECT_EQ(bad.errors.list[0].field, "[1].timestamp");
    const ReadTrace broken = read({"[", first});
    EXPECT_TRUE(says(broken.first_error(), "ends too early, at byte"));
}

// So jq writes what it selects of a file of JSON lines: objects over several lines, one behind the
// other. Each row knows the line where it begins.
TEST(Reader, ReadsObjectsOverSeveralLines) {
    const std::string plain = R"({"timestamp": 11, "input_length": 1, "output_length": 1})";
    const std::vector<std::string> first = {"{", R"(  "timestamp": 0, "input_length": 1,)",
                                            R"(  "note": "} \" {", "n": {"x": [1]},)",
                                            R"(  "output_length": 2)", "}"};
    std::vector<std::string> lines = first;
    lines.emplace_back("");
    lines.insert(lines.end(), {"{", R"("timestamp": 7, "input_length": 3,)",
                               R"("output_length": 4} {"timestamp": 9, "input_length": 5,)",
                               R"("output_length": 6}  )", "[" + plain + "]"});
    const ReadTrace got = read(lines);
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 4U);
    EXPECT_EQ(got.trace.rows[1].line, 7U);
    EXPECT_EQ(got.trace.rows[1].output_length, 4U);
    EXPECT_EQ(got.trace.rows[2].line, 9U);
    EXPECT_EQ(got.trace.rows[2].at_ns, 9'000'000);
    lines[7] = R"("timestamp": 7, "input_length": 3, nonsense)";
    const ReadTrace bad = read(lines);
    EXPECT_EQ(bad.errors.count, 1U) << "where a broken text ends is not known";
    EXPECT_EQ(bad.errors.list[0].line, 8U) << bad.first_error();
    EXPECT_EQ(bad.errors.list[0].value, lines[7]);
    EXPECT_TRUE(says(read({plain + ",", plain + ","}).first_error(), "remove the comma"));
    const ReadTrace cut = read({"{", R"("timestamp": 7, "input)", plain});
    EXPECT_EQ(cut.errors.count, 1U);
    EXPECT_EQ(cut.errors.list[0].line, 2U) << cut.first_error();
}

// A JSON text that no memory should hold is refused as a whole; one of no known format once.
TEST(Reader, BoundsJsonTexts) {
    std::vector<std::string> lines(66, std::string(1 << 20, ' '));
    lines.front() = "[";
    EXPECT_TRUE(says(read(lines).first_error(), "t.jsonl:1: is one JSON text of more than 64 MiB"));
    EXPECT_EQ(read({R"([{"zzz":1},{"zzz":2}])"}).errors.count, 1U);
}

// Files of one trace are of one format.
TEST(Reader, RefusesMixedFormats) {
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    reader.begin_file("a");
    EXPECT_TRUE(reader.add_line(1, row("10", 1, 1, "0")));
    reader.begin_file("b");
    EXPECT_FALSE(reader.add_line(1, "TIMESTAMP,ContextTokens,GeneratedTokens"));
    reader.begin_file("c");
    EXPECT_FALSE(reader.add_line(1, R"({"id": "x", "block_size": 64, "requests": []})"));
    reader.begin_file("d");
    EXPECT_TRUE(reader.add_line(1, row("20", 1, 1, "0"))) << "the others are still read";
    EXPECT_FALSE(reader.finish());
    ASSERT_EQ(errors.count, 2U);
    EXPECT_EQ(errors.list[0].problem, "is not a header of the format mooncake");
    EXPECT_EQ(errors.list[1].problem, "looks like weka, but the trace began as mooncake");
}

// --format forces the reader; a name it does not know, or a unit, is refused at once.
TEST(Reader, TakesOptions) {
    ReadOptions options;
    options.format = "mooncake";
    const std::string extended =
        R"({"chat_id":7,"timestamp":0,"input_length":5,"output_length":3,"hash_ids":[1]})";
    const ReadTrace got = read({extended}, options);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.unknown_keys, 1U);
    options.format = "moonshot";
    EXPECT_EQ(read({extended}, options).first_error(),
              "--format \"moonshot\" is not a format that this version reads; it reads " +
                  trace_format_names());
    ReadOptions automatic{.format = "mooncake", .time_unit = "auto"};
    EXPECT_EQ(read({extended}, automatic).trace.time_unit, "ms") << "the format's own";
    ReadOptions unit;
    unit.time_unit = "minutes";
    EXPECT_EQ(read({extended}, unit).errors.list[0].field, "--time-unit");
    EXPECT_EQ(read({extended}, unit).errors.count, 1U);
    ReadOptions map{.format = "mooncake", .map = {{"time", "t"}}};
    EXPECT_EQ(read({extended}, map).errors.list[0].field, "--map");
}

// Blank lines are no rows and no errors; a trace without rows is refused.
TEST(Reader, SkipsBlankLines) {
    const ReadTrace got = read({"", row("0", 1, 1, "0"), "  \t\r", row("5", 1, 1, "0")});
    ASSERT_TRUE(got.usable);
    EXPECT_EQ(got.trace.rows[1].line, 4U);
    EXPECT_EQ(read({"", " "}).first_error(), "t.jsonl: has no rows; a trace needs at least one");
}

// Several files are one trace; each is a namespace, and time may restart without counting as
// disorder.
TEST(Reader, JoinsFiles) {
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    reader.begin_file("a");
    EXPECT_TRUE(reader.add_line(1, row("10", 1, 1, "0")));
    EXPECT_TRUE(reader.add_line(2, row("20", 2, 1, "0")));
    reader.begin_file("b");
    EXPECT_TRUE(reader.add_line(1, row("15", 3, 1, "0")));
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(trace.rows[0].name_space, 0U);
    EXPECT_EQ(trace.rows[1].name_space, 1U);
    EXPECT_EQ(trace.rows[1].index, 2U);
    EXPECT_EQ(trace.rows[1].line, 1U);
    EXPECT_EQ(trace.rows[2].at_ns, 10'000'000);
    EXPECT_EQ(trace.rows_unsorted, 0U);
}

// A file of one mistake says so three times and counts the rest; every kind has its turn.
TEST(Reader, CountsErrorsOfOneKind) {
    std::vector<std::string> lines(150, R"({"input_length":5,"output_length":2,"hash_ids":[1]})");
    lines[1] = row("0", 0, 1, "0");
    const std::vector<std::string> said = to_lines(read(lines).errors);
    ASSERT_EQ(said.size(), 5U);
    EXPECT_TRUE(said[0].starts_with("t.jsonl:1: timestamp is missing")) << said[0];
    EXPECT_TRUE(said[1].starts_with("t.jsonl:2: input_length \"0\" is not")) << said[1];
    EXPECT_TRUE(said[3].starts_with("t.jsonl:4: timestamp is missing")) << said[3];
    EXPECT_EQ(said[4], "and 146 more like that");
    const std::vector<std::string> four =
        to_lines(read({lines[0], lines[0], lines[0], lines[0]}).errors);
    EXPECT_EQ(four.back(), "and 1 more like that");
    EXPECT_EQ(to_lines(read({lines[0], lines[0], lines[0]}).errors).size(), 3U);
    InputErrors many;
    for (std::size_t i = 0; i <= input_errors_max; ++i) {
        many.add({"t", i, "", "", std::string(i, 'x'), ""});
    }
    EXPECT_EQ(to_lines(many).back(), "and 1 more error");
}

// Damage inside a long line is named by its byte, with what stands there.
TEST(TraceReader, SaysWhereALongLineIsDamaged) {
    const std::string row = R"({"timestamp": 0, "input_length": 600, "output_length": 3})";
    const auto refused = [](const std::string& text, const std::string& problem,
                            const std::string& shown, const std::string& remedy) {
        const ReadTrace got = read({text});
        ASSERT_EQ(got.errors.count, 1U) << text;
        EXPECT_EQ(got.errors.list[0].line, 1U);
        EXPECT_EQ(got.errors.list[0].problem, problem);
        EXPECT_TRUE(says(got.errors.list[0].value, shown)) << got.first_error();
        EXPECT_TRUE(says(got.errors.list[0].remedy, remedy)) << got.first_error();
    };
    std::string rows = "[";
    for (int i = 0; i < 5; ++i) {
        rows += row + ", ";
    }
    refused(rows + "{\"timestamp\": 7, oops}]",
            "is not JSON, at byte " + std::to_string(rows.size() + 18), "oops", "array of rows");
    refused(rows + "{\"timestamp\": \"\xff\"}]",
            "is not JSON, at byte " + std::to_string(rows.size() + 16), "timestamp", "array of");
    refused(rows + "{\"timestamp\": \"" + std::string(1, '\0') + "\"}]",
            "has a NUL byte, at byte " + std::to_string(rows.size() + 16), "timestamp", "tr -d");
    refused(rows + "{\"timestamp\": 7, \"inp",
            "ends too early, at byte " + std::to_string(rows.size() + 22), "\"inp", "cut off");
    refused(row.substr(0, 20), "ends too early, at byte 21", row.substr(0, 20), "cut off");
    refused(rows + std::string(300, '['),
            "is nested too deeply, at byte " + std::to_string(rows.size() + 256), "[[[",
            "256 levels");
}

}  // namespace
}  // namespace driftless
