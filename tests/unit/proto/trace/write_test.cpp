// Traces written, read back, and in segments.

#include "proto/trace/write.hpp"

#include "proto/trace/segments.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

const std::string header =
    R"({"schema":"driftless.trace","version":1,"block_size":16,"tail_rule":"ceil"})";

// Every format's samples, strict and lenient: what is usable comes back equal, to the nanosecond.
TEST(Canonical, HoldsEveryFormat) {
    for (const char* format : {"agentic_mooncake", "azure", "burstgpt", "canonical", "dynamo",
                               "generic", "mooncake", "qwen", "weka"}) {
        int usable = 0;
        const std::filesystem::path folder(TEST_DATA "/../fuzz/corpus/" + std::string(format));
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            for (const bool lenient : {false, true}) {
                ReadOptions options{.lenient = lenient, .sessions = Sessions::open};
                if (std::string_view(format) == "generic") {
                    options.map = {{"time", "t"}, {"in", "u.i"}, {"hashes", "h"}, {"session", "s"}};
                    options.time_unit = "s";
                }
                const ReadTrace got = read(lines_of(read_bytes(entry.path())), options);
                if (got.usable) {
                    EXPECT_EQ(canonical_round_trip(got.trace), "") << entry.path();
                    ++usable;
                }
            }
        }
        EXPECT_GT(usable, 0) << format;
    }
}

TEST(Canonical, ReadsEveryField) {
    const Trace trace =
        read(
            {
                header,
                R"({"at_ns":1000000007,"input_length":33,"output_length":4,"hash_ids":[7,18446744073709551615,9],)"
                R"("session":"s","turn":1,"name_space":3,"request_id":"a"})",
                R"({"at_ns":5000000000,"input_length":20,"output_length":1,"hash_ids":[1],"session":"s",)"
                R"("session_number":4,"after":[{"row":0,"trigger":"dispatch","delay_ns":12}]})",
                R"({"at_ns":6000000000,"input_length":20,"output_length":1})",
            })
            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("canonical", 16U));
    EXPECT_EQ(trace.rows[1].at_ns, 3'999'999'993);
    EXPECT_EQ(trace.ids_of(trace.rows[0])[1], 18446744073709551615U);
    EXPECT_EQ(trace.name_spaces, 2U);
    EXPECT_NE(trace.rows[0].name_space, trace.rows[1].name_space);
    ASSERT_EQ(trace.sessions.size(), 2U) << "one name, two numbers";
    EXPECT_EQ(std::tuple(trace.sessions[0], trace.rows[2].session, trace.rows[2].ids_count),
              std::tuple(trace.sessions[1], no_session, 0U));
    const auto waits = trace.dependencies_of(trace.rows[1]);
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(std::tuple(waits[0].on, waits[0].trigger, waits[0].delay_ns, trace.unknown_keys),
              std::tuple(0U, Trigger::dispatch, 12, 1U));
}

// A header that is missing or of another version, counts, rows that wait for later ones, triggers.
TEST(Canonical, RefusesContradictionsAndCountsRowsByFile) {
    const auto problem = [](const std::vector<std::string>& lines) {
        return read(lines, ReadOptions{.format = "canonical"}).first_error();
    };
    const std::string row = R"({"at_ns":0,"input_length":33,"output_length":4,"hash_ids":)";
    EXPECT_TRUE(says(problem({row + "[1,2,3]}"}), "before a header"));
    EXPECT_TRUE(says(problem({R"({"schema":"driftless.trace","version":2})"}), "version"));
    EXPECT_EQ(problem({header, row + "[1,2,3]}"}), "");
    EXPECT_EQ(problem({header, row + "[1,2]}"}), "") << "the floor rule, row by row";
    EXPECT_TRUE(says(problem({header, row + "[1,2,3,4]}"}), "needs 3"));
    EXPECT_TRUE(says(problem({header, row + "[1]}"}), "needs 3"));
    const std::string uncovered =
        R"({"schema":"driftless.trace","version":1,"block_size":16,"uncovered":true})";
    EXPECT_EQ(problem({uncovered, row + "[1]}"}), "");
    EXPECT_TRUE(says(problem({header, row + R"([1,2,3],"after":[{"row":0}]})"}), "an earlier row"));
    EXPECT_TRUE(says(problem({header, row + "[1,2,3]}",
                              row + R"([1,2,3],"after":[{"row":0,"trigger":"never"}]})"}),
                     "trigger"));
    EXPECT_TRUE(says(problem({header, row + R"([1,2,3],"turn":4294967295})"}), "turn"));
    // Several files are one trace: rows, sessions and namespaces of each are its own.
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    for (const char* name : {"a", "b"}) {
        reader.begin_file(name);
        reader.add_line(1, header);
        reader.add_line(2, R"({"at_ns":0,"input_length":1,"output_length":1,"session":"s"})");
        reader.add_line(3, R"({"at_ns":9,"input_length":1,"output_length":1,"after":[{"row":0}]})");
    }
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(std::tuple(trace.name_spaces, trace.sessions.size()), std::tuple(2U, 2U));
    EXPECT_EQ(trace.dependencies.at(1).row, 3U);
    EXPECT_EQ(trace.dependencies.at(1).on, 2U);
}

