// Traces in CSV, and columns by a map.

#include "proto/trace/csv.hpp"

#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {

namespace {

// Fixture 5: seven digits; two spellings of the clock in one file; a column in between.
TEST(Azure, ReadsAllThreeReleases) {
    const Trace first =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.9799600,4808,10",
              "2023-11-16 18:17:04.0319600,3180,8"})
            .sound();
    EXPECT_EQ(std::tuple(first.format, first.time_unit), std::tuple("azure", "iso"));
    EXPECT_EQ(std::tuple(first.block_size, first.rows[1].at_ns), std::tuple(0U, 52'000'000));
    EXPECT_EQ(first.rows[1].input_length, 3180U);
    EXPECT_EQ(std::tuple(first.rows[1].output_length, first.rows[1].ids_count), std::tuple(8U, 0U));
    EXPECT_EQ(std::tuple(first.rows[1].line, first.unknown_keys), std::tuple(3U, 0U));
    const Trace second =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens", "2024-05-12 00:00:00.001163+00:00,5,6",
              "2024-05-12 00:00:00+00:00,7,8"})
            .sound();
    EXPECT_EQ(second.rows[0].input_length, 7U);
    EXPECT_EQ(std::tuple(second.rows[1].at_ns, second.rows_unsorted), std::tuple(1'163'000, 1U));
    const ReadTrace images =
        read({"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
              "2024-10-15T12:00:00.269Z,0,770,491", "2024-10-15T12:00:05.819Z,1,949,126"});
    ASSERT_TRUE(images.usable) << images.first_error();
    EXPECT_EQ(images.trace.rows[1].input_length, 949U);
    EXPECT_EQ(images.trace.rows[1].at_ns, 5'550'000'000);
    ASSERT_EQ(images.trace.remarks.size(), 1U);
    EXPECT_STREQ(images.trace.remarks[0].one, "row with images, which are not sent");
}

TEST(Azure, ListsAllErrorsAndKeepsColumns) {
    const ReadTrace got = read({"TIMESTAMP,ContextTokens,GeneratedTokens", "18:17:03,4808,10",
                                "2023-11-16 18:17:03,,10", "2023-11-16 18:17:03,5",
                                "2023-11-16 18:17:03,5,1.5", "\"x\"y,1,2"});
    ASSERT_EQ(got.errors.count, 5U);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:2: TIMESTAMP \"18:17:03\" is not an ISO-8601 time; write it as 2023-11-16 "
              "18:15:46.68");
    EXPECT_EQ(got.errors.list[1].problem, "is missing");
    EXPECT_EQ(got.errors.list[2].problem, "has 2 cells, the header 3");
    EXPECT_EQ(got.errors.list[3].field, "GeneratedTokens");
    EXPECT_EQ(got.errors.list[4].problem, "has a misplaced quote");
    // --keep works on CSV: numbers stay numbers, empty cells are null.
    ReadOptions options{.keep = {"pool", "rank"}};
    const Trace trace =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens,pool,rank",
              "2023-11-16 18:17:03,1,2,\"a \"\"b\"\"\",7", "2023-11-16 18:17:04,1,2,,007"},
             options)
            .sound();
    EXPECT_EQ(trace.kept_of(trace.rows[0]), R"({"pool":"a \"b\"","rank":7})");
    EXPECT_EQ(trace.kept_of(trace.rows[1]), R"({"pool":null,"rank":"007"})");
    // The header spells as it likes: a kept column is found in any case of letters, and keeps the
    // spelling of --keep. One that is missing is refused with the names that there are.
    options = {};
    const std::vector<std::string> lines = {
        "timestamp,numimages,contexttokens,generatedtokens,Pool",
        "2024-10-15T12:00:00.269Z,3,770,491,x"};
    options.keep = {"NUMIMAGES", "pool"};
    const Trace other_trace = read(lines, options).sound();
    EXPECT_EQ(other_trace.kept_of(other_trace.rows[0]), R"({"NUMIMAGES":3,"pool":"x"})");
    EXPECT_EQ(other_trace.unknown_keys, 0U);
    ASSERT_EQ(other_trace.remarks.size(), 1U) << "the format still finds its column";
    options.keep = {"numimages"};
    EXPECT_EQ(read(lines, options).trace.unknown_keys, 1U) << "Pool";
    options.keep = {"images"};
    EXPECT_EQ(read({"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
                    "2024-10-15T12:00:00.269Z,3,770,491"},
                   options)
                  .first_error(),
              "--keep \"images\" is not a column of any row; columns are TIMESTAMP, NumImages, "
              "ContextTokens, GeneratedTokens");
}

