// Azure and BurstGPT files are read by the names of their columns, and say what they lack.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

// Fixture 5: seven digits; two spellings of the clock in one file; a column in between.
TEST(Azure, ReadsAllThreeReleases) {
    const ReadTrace first =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.9799600,4808,10",
              "2023-11-16 18:17:04.0319600,3180,8"});
    ASSERT_TRUE(first.usable) << first.first_error();
    EXPECT_EQ(first.trace.format, "azure");
    EXPECT_EQ(first.trace.time_unit, "iso");
    EXPECT_EQ(first.trace.block_size, 0U);
    EXPECT_EQ(first.trace.rows[1].at_ns, 52'000'000);
    EXPECT_EQ(first.trace.rows[1].input_length, 3180U);
    EXPECT_EQ(first.trace.rows[1].output_length, 8U);
    EXPECT_EQ(first.trace.rows[1].ids_count, 0U);
    EXPECT_EQ(first.trace.rows[1].line, 3U);
    EXPECT_EQ(first.trace.unknown_keys, 0U);
    const ReadTrace second =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens", "2024-05-12 00:00:00.001163+00:00,5,6",
              "2024-05-12 00:00:00+00:00,7,8"});
    ASSERT_TRUE(second.usable) << second.first_error();
    EXPECT_EQ(second.trace.rows[0].input_length, 7U);
    EXPECT_EQ(second.trace.rows[1].at_ns, 1'163'000);
    EXPECT_EQ(second.trace.rows_unsorted, 1U);
    const ReadTrace images =
        read({"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
              "2024-10-15T12:00:00.269Z,0,770,491", "2024-10-15T12:00:05.819Z,1,949,126"});
    ASSERT_TRUE(images.usable) << images.first_error();
    EXPECT_EQ(images.trace.rows[1].input_length, 949U);
    EXPECT_EQ(images.trace.rows[1].at_ns, 5'550'000'000);
    ASSERT_EQ(images.trace.remarks.size(), 1U);
    EXPECT_STREQ(images.trace.remarks[0].one, "row with images, which are not sent");
}

TEST(Azure, ListsAllErrors) {
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
}

// --keep works on CSV: numbers stay numbers, empty cells are null.
TEST(Azure, KeepsColumns) {
    ReadOptions options;
    options.keep = {"pool", "rank"};
    const ReadTrace got =
        read({"TIMESTAMP,ContextTokens,GeneratedTokens,pool,rank",
              "2023-11-16 18:17:03,1,2,\"a \"\"b\"\"\",7", "2023-11-16 18:17:04,1,2,,007"},
             options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[0]), R"({"pool":"a \"b\"","rank":7})");
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[1]), R"({"pool":null,"rank":"007"})");
}