std::vector<std::string> mooncake(const Trace& trace, std::vector<WrittenRow> rows,
                                  std::vector<std::string>* losses = nullptr) {
    TraceWriter writer(trace, mooncake_target, std::move(rows));
    std::vector<std::string> lines = lines_of(writer);
    if (losses != nullptr) {
        *losses = writer.losses();
    }
    return lines;
}

using Lines = std::vector<std::string>;

// A Mooncake trace comes out as it went in: ids by first use, whole milliseconds.
TEST(Write, MooncakeIsItselfInOneNumbering) {
    const Trace trace = read({row("0", 1000, 5, "0, 1"), row("27482", 513, 52, "0, 2")}).sound();
    Lines losses;
    EXPECT_EQ(
        mooncake(trace, all_rows(trace), &losses),
        (Lines{R"({"timestamp":0,"input_length":1000,"output_length":5,"hash_ids":[0,1]})",
               R"({"timestamp":27482,"input_length":513,"output_length":52,"hash_ids":[0,2]})"}));
    EXPECT_EQ(losses, Lines{});
    // Ids of two namespaces and of 64 bits become one numbering; a floor rule's tails get ids that
    // nothing shares.
    const Trace other_trace =
        read(
            {
                R"({"schema":"driftless.trace","version":1,"block_size":16,"tail_rule":"floor"})",
                R"({"at_ns":0,"input_length":33,"output_length":1,"hash_ids":[18446744073709551615,5]})",
                R"({"at_ns":0,"input_length":33,"output_length":1,"hash_ids":[18446744073709551615,5],)"
                R"("name_space":1})",
                R"({"at_ns":1500001,"input_length":33,"output_length":1,)"
                R"("hash_ids":[18446744073709551615,6]})",
                R"({"at_ns":2000000,"input_length":17,"output_length":1})",
            })
            .sound();
    Lines other_losses;
    const Lines lines = mooncake(other_trace, all_rows(other_trace), &other_losses);
    const auto ids = [&](std::size_t i) { return lines[i].substr(lines[i].find("\"hash_ids\"")); };
    expect_each(ids, gives(0, R"("hash_ids":[0,1,2]})"), gives(1, R"("hash_ids":[3,4,5]})"),
                gives(2, R"("hash_ids":[0,6,7]})"), gives(3, R"("hash_ids":[8,9]})"));
    EXPECT_TRUE(lines[2].starts_with(R"({"timestamp":2,)"));
    ASSERT_EQ(other_losses.size(), 2U);
    EXPECT_TRUE(says(other_losses[0], "--block-size 16"));
    EXPECT_TRUE(says(other_losses[1], "1 time with a fraction"));
}