// Fixture 6: six columns, times that do not begin at 0; failures go with a count.
TEST(BurstGpt, ReadsSixColumnsAndEight) {
    const Trace trace =
        read({"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
              "5,ChatGPT,472,18,490,Conversation log", "45,ChatGPT,1087,0,1087,API log",
              "45,GPT-4,1087,230,1317,API log", "46,ChatGPT,0,0,0,API log"})
            .sound();
    EXPECT_EQ(trace.format, "burstgpt");
    ASSERT_EQ(trace.rows.size(), 2U);
    EXPECT_EQ(std::tuple(trace.rows[1].at_ns, trace.rows[1].index), std::tuple(40'000'000'000, 1U));
    EXPECT_EQ(trace.rows[1].line, 4U);
    ASSERT_EQ(trace.remarks.size(), 1U);
    EXPECT_EQ(trace.remarks[0].count, 2U);
    EXPECT_TRUE(trace.sessions.empty());
    // Fixture 6: eight columns, two of them in front of the lengths; sessions with pauses.
    const Trace eight =
        read({"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
              "Log Type",
              "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log",
              "19440111.0,,2,GPT-4,5,6,11,API log",
              "19440200.5,1722ac82,10,GPT-4,1400,10,1410,Conversation log"})
            .sound();
    EXPECT_EQ(eight.rows[0].input_length, 906U);
    EXPECT_EQ(eight.rows[1].session, no_session);
    const TraceRow& last = eight.rows[2];
    EXPECT_EQ(std::tuple(last.at_ns, last.turn), std::tuple(90'500'000'000, 2U));
    ASSERT_EQ(eight.dependencies_of(last).size(), 1U);
    EXPECT_EQ(eight.dependencies_of(last)[0].delay_ns, 47'500'000'000);
}

// A quoted cell may go over lines; one that never ends is an error where it begins.
TEST(CsvFormats, ReadRecordsOverLinesAndSpreadsheets) {
    const std::string header = "Timestamp,Model,Request tokens,Response tokens";
    const Trace trace = read({header, "5,\"a", "b\",472,18", "6,c,1,2"}).sound();
    EXPECT_EQ(std::tuple(trace.rows[0].line, trace.rows[1].line), std::tuple(2U, 4U));
    const ReadTrace open = read({header, "5,c,1,2", "6,\"a,1,2", "7,c,1,2"});
    EXPECT_FALSE(open.usable);
    EXPECT_EQ(open.errors.list[0].line, 3U);
    EXPECT_EQ(open.errors.list[0].problem, "has a quote that is never closed");
    // What pandas and Excel add to a file: a column of indices without a name, commas at the end of
    // lines, rows without a value. Only values of unknown columns count as unknown.
    const std::string other_header = "TIMESTAMP,ContextTokens,GeneratedTokens";
    const Trace index =
        read({"," + other_header, "0,2023-11-16 18:17:03,5,6", "1,2023-11-16 18:17:04,7,8"})
            .sound();
    EXPECT_EQ(std::tuple(index.format, index.rows[1].input_length), std::tuple("azure", 7U));
    EXPECT_EQ(index.unknown_keys, 2U);
    const Trace tabs = read({"\tTIMESTAMP\tContextTokens\tGeneratedTokens\t",
                             "0\t2023-11-16 18:17:03\t5\t6\t", "1\t2023-11-16 18:17:04\t7\t8"})
                           .sound();
    EXPECT_EQ(tabs.rows[1].output_length, 8U);
    const Trace commas = read({other_header + ",", "2023-11-16 18:17:03,5,6,", ",,,",
                               "2023-11-16 18:17:04,7,8,,", ",,", "2023-11-16 18:17:05,7,8"})
                             .sound();
    EXPECT_EQ(std::tuple(commas.rows.size(), commas.unknown_keys), std::tuple(3U, 0U));
    ASSERT_EQ(commas.remarks.size(), 1U);
    EXPECT_STREQ(commas.remarks[0].many, "empty rows skipped");
    EXPECT_EQ(commas.remarks[0].count, 2U);
    ReadOptions mapped{.time_unit = "s",
                       .keep = {"Unnamed: 0"},
                       .map = {{"time", "t"}, {"in", "i"}, {"out", "o"}}};
    const Trace any = read({",t,i,o", "41,1,2,3"}, mapped).sound();
    EXPECT_EQ(any.kept_of(any.rows[0]), R"({"Unnamed: 0":41})");
}

// Dates as spreadsheets write them are refused with the form that is read.
TEST(Azure, NamesTheFormOfDates) {
    const auto remedy = [](const std::string& time) {
        const ReadTrace got = read({"TIMESTAMP,ContextTokens,GeneratedTokens", time + ",5,6"});
        EXPECT_EQ(got.errors.count, 1U);
        return got.errors.empty() ? "" : got.errors.list[0].remedy;
    };
    const std::string form = "write it as 2023-11-16 18:15:46.68";
    expect_each(remedy, gives("16.11.2023 18:15:46", form), gives("11/16/2023 18:15", form),
                gives("15:46.7", form),
                gives("45246.7609", "it looks like a spreadsheet's count of days; " + form),
                gives("1700158623", "use --time-unit for the unit of numbers"));
}

// Files that were joined have their header twice: one error, which says so.
TEST(CsvFormats, NameAHeaderInsideTheFile) {
    const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens";
    const std::string one = "2023-11-16 18:17:03,5,6";
    const ReadTrace got = read({header, one, "timestamp,contexttokens,generatedtokens", one});
    EXPECT_EQ(std::tuple(got.errors.count, got.errors.list[0].line), std::tuple(1U, 3U));
    EXPECT_EQ(got.errors.list[0].problem, "is a header inside the file");
    // A column that stands there twice is read where both columns agree in every row, as the last
    // of equal keys in JSON; where they differ nothing says which one counts.
    const std::string twice = "TIMESTAMP,ContextTokens,contexttokens,GeneratedTokens,x,x";
    EXPECT_EQ(read({twice, "2023-11-16 18:17:03,5,5,6,1,2"}).sound().rows[0].input_length, 5U);
    const ReadTrace differ =
        read({twice, "2023-11-16 18:17:03,5,5,6,1,2", "2023-11-16 18:17:03,1,2,6,1,1",
              "2023-11-16 18:17:03,1,2,6,1,1"});
    EXPECT_EQ(differ.errors.count, 1U);
    EXPECT_EQ(differ.first_error(),
              "t.jsonl:3: ContextTokens \"1, 2\" differs between two columns of that name; remove "
              "or rename one of the two");
}

using Cells = std::vector<std::string>;

Cells split(std::string_view record, char separator = ',') {
    CsvCells cells;
    EXPECT_TRUE(cells.split(record, separator)) << record;
    Cells all;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        all.emplace_back(cells[i]);
    }
    return all;
}

TEST(Csv, SplitsRecordsAndFindsColumns) {
    expect_each([&](auto in) { return split(in); }, gives("a,b,c", (Cells{"a", "b", "c"})),
                gives("a,,c,", (Cells{"a", "", "c", ""})), gives(" a , b c ", (Cells{"a", "b c"})),
                gives("", (Cells{""})));
    EXPECT_EQ(split("a;b,c", ';'), (Cells{"a", "b,c"}));
    EXPECT_EQ(split(R"("a,b",c)"), (Cells{"a,b", "c"}));
    EXPECT_EQ(split(R"("say ""hi""","""")"), (Cells{R"(say "hi")", "\""}));
    EXPECT_EQ(split("\"two\nlines\",x"), (Cells{"two\nlines", "x"}));
    EXPECT_EQ(split(R"("",b)"), (Cells{"", "b"}));
    EXPECT_EQ(split(R"(a"b,c)"), (Cells{"a\"b", "c"})) << "a quote inside a plain cell is text";
    // A record whose quote is open goes on in the next line; text behind a quote is an error.
    CsvCells cells;
    EXPECT_EQ(cells.split(R"(a,"b)", ',').error().code, ErrorCode::truncated);
    EXPECT_EQ(cells.split(R"(a,"b"")", ',').error().code, ErrorCode::truncated);
    EXPECT_EQ(cells.split(R"("a"b,c)", ',').error().code, ErrorCode::invalid);
    CsvHeader header;
    ASSERT_TRUE(header.read("Timestamp,Request tokens,\"Log Type\""));
    CsvCells other_cells;
    ASSERT_TRUE(other_cells.split("5,472,API log", header.separator()));
    const CsvRow row(header, other_cells);
    EXPECT_EQ(row.find("Log Type"), "API log");
    EXPECT_EQ(row.find("Model"), std::nullopt);
    ASSERT_TRUE(header.read("a\tb"));
    EXPECT_EQ(header.separator(), '\t');
    EXPECT_FALSE(header.read("alone") || header.read("a,\"b"));
    // The index that pandas writes has no name, nor has what stands behind Excel's last comma.
    CsvHeader nameless;
    ASSERT_TRUE(nameless.read(",a,,b,"));
    EXPECT_EQ(nameless.names(), (Cells{"Unnamed: 0", "a", "Unnamed: 2", "b", "Unnamed: 4"}));
    EXPECT_EQ(nameless.named_size(), 4U);
    EXPECT_TRUE(nameless.is_name(0, ""));
    EXPECT_TRUE(nameless.is_name(1, "A"));
    EXPECT_FALSE(nameless.is_name(1, ""));
    EXPECT_FALSE(nameless.read(",hello,") || nameless.read(",,"));
}

// Where a CSV header is of no known format, the error says what to write for --map.

CsvHeader header_of(std::string_view line) {
    CsvHeader header;
    EXPECT_TRUE(header.read(line)) << line;
    return header;
}

// Names that leave no doubt give a flag that can be copied, in the spelling of the header.
TEST(MapHint, FillsInObviousNamesOfAHeader) {
    EXPECT_EQ(map_remedy(header_of("time,prompt_tokens,completion_tokens").names(), "s"),
              "use --map time=time,in=prompt_tokens,out=completion_tokens");
    EXPECT_EQ(map_remedy(header_of("user,TS,Output_Length,input_length").names(), ""),
              "use --map time=TS,in=input_length,out=Output_Length, and --time-unit s, ms, us or "
              "ns (dates and epochs need none)");
    EXPECT_EQ(map_remedy(header_of("when,input_tokens,out").names(), ""),
              "name the columns with --map time=COLUMN,in=input_tokens,out=out; there are when, "
              "input_tokens, out");
    EXPECT_EQ(map_remedy(header_of("a,b").names(), "s"),
              "name the columns with --map time=COLUMN,in=COLUMN,out=COLUMN; there are a, b");
    // A file that begins with a row has no header, whatever the map says: the row would be lost.
    EXPECT_TRUE(is_row_of_numbers(header_of("0.018,114,21")));
    EXPECT_TRUE(is_row_of_numbers(header_of("2023-11-16 18:15:46.68,374,4,9")));
    EXPECT_TRUE(is_row_of_numbers(header_of("1,2,")));
    EXPECT_FALSE(is_row_of_numbers(header_of("0,1,tokens")));
    const std::string why =
        "t.jsonl:1: \"0.018,114,21\" is a row of numbers where the CSV header belongs; add a first "
        "line with the names of the columns, such as time,in,out";
    ReadOptions options;
    EXPECT_EQ(read({"0.018,114,21", "1.5,4,3"}, options).first_error(), why);
    options.map = {{"time", "0.018"}, {"in", "114"}, {"out", "21"}};
    options.time_unit = "s";
    EXPECT_EQ(read({"0.018,114,21", "1.5,4,3"}, options).first_error(), why);
}

// Any columns by --map: CSV and JSON lines, units that show themselves or are asked for, block
// sizes found on the data.

ReadOptions mapped(std::vector<MappedColumn> map, const std::string& unit = "") {
    return {.time_unit = unit, .map = std::move(map)};
}

const std::vector<MappedColumn> serve_gen = {
    {"time", "timestamp"}, {"in", "input_tokens"}, {"out", "output_tokens"}};

// The output of ServeGen, which people ask how to run: relative seconds, so the unit must be said.
TEST(Generic, ReadsCsvByMapInAnyCase) {
    const std::vector<std::string> lines = {"request_id,timestamp,input_tokens,output_tokens",
                                            "0,0.25,100,20", "1,1.75,200,30"};
    const ReadTrace unsaid = read(lines, mapped(serve_gen));
    EXPECT_EQ(unsaid.errors.count, 1U);
    EXPECT_EQ(unsaid.first_error(),
              "t.jsonl:2: timestamp \"0.25\" does not show its unit; use --time-unit s, ms, us, ns "
              "or iso");
    const Trace trace = read(lines, mapped(serve_gen, "s")).sound();
    EXPECT_EQ(std::tuple(trace.format, trace.time_unit), std::tuple("generic", "s"));
    EXPECT_EQ(trace.rows[1].at_ns, 1'500'000'000);
    EXPECT_EQ(std::tuple(trace.rows[1].input_length, trace.block_size), std::tuple(200U, 0U));
    EXPECT_EQ(trace.unknown_keys, 2U) << "request_id";
    // A map goes by the spelling of the file, also where the columns are those of a known format
    // but for upper and lower case.
    const std::vector<std::string> other_lines = {
        "timestamp,contexttokens,generatedtokens,numimages", "0.25,100,20,3"};
    ReadOptions options =
        mapped({{"time", "timestamp"}, {"in", "contexttokens"}, {"out", "generatedtokens"}}, "s");
    options.keep = {"numimages"};
    const Trace other_trace = read(other_lines, options).sound();
    EXPECT_EQ(other_trace.format, "generic");
    EXPECT_EQ(other_trace.rows[0].input_length, 100U);
    EXPECT_EQ(other_trace.kept_of(other_trace.rows[0]), R"({"numimages":3})");
    // Where no column is spelled as the map has it, one that differs in upper and lower case is
    // meant.
    const std::vector<std::string> odd = {"TS,in,IN,Out,Blocks", "0.25,100,5,20,1 2"};
    const Trace found =
        read(odd, mapped({{"time", "ts"}, {"in", "in"}, {"out", "OUT"}, {"hashes", "blocks"}}, "s"))
            .sound();
    EXPECT_EQ(found.rows[0].input_length, 100U) << "the exact name goes before the other";
    EXPECT_EQ(found.rows[0].output_length, 20U);
    EXPECT_EQ(found.rows[0].ids_count, 2U);
    EXPECT_EQ(found.unknown_keys, 1U) << "IN";
    EXPECT_EQ(read(odd, mapped({{"time", "t"}, {"in", "in"}, {"out", "out"}}, "s")).first_error(),
              "t.jsonl:2: --map \"time=t\" does not name a column; columns are TS, in, IN, Out, "
              "Blocks");
}

// Wall clocks and epochs show their unit; every row is held to the first one's.
TEST(Generic, GuessesUnitsAndReadsJsonByMap) {
    const auto unit_of = [](const std::string& time) {
        const ReadTrace got = read({"time,in,out", time + ",1,1"}, mapped({}, "auto"));
        return got.usable ? got.trace.time_unit : got.first_error();
    };
    ReadOptions named{.format = "generic"};
    EXPECT_TRUE(read({"time,in,out", "2024-01-01T00:00:00Z,1,1"}, named).usable);
    EXPECT_TRUE(says(unit_of("5"), "a known format"));
    const auto with = [&](const std::string& time, const std::string& second) {
        return read({"time,in,out", time + ",1,1", second + ",1,1"}, named);
    };
    EXPECT_EQ(with("1732060800123", "1732060800124").trace.time_unit, "ms");
    EXPECT_EQ(with("1732060800123", "1732060800124").trace.rows[1].at_ns, 1'000'000);
    EXPECT_EQ(with("2024-01-01 00:00:00", "2024-01-01 00:00:01").trace.time_unit, "iso");
    EXPECT_FALSE(with("1732060800", "2024-01-01 00:00:01").usable);
    // JSON lines: a column may be a path; sessions, turns and delays come along.
    const std::vector<MappedColumn> map = {{"time", "at"},         {"in", "usage.prompt_tokens"},
                                           {"out", "usage.out"},   {"session", "user"},
                                           {"turn", "n"},          {"delay", "think"},
                                           {"hashes", "block_ids"}};
    const std::vector<std::string> lines = {
        R"({"at":1,"usage":{"prompt_tokens":40,"out":5},"user":"u","n":1,"block_ids":["aa","bb","x"]})",
        R"({"at":2,"usage":{"prompt_tokens":33,"out":5},"user":"u","n":2,"think":0.5,)"
        R"("block_ids":["aa","bb","y"]})"};
    const Trace trace = read(lines, mapped(map, "s")).sound();
    EXPECT_EQ(std::tuple(trace.block_size, trace.tail_rule), std::tuple(16U, TailRule::ceil));
    EXPECT_EQ(trace.ids[0], trace.ids[3]) << "equal strings, equal ids";
    EXPECT_NE(trace.ids[2], trace.ids[5]);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"u"}));
    EXPECT_EQ(trace.rows[1].turn, 2U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].delay_ns, 500'000'000);
    EXPECT_EQ(trace.unknown_keys, 0U);
}

// --keep goes the paths of --map: into objects, of which the last name may have dots, not into
// lists. In CSV a name with dots is a column of that name.
TEST(Generic, KeepsByPath) {
    ReadOptions options =
        mapped({{"time", "at"}, {"in", "u.in"}, {"out", "u.x.y"}, {"session", "u.w.who.is"}}, "s");
    options.keep = {"u.w.who.is", "u.w", "u.tags", "u", "a.b"};
    const std::vector<std::string> lines = {
        R"({"at":1,"u":{"in":1,"x.y":2,"w":{"who.is":"a\"b"},"tags":[{"k":1}]},"a.b":3})",
        R"({"at":2,"u":{"in":1,"x.y":2,"w":7},"a":{"b":{"c":null}}})",
        R"({"at":3,"u":{"in":1,"x":{"y":2}},"a":[{"b":1}]})"};
    const Trace trace = read(lines, options).sound();
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"a\"b"}));
    EXPECT_EQ(trace.kept_of(trace.rows[0]),
              R"({"u.w.who.is":"a\"b","u.w":{"who.is":"a\"b"},"u.tags":[{"k":1}],)"
              R"("u":{"in":1,"x.y":2,"w":{"who.is":"a\"b"},"tags":[{"k":1}]},"a.b":3})");
    EXPECT_EQ(trace.kept_of(trace.rows[1]),
              R"({"u.w.who.is":null,"u.w":7,"u.tags":null,"u":{"in":1,"x.y":2,"w":7},)"
              R"("a.b":{"c":null}})");
    EXPECT_EQ(
        trace.kept_of(trace.rows[2]),
        R"({"u.w.who.is":null,"u.w":null,"u.tags":null,"u":{"in":1,"x":{"y":2}},"a.b":null})");
    EXPECT_EQ(trace.unknown_keys, 0U);
    for (const char* wrong : {"u.tags.k", "u.tags.0", "u.wh", "u.", ".u", "."}) {
        options.keep = {wrong};
        EXPECT_EQ(read(lines, options).first_error(),
                  std::string("--keep \"") + wrong +
                      "\" is not a column of any row; columns are at, u.in, u.x.y, u.w.who.is, "
                      "u.tags, a.b");
    }
    options = mapped({{"time", "at"}, {"in", "u.in"}, {"out", "out"}}, "s");
    options.keep = {"u.w"};
    const std::vector<std::string> csv = {"at,u.in,out,u.w,u", "1,1,2,x,3"};
    EXPECT_EQ(read(csv, options).sound().kept_of({}), R"({"u.w":"x"})");
    options.keep = {"u.q"};
    EXPECT_TRUE(says(read(csv, options).first_error(), "columns are at, u.in, out, u.w, u"));
}