// The header spells as it likes: a kept column is found in any case of letters, and keeps the
// spelling of --keep. One that is missing is refused with the names that there are.
TEST(Azure, KeepsColumnsInAnyCase) {
    ReadOptions options;
    const std::vector<std::string> lines = {
        "timestamp,numimages,contexttokens,generatedtokens,Pool",
        "2024-10-15T12:00:00.269Z,3,770,491,x"};
    options.keep = {"NUMIMAGES", "pool"};
    const ReadTrace got = read(lines, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[0]), R"({"NUMIMAGES":3,"pool":"x"})");
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    ASSERT_EQ(got.trace.remarks.size(), 1U) << "the format still finds its column";
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
TEST(BurstGpt, ReadsSixColumns) {
    const ReadTrace got =
        read({"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
              "5,ChatGPT,472,18,490,Conversation log", "45,ChatGPT,1087,0,1087,API log",
              "45,GPT-4,1087,230,1317,API log", "46,ChatGPT,0,0,0,API log"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "burstgpt");
    ASSERT_EQ(got.trace.rows.size(), 2U);
    EXPECT_EQ(got.trace.rows[1].at_ns, 40'000'000'000);
    EXPECT_EQ(got.trace.rows[1].index, 1U);
    EXPECT_EQ(got.trace.rows[1].line, 4U);
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.remarks[0].count, 2U);
    EXPECT_TRUE(got.trace.sessions.empty());
}

// Fixture 6: eight columns, two of them in front of the lengths; sessions with pauses.
TEST(BurstGpt, ReadsEightColumns) {
    const ReadTrace got =
        read({"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
              "Log Type",
              "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log",
              "19440111.0,,2,GPT-4,5,6,11,API log",
              "19440200.5,1722ac82,10,GPT-4,1400,10,1410,Conversation log"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].input_length, 906U);
    EXPECT_EQ(got.trace.rows[1].session, no_session);
    const TraceRow& last = got.trace.rows[2];
    EXPECT_EQ(last.at_ns, 90'500'000'000);
    EXPECT_EQ(last.turn, 2U);
    ASSERT_EQ(got.trace.dependencies_of(last).size(), 1U);
    EXPECT_EQ(got.trace.dependencies_of(last)[0].delay_ns, 47'500'000'000);
}

// A quoted cell may go over lines; one that never ends is an error where it begins.
TEST(CsvFormats, ReadRecordsOverLines) {
    const std::string header = "Timestamp,Model,Request tokens,Response tokens";
    const ReadTrace got = read({header, "5,\"a", "b\",472,18", "6,c,1,2"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].line, 2U);
    EXPECT_EQ(got.trace.rows[1].line, 4U);
    const ReadTrace open = read({header, "5,c,1,2", "6,\"a,1,2", "7,c,1,2"});
    EXPECT_FALSE(open.usable);
    EXPECT_EQ(open.errors.list[0].line, 3U);
    EXPECT_EQ(open.errors.list[0].problem, "has a quote that is never closed");
}

// What pandas and Excel add to a file: a column of indices without a name, commas at the end of
// lines, rows without a value. Only values of unknown columns count as unknown.
TEST(CsvFormats, ReadWhatSpreadsheetsWrite) {
    const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens";
    const ReadTrace index =
        read({"," + header, "0,2023-11-16 18:17:03,5,6", "1,2023-11-16 18:17:04,7,8"});
    ASSERT_TRUE(index.usable) << index.first_error();
    EXPECT_EQ(index.trace.format, "azure");
    EXPECT_EQ(index.trace.rows[1].input_length, 7U);
    EXPECT_EQ(index.trace.unknown_keys, 2U);
    const ReadTrace tabs = read({"\tTIMESTAMP\tContextTokens\tGeneratedTokens\t",
                                 "0\t2023-11-16 18:17:03\t5\t6\t", "1\t2023-11-16 18:17:04\t7\t8"});
    ASSERT_TRUE(tabs.usable) << tabs.first_error();
    EXPECT_EQ(tabs.trace.rows[1].output_length, 8U);
    const ReadTrace commas = read({header + ",", "2023-11-16 18:17:03,5,6,", ",,,",
                                   "2023-11-16 18:17:04,7,8,,", ",,", "2023-11-16 18:17:05,7,8"});
    ASSERT_TRUE(commas.usable) << commas.first_error();
    EXPECT_EQ(commas.trace.rows.size(), 3U);
    EXPECT_EQ(commas.trace.unknown_keys, 0U);
    ASSERT_EQ(commas.trace.remarks.size(), 1U);
    EXPECT_STREQ(commas.trace.remarks[0].many, "empty rows skipped");
    EXPECT_EQ(commas.trace.remarks[0].count, 2U);
    ReadOptions mapped;
    mapped.map = {{"time", "t"}, {"in", "i"}, {"out", "o"}};
    mapped.time_unit = "s";
    mapped.keep = {"Unnamed: 0"};
    const ReadTrace any = read({",t,i,o", "41,1,2,3"}, mapped);
    ASSERT_TRUE(any.usable) << any.first_error();
    EXPECT_EQ(any.trace.kept_of(any.trace.rows[0]), R"({"Unnamed: 0":41})");
}

// Dates as spreadsheets write them are refused with the form that is read.
TEST(Azure, NamesTheFormOfDates) {
    const auto remedy = [](const std::string& time) {
        const ReadTrace got = read({"TIMESTAMP,ContextTokens,GeneratedTokens", time + ",5,6"});
        EXPECT_EQ(got.errors.count, 1U);
        return got.errors.empty() ? "" : got.errors.list[0].remedy;
    };
    const std::string form = "write it as 2023-11-16 18:15:46.68";
    EXPECT_EQ(remedy("16.11.2023 18:15:46"), form);
    EXPECT_EQ(remedy("11/16/2023 18:15"), form);
    EXPECT_EQ(remedy("15:46.7"), form);
    EXPECT_EQ(remedy("45246.7609"), "it looks like a spreadsheet's count of days; " + form);
    EXPECT_EQ(remedy("1700158623"), "use --time-unit for the unit of numbers");
}

// Files that were joined have their header twice: one error, which says so.
TEST(CsvFormats, NameAHeaderInsideTheFile) {
    const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens";
    const std::string one = "2023-11-16 18:17:03,5,6";
    const ReadTrace got = read({header, one, "timestamp,contexttokens,generatedtokens", one});
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.errors.list[0].line, 3U);
    EXPECT_EQ(got.errors.list[0].problem, "is a header inside the file");
}

// A column that stands there twice is read where both columns agree in every row, as the last
// of equal keys in JSON; where they differ nothing says which one counts.
TEST(CsvFormats, RefuseColumnsThatContradictEachOther) {
    const std::string header = "TIMESTAMP,ContextTokens,contexttokens,GeneratedTokens,x,x";
    const ReadTrace same = read({header, "2023-11-16 18:17:03,5,5,6,1,2"});
    ASSERT_TRUE(same.usable) << same.first_error();
    EXPECT_EQ(same.trace.rows[0].input_length, 5U);
    const ReadTrace differ =
        read({header, "2023-11-16 18:17:03,5,5,6,1,2", "2023-11-16 18:17:03,1,2,6,1,1",
              "2023-11-16 18:17:03,1,2,6,1,1"});
    EXPECT_EQ(differ.errors.count, 1U);
    EXPECT_EQ(differ.first_error(),
              "t.jsonl:3: ContextTokens \"1, 2\" differs between two columns of that name; remove "
              "or rename one of the two");
}

}  // namespace
}  // namespace driftless