// What --spread and --replicate make of times reads back: whole milliseconds, the nearest ones, in
// the same order.
TEST(Write, MooncakeRoundsTimesAndHoldsTurnsOnly) {
    const Trace trace =
        read({row("0", 1, 1, "0"), row("1", 2, 1, "1"), row("2", 3, 1, "2")}).sound();
    Lines losses;
    const Lines lines = mooncake(trace, {{0, 499'999}, {1, 500'000}, {2, 1'500'001}}, &losses);
    const Trace again = read(lines).sound();
    EXPECT_TRUE(lines[0].starts_with(R"({"timestamp":0,"input_length":1,)"));
    EXPECT_TRUE(lines[1].starts_with(R"({"timestamp":1,"input_length":2,)"));
    EXPECT_TRUE(lines[2].starts_with(R"({"timestamp":2,"input_length":3,)"));
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_TRUE(losses[0].starts_with("3 times with fractions of a ms, rounded"));
    // Turns of a session keep their order and their pauses; other waits are lost, and counted.
    const Trace other_trace =
        read(
            {
                R"({"schema":"driftless.trace","version":1,"block_size":0})",
                R"({"at_ns":0,"input_length":1,"output_length":1,"session":"a"})",
                R"({"at_ns":9,"input_length":1,"output_length":1,"session":"a","after":[{"row":0,"delay_ns":2500000}]})",
                R"({"at_ns":9,"input_length":1,"output_length":1,"session":"b","after":[{"row":0,"trigger":"dispatch"}]})",
                R"({"at_ns":9,"input_length":1,"output_length":1,"after":[{"row":2}]})",
            })
            .sound();
    Lines other_losses;
    const Lines other_lines = mooncake(other_trace, all_rows(other_trace), &other_losses);
    EXPECT_TRUE(says(other_lines[1], R"("session_id":"a","delay":2.5})"));
    EXPECT_FALSE(says(other_lines[2], "delay"));
    const auto has = [&](const char* text) {
        return std::any_of(other_losses.begin(), other_losses.end(),
                           [&](const std::string& one) { return one.starts_with(text); });
    };
    EXPECT_TRUE(has("1 row that waits for something other"));
    EXPECT_TRUE(has("1 row that waits for others and has no session"));
    // Two sessions of one name are told apart where their format knows them by name alone.
    ReadTrace got = read({row("0", 1, 1, "0"), row("1", 1, 1, "0")});
    got.trace.sessions = {"a", "a"};
    got.trace.rows[0].session = 0;
    got.trace.rows[1].session = 1;
    const Lines third_lines = mooncake(got.trace, all_rows(got.trace));
    EXPECT_TRUE(says(third_lines[0], R"("session_id":"a#0")"));
    EXPECT_TRUE(says(third_lines[1], R"("session_id":"a#1")"));
}

// Kept columns go along, but for nulls and for names that the format has itself.
TEST(Write, CarriesKeptColumnsOfAPartToo) {
    const Trace trace =
        read({R"({"timestamp":0,"input_length":1,"output_length":1,"id":"x","turn":7})",
              R"({"timestamp":1,"input_length":1,"output_length":1,"model":{"a":[1]}})"},
             {.keep = {"id", "model", "turn"}})
            .sound();
    const Lines lines = mooncake(trace, all_rows(trace));
    EXPECT_TRUE(lines[0].ends_with(R"("id":"x","turn":7})"));
    EXPECT_TRUE(lines[1].ends_with(R"("model":{"a":[1]}})"));
    TraceWriter writer(trace, canonical_target, all_rows(trace));
    EXPECT_TRUE(lines_of(writer)[1].ends_with(R"("id":"x"})"));
    EXPECT_EQ(writer.losses(), Lines{"1 kept column with a name that the format uses itself"});
    // A part of a trace: rows are numbered anew, and waits for rows that are not there are counted.
    const Trace other_trace =
        read({
                 R"({"schema":"driftless.trace","version":1,"block_size":0})",
                 R"({"at_ns":5,"input_length":1,"output_length":1})",
                 R"({"at_ns":0,"input_length":2,"output_length":1,"after":[{"row":0}]})",
                 R"({"at_ns":7,"input_length":3,"output_length":1,"after":[{"row":0},{"row":1}]})",
             })
            .sound();
    // By time: index 1, 0, 2. Without index 0.
    TraceWriter other_writer(other_trace, canonical_target, {{0, 0}, {2, 70}});
    const Lines other_lines = lines_of(other_writer);
    ASSERT_EQ(other_lines.size(), 3U);
    EXPECT_TRUE(other_lines[1].starts_with(R"({"at_ns":0,"input_length":2)"));
    EXPECT_EQ(other_lines[2], R"({"at_ns":70,"input_length":3,"output_length":1,)"
                              R"("after":[{"row":0,"trigger":"completion","delay_ns":0}]})");
    EXPECT_EQ(other_writer.losses(), Lines{"2 dependencies on rows that are not written"});
}

// Bodies that stand in for the trace's own: everything else of a row stays.
TEST(Write, TakesOtherBodiesInTheOrderOfTheTarget) {
    const Trace trace =
        read(
            {
                R"({"schema":"driftless.trace","version":1,"block_size":0,"body_api":"tgi"})",
                R"({"at_ns":0,"input_length":2,"output_length":1,"session":"s","body":{"inputs":"a"}})",
                R"({"at_ns":7,"input_length":3,"output_length":1,"after":[{"row":0}],"body":{"x":1}})",
            })
            .sound();
    TraceWriter writer(trace, canonical_target, all_rows(trace));
    writer.replace_bodies("ollama");
    std::string head;
    writer.begin(head);
    EXPECT_TRUE(says(head, R"("body_api":"ollama")"));
    std::string rows;
    EXPECT_TRUE(writer.next(rows, R"({"prompt":"b"})") && writer.next(rows, R"({"prompt":"c"})"));
    EXPECT_FALSE(writer.next(rows));
    EXPECT_EQ(rows, R"({"at_ns":0,"input_length":2,"output_length":1,"session":"s",)"
                    R"("body":{"prompt":"b"}})"
                    "\n"
                    R"({"at_ns":7,"input_length":3,"output_length":1,)"
                    R"("after":[{"row":0,"trigger":"completion","delay_ns":0}],)"
                    R"("body":{"prompt":"c"}})"
                    "\n");
    // The canonical format keeps the order of the file, Mooncake goes by time.
    const Trace other_trace = read({row("9", 1, 1, "0"), row("3", 2, 1, "1")}).sound();
    EXPECT_TRUE(mooncake(other_trace, all_rows(other_trace))[0].starts_with(
        R"({"timestamp":0,"input_length":2)"));
    TraceWriter other_writer(other_trace, canonical_target, all_rows(other_trace));
    EXPECT_TRUE(lines_of(other_writer)[1].starts_with(R"({"at_ns":6000000,"input_length":1)"));
}

// Prompts of messages whose lengths alone are known: block ids that share what the messages share.

constexpr std::uint64_t behind = ~std::uint64_t{0};

std::vector<std::uint64_t> ids_of(const SegmentedConversation& talk, std::uint32_t block_size) {
    BlockIds arena;
    RowIds ids(arena);
    ids.begin();
    talk.add_ids(block_size, ids);
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < arena.size(); ++i) {
        all.push_back(arena[i]);
    }
    return all;
}

std::size_t shared(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    std::size_t same = 0;
    while (same < std::min(a.size(), b.size()) && a[same] == b[same]) {
        ++same;
    }
    return same;
}

SegmentedConversation talk_of(const std::vector<SegmentMessage>& messages) {
    SegmentedConversation talk;
    for (const SegmentMessage& one : messages) {
        talk.store(behind, one);
    }
    return talk;
}

// At one token a block an id is a token: two prompts begin alike to the very token.
TEST(Segments, ShareTheirBeginningsToWholeBlocks) {
    const auto first = talk_of({{{1, 33}}, {{2, 10}}});
    const auto second = talk_of({{{1, 33}}, {{2, 10}}, {{3, 100}}});
    const auto longer = talk_of({{{1, 40}}, {{2, 10}}});
    EXPECT_EQ(ids_of(first, 16).size(), 3U) << "the partial block has an id";
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(second, 16)), 2U);
    EXPECT_EQ(shared(ids_of(first, 1), ids_of(second, 1)), 43U);
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(first, 16)), 3U) << "equal prompts share all";
    EXPECT_EQ(shared(ids_of(first, 1), ids_of(longer, 1)), 33U) << "a longer one of one identity";
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(longer, 16)), 2U);
    EXPECT_EQ(ids_of(talk_of({{{1, 4096}}, {{2, 1}}}), 16).size(), 257U) << "more than a batch";
    EXPECT_TRUE(ids_of(SegmentedConversation(), 16).empty());
}