ReadTrace with_blocks(const std::vector<std::string>& rows, std::uint32_t size = 0,
                      bool lenient = false) {
    std::vector<std::string> lines = {"time,in,out,hashes"};
    lines.insert(lines.end(), rows.begin(), rows.end());
    return read(
        lines, ReadOptions{
                   .format = "generic", .time_unit = "ms", .block_size = size, .lenient = lenient});
}

// Block size and rule are those that all rows follow.
TEST(Generic, FindsBlockSizeAndRule) {
    const ReadTrace ceil = with_blocks({"0,65,1,1 2", "1,128,1,1 2", "2,200,1,1 2 3 4"});
    ASSERT_TRUE(ceil.usable) << ceil.first_error();
    EXPECT_EQ(ceil.trace.block_size, 64U);
    EXPECT_EQ(ceil.trace.tail_rule, TailRule::ceil);
    const ReadTrace floor = with_blocks({"0,65,1,[1]", "1,128,1,\"[1, 2]\"", "2,255,1,1;2;3"});
    ASSERT_TRUE(floor.usable) << floor.first_error();
    EXPECT_EQ(floor.trace.block_size, 64U);
    EXPECT_EQ(floor.trace.tail_rule, TailRule::floor);
    EXPECT_EQ(plain_ids(floor.trace.ids), (std::vector<std::uint64_t>{1, 1, 2, 1, 2, 3}));
    // Exact multiples follow both rules: ceil. What fits several sizes is the user's to say.
    EXPECT_EQ(with_blocks({"0,64,1,1 2", "1,128,1,1 2 3 4"}, 32).sound().tail_rule, TailRule::ceil);
    EXPECT_EQ(with_blocks({"0,10,1,1"}).first_error(),
              "t.jsonl: has block ids that fit several block sizes equally well: 16, 32, 64, 128, "
              "256, 512, 1024; choose one with --block-size");
    // Where no size fits all rows, those that the best one leaves out are listed.
    const std::vector<std::string> rows = {"0,65,1,1 2", "1,200,1,1 2 3 4", "2,300,1,1 2"};
    const ReadTrace got = with_blocks(rows);
    ASSERT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.errors.list[0].line, 4U);
    EXPECT_TRUE(says(got.errors.list[0].problem, "at block size 64 needs 5"));
    EXPECT_EQ(with_blocks(rows, 64, true).sound().rows_uncovered, 1U);
}