// An edited message: what stood before it is still shared.
TEST(Segments, ReplaceAndSettleMessages) {
    auto talk = talk_of({{{1, 16}}, {{2, 16}}, {{3, 16}}});
    const auto before = ids_of(talk, 16);
    talk.store(1, {{9, 32}});
    EXPECT_EQ(talk.tokens(), 64U);
    const auto after = ids_of(talk, 16);
    EXPECT_EQ(shared(before, after), 1U);
    EXPECT_EQ(before[2], after[3]) << "the message behind it is the same";
    // The lengths that a server counted: a system prompt takes the difference of a first request.
    SegmentedConversation system;
    system.begin_with_system();
    system.store(behind, {{1, 20}});
    system.store(behind, {{2, 5}});
    system.settle(30);
    EXPECT_EQ(shared(ids_of(system, 1), ids_of(talk_of({{{1, 25}}, {{2, 5}}}), 1)), 30U);
    system.settle(33);
    EXPECT_EQ(shared(ids_of(system, 1), ids_of(talk_of({{{1, 25}}, {{2, 8}}}), 1)), 33U);
    auto uncounted = talk_of({{{1, 20}}, {{2, 0}, false}, {{3, 5}}});
    uncounted.settle(40);
    EXPECT_EQ(shared(ids_of(uncounted, 1), ids_of(talk_of({{{1, 20}}, {{2, 15}}, {{3, 5}}}), 1)),
              40U);
    uncounted.settle(41);
    EXPECT_EQ(shared(ids_of(uncounted, 1), ids_of(talk_of({{{1, 20}}, {{2, 15}}, {{3, 6}}}), 1)),
              41U)
        << "it is counted now";
    auto other_talk = talk_of({{{1, 20}}, {{2, 10}}, {{3, 4}}});
    other_talk.settle(25);
    EXPECT_EQ(other_talk.tokens(), 25U);
    EXPECT_EQ(shared(ids_of(other_talk, 1), ids_of(talk_of({{{1, 20}}, {{2, 5}}}), 1)), 25U);
    SegmentedConversation small;
    small.begin_with_system();
    small.store(behind, {{1, 3}});
    small.store(behind, {{2, 10}});
    small.settle(5);  // the system prompt has not so many
    EXPECT_EQ(shared(ids_of(small, 1), ids_of(talk_of({{{1, 3}}, {{2, 2}}}), 1)), 5U);
}

// Sessions whose rows hold only what is new: the prompt of a turn is all that was said before it,
// answers included, and shares it with the prompts before. What the file does not decide is asked.

std::string turn(const char* session, int input, int output, const std::string& ids) {
    return std::string(R"({"session_id":")") + session + R"(","timestamp":0,"input_length":)" +
           std::to_string(input) + R"(,"output_length":)" + std::to_string(output) +
           (ids.empty() ? "" : R"(,"hash_ids":[)" + ids + "]") + "}";
}

ReadTrace read_as(const std::vector<std::string>& lines, const char* format,
                  std::uint32_t block_size = 0) {
    return read(lines, ReadOptions{.format = format, .block_size = block_size});
}

std::vector<std::uint32_t> inputs(const Trace& trace) {
    return members_of(trace.rows, &TraceRow::input_length);
}

/// Full blocks at the beginning of both prompts.
std::size_t shared_blocks(const Trace& trace, std::size_t a, std::size_t b) {
    const BlockIdSpan left = trace.ids_of(trace.rows[a]);
    const BlockIdSpan right = trace.ids_of(trace.rows[b]);
    std::size_t same = 0;
    while (same < std::min(left.size(), right.size()) && left[same] == right[same]) {
        ++same;
    }
    return same;
}

// Dynamo's pull request 11060: 4190 tokens, an answer of 592, 592 new ones: the prompt has 5374.
TEST(SessionPieces, PromptsAreAllTurnsBeforeInEqualTokens) {
    const Trace trace = read({turn("s", 4190, 592, "0,1,2,3,4,5,6,7,8"), turn("s", 592, 16, "9,10"),
                              turn("s", 100, 5, "11")})
                            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("mooncake-delta", 16U));
    EXPECT_EQ(inputs(trace), (std::vector<std::uint32_t>{4190, 5374, 5374 + 16 + 100}));
    for (const TraceRow& row : trace.rows) {
        EXPECT_EQ(row.ids_count, (row.input_length + 15) / 16);
    }
    EXPECT_EQ(shared_blocks(trace, 0, 1), 4190U / 16);
    EXPECT_EQ(shared_blocks(trace, 1, 2), 5374U / 16) << "the answer stays the same";
    EXPECT_EQ(canonical_round_trip(trace), "");
    ASSERT_FALSE(trace.remarks.empty());
    EXPECT_EQ(trace.remarks.back().count, 2U);
    // Blocks that sessions and single rows have in common are the same wherever a piece begins so.
    const Trace other_trace =
        read({turn("a", 1024, 8, "1,2"), turn("a", 8, 8, "3"), turn("b", 1030, 8, "1,2,4"),
              row("0", 512, 1, "1"), turn("b", 20, 8, "5")})
            .sound();
    EXPECT_EQ(shared_blocks(other_trace, 0, 2), 64U);
    EXPECT_EQ(shared_blocks(other_trace, 0, 3), 32U);
    EXPECT_EQ(shared_blocks(other_trace, 1, 4), 64U) << "answers of two rows are two texts";
    // The second piece begins inside a block: sizes around the border of one.
    for (const int first : {15, 16, 17, 511, 512, 513}) {
        const std::string ids = first > 512 ? "0,1" : "0";
        const Trace inside =
            read_as({turn("s", first, 1, ids), turn("s", 3, 1, "7")}, "mooncake-delta").sound();
        EXPECT_EQ(inside.rows[1].input_length, static_cast<std::uint32_t>(first + 4));
        EXPECT_EQ(shared_blocks(inside, 0, 1), static_cast<std::size_t>(first / 16)) << first;
    }
    const Trace fine =
        read_as({turn("s", 30, 1, "0,1,2,3"), turn("s", 8, 1, "4")}, "mooncake_delta", 8).sound();
    EXPECT_EQ(fine.block_size, 8U) << "no larger than the file's own";
    EXPECT_EQ(shared_blocks(fine, 0, 1), 3U);
}