// Turns of a file that counts them from 0 are counted from 1, also those of a session whose first
// turn is not in it; another file counts for itself.
TEST(Generic, TurnsFrom0ColumnsWithDotsAndTheMap) {
    const ReadOptions options = mapped({{"time", "at"}, {"session", "s"}, {"turn", "n"}}, "s");
    const std::string head = "at,in,out,s,n";
    const std::vector<std::string> from_0{head,        "0,1,1,a,3", "1,1,1,b,0",
                                          "2,1,1,b,1", "3,1,1,b,",  "4,1,1,,0"};
    const auto turns_of = [&](const std::vector<std::string>& lines) {
        return members_of(read(lines, options).sound().rows, &TraceRow::turn);
    };
    EXPECT_EQ(turns_of(from_0), (std::vector<std::uint32_t>{4, 1, 2, 3, 1}));
    EXPECT_EQ(turns_of({head, "0,1,1,a,3", "1,1,1,b,1", "2,1,1,b,"}),
              (std::vector<std::uint32_t>{3, 1, 2}));
    // A mapped column may have a dot in its name.
    const ReadOptions map = mapped({{"time", "a.b"}}, "s");
    EXPECT_EQ(read({"a.b,in,out", "1,1,1"}, map).sound().unknown_keys, 0U);
    EXPECT_EQ(read({R"({"a.b":1,"in":1,"out":1})"}, map).sound().unknown_keys, 0U);
    // A map that names what is not there is one error, not one a row.
    const std::vector<std::string> lines = {"when,in,out,user", "1,1,1,a", "2,1,1,a"};
    const ReadTrace got = read(lines, mapped({{"time", "wen"}}, "s"));
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(
        got.first_error(),
        "t.jsonl:2: --map \"time=wen\" does not name a column; columns are when, in, out, user");
    EXPECT_EQ(
        read({"wh\x1b[2Jen,in,out", "1,1,1"}, mapped({{"time", "x"}}, "s")).first_error(),
        "t.jsonl:2: --map \"time=x\" does not name a column; columns are wh\\u001b[2Jen, in, out");
    EXPECT_EQ(read({"in,out", "1,1"}, mapped({{"in", "in"}, {"out", "out"}}, "s")).first_error(),
              "t.jsonl:2: --map does not say which column has the arrival times; add time=COLUMN "
              "to it; columns are in, out; if none has times, use replay --rate R");
    EXPECT_EQ(read({"when,in", "1,1"}, mapped({{"time", "when"}}, "s")).first_error(),
              "t.jsonl:2: --map does not say which column has the output tokens; add out=COLUMN "
              "to it; columns are when, in; if none has them, use --default-output N");
    ReadOptions given = mapped({{"time", "when"}, {"in", "in"}}, "s");
    given.default_output = 7;
    EXPECT_EQ(read({"when,in", "1,1"}, given).sound().rows[0].output_length, 7U);
    EXPECT_EQ(read(lines, mapped({{"time", "when"}, {"session", "usr"}}, "s")).first_error(),
              "--map \"session=usr\" names a column that no row has; other columns are user");
}

}  // namespace
}  // namespace driftless