// Lengths alone: prompts that do not even repeat the row before are pieces; they share prefixes.
TEST(SessionPieces, LengthsAloneAndWholePromptsStayAsTheyAre) {
    const Trace trace =
        read({turn("s", 500, 50, ""), turn("s", 100, 50, ""), turn("t", 30, 5, "")}).sound();
    EXPECT_EQ(inputs(trace), (std::vector<std::uint32_t>{500, 650, 30}));
    EXPECT_EQ(shared_blocks(trace, 0, 1), 31U);
    EXPECT_EQ(shared_blocks(trace, 0, 2), 0U);
    const Trace grown = read({turn("s", 100, 50, ""), turn("s", 150, 50, "")}).sound();
    EXPECT_EQ(grown.format, "mooncake") << "each row can hold the row before and its answer";
    EXPECT_EQ(inputs(grown), (std::vector<std::uint32_t>{100, 150}));
    EXPECT_EQ(grown.block_size, 0U);
    // Whole prompts begin with the row before; one in ten may be a context that was compacted.
    std::vector<std::string> lines;
    for (int i = 0; i < 10; ++i) {
        lines.push_back(turn("s", 600 + i, 5, "1,2"));
    }
    lines.push_back(turn("s", 20, 5, "9"));
    const Trace whole = read(lines).sound();
    EXPECT_EQ(std::tuple(whole.format, whole.block_size), std::tuple("mooncake", 512U));
    EXPECT_EQ(whole.rows[10].input_length, 20U);
    const ReadTrace alone = read({turn("a", 600, 5, "1,2"), turn("b", 20, 5, "3")});
    ASSERT_TRUE(alone.usable) << "sessions of one row read the same both ways";
    EXPECT_EQ(alone.trace.format, "mooncake");
}

TEST(SessionPieces, AsksOrRefusesWhereTheFileDoesNotDecide) {
    const std::vector<std::string> equal = {turn("s", 20, 5, "1"), turn("s", 20, 5, "2")};
    EXPECT_FALSE(read(equal).usable) << "they share nothing, and none is shorter";
    EXPECT_FALSE(read({turn("s", 20, 5, ""), turn("s", 22, 5, "")}).usable)
        << "nor with its answer";
    EXPECT_TRUE(read({turn("s", 20, 5, ""), turn("s", 25, 5, "")}).usable) << "the answer is in it";
    EXPECT_EQ(inputs(read_as(equal, "mooncake").trace), (std::vector<std::uint32_t>{20, 20}));
    EXPECT_EQ(inputs(read_as(equal, "mooncake-delta").trace), (std::vector<std::uint32_t>{20, 45}));
    const ReadTrace got =
        read({turn("s", 600, 5, "1,2"), turn("s", 600, 5, "1,3"), turn("s", 20, 5, "4")});
    EXPECT_FALSE(got.usable) << "one that begins so, and one that does not";
    EXPECT_TRUE(says(got.first_error(),
                     "choose --format mooncake if they are whole prompts, or "
                     "--format mooncake-delta"));
    ReadOptions options{.format = "mooncake-delta", .output_free = true};
    const std::string unknown = R"({"session_id":"s","timestamp":0,"input_length":9})";
    EXPECT_TRUE(says(read({unknown, unknown}, options).first_error(), "--default-output N"));
    EXPECT_TRUE(read({turn("s", 9, 1, ""), unknown}, options).usable)
        << "its last answer is no part";
    const ReadTrace mixed =
        read_as({turn("s", 9, 1, ""), R"({"session_id":"s","timestamp":0,"text_input":"x"})",
                 turn("s", 9, 1, "")},
                "mooncake-delta");
    EXPECT_TRUE(says(mixed.first_error(), "both lengths and text"));
    const ReadTrace huge =
        read_as({turn("s", 1 << 27, 1, ""), turn("s", 1, 1, "")}, "mooncake-delta");
    EXPECT_TRUE(says(huge.first_error(), "134217730 tokens with the turns before"));
}

std::string said(const char* session, const std::string& text) {
    return std::string(R"({"session_id":")") + session + R"(","timestamp":0,"output_length":2,)" +
           R"("text_input":")" + text + R"("})";
}

// AIPerf sends a session's texts as new messages, with the answers between; a text that repeats the
// one before is a whole prompt, and stays a request of its own.
TEST(SessionPieces, TextsAreNewMessagesElseSaid) {
    const std::vector<std::string> lines = {said("s", R"(a \"b\")"), said("s", "c"), said("t", "d"),
                                            row("0", 5, 1, "")};
    const Trace trace = read({lines[0], lines[1], lines[2]}, closed_sessions()).sound();
    EXPECT_EQ(trace.format, "mooncake-delta");
    EXPECT_TRUE(trace.deltas);
    EXPECT_EQ(trace.body_of(trace.rows[0]),
              R"({"messages":[{"role":"user","content":"a \"b\""}]})");
    EXPECT_EQ(trace.body_of(trace.rows[1]), R"({"messages":[{"role":"user","content":"c"}]})");
    EXPECT_EQ(trace.remarks.back().count, 1U);
    EXPECT_EQ(canonical_round_trip(trace), "");
    const Trace grown = read({said("s", "a"), said("s", "a b"), said("s", "a b c")}).sound();
    EXPECT_EQ(grown.format, "mooncake");
    EXPECT_FALSE(grown.deltas);
    EXPECT_FALSE(read_as(lines, "mooncake").trace.deltas);
    const ReadTrace stated = read_as({said("s", "a"), said("s", "a b")}, "mooncake-delta");
    EXPECT_TRUE(stated.trace.deltas) << "as it was said";
    EXPECT_EQ(stated.trace.remarks.size(), 2U) << "and that they look like whole prompts";
    const ReadTrace some = read({said("s", "a"), said("s", "a b"), said("s", "c")});
    EXPECT_TRUE(says(some.first_error(),
                     "of 2 later texts of sessions, 1 begin with the text before; "
                     "choose --format mooncake"));
    EXPECT_EQ(some.errors.list[0].line, 3U);
    const ReadTrace mixed = read({said("s", "a"), said("s", "c"),
                                  R"({"session_id":"t","timestamp":0,"payload":{"prompt":"q"}})"});
    EXPECT_EQ(mixed.errors.list[0].line, 3U) << "a whole request";
    // Other formats say that rows may be pieces, and how they are read as such.
    const auto aibrix = [](int at, int tokens) {
        return R"({"timestamp":)" + std::to_string(at) + R"(,"requests":[{"prompt_length":)" +
               std::to_string(tokens) + R"(,"output_length":4,"session_id":0}]})";
    };
    const ReadTrace shorter = read({aibrix(0, 101), aibrix(9000, 30)});
    ASSERT_EQ(shorter.trace.remarks.size(), 1U) << shorter.first_error();
    EXPECT_TRUE(says(std::string(shorter.trace.remarks[0].many), "--to mooncake"));
    EXPECT_TRUE(read({aibrix(0, 101), aibrix(9000, 140)}).trace.remarks.empty());
    const auto words = [](int at, const std::string& text) {
        return R"({"timestamp":)" + std::to_string(at) + R"(,"requests":[{"prompt":")" + text +
               R"(","session_id":0}]})";
    };
    EXPECT_EQ(read({words(0, "a"), words(9000, "b")}).trace.remarks.size(), 1U);
    EXPECT_TRUE(read({words(0, "a"), words(9000, "a b")}).trace.remarks.empty());
}

}  // namespace
}  // namespace driftless
