// Lines in, a trace out: rows, times, and what is refused.

#include "proto/trace/reader.hpp"

#include "proto/core/hash.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {

namespace {

// Unknown keys are ignored and counted, kept ones are carried as JSON.
TEST(Reader, KeepsColumns) {
    const std::string more = R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0],)"
                             R"("type":"a\"b","n":{"x":1}})";
    ReadOptions options{.keep = {"n", "type", "timestamp"}};
    const Trace trace = read({more, row("0", 1, 1, "0")}, options).sound();
    EXPECT_EQ(trace.kept_of(trace.rows[0]), R"({"n":{"x":1},"type":"a\"b","timestamp":0})");
    EXPECT_EQ(trace.kept_of(trace.rows[1]), R"({"n":null,"type":null,"timestamp":0})");
    EXPECT_EQ(trace.unknown_keys, 0U);
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
    // JSON with line ends of old files is no JSON; the remedy is that of the line ends.
    const ReadTrace old = read({row("0", 1, 1, "0") + "\r" + row("0", 1, 1, "0")});
    EXPECT_EQ(old.errors.count, 1U);
    EXPECT_EQ(old.errors.list[0].remedy, "convert them to LF: tr '\\r' '\\n' < FILE > NEW_FILE");
}

// A NUL byte is named as what it is, with its line and byte, wherever it stands.
TEST(Reader, NamesNulBytesAndAmbiguityAndGathersTexts) {
    const std::string one = row("0", 1, 1, "0");
    const std::string nul(1, '\0');
    const auto refuses = [](const std::vector<std::string>& lines, const std::string& where,
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
    // A first row that would suit two formats is refused until choose one with --format.
    EXPECT_TRUE(says(read({R"({"event": {}, "requests": [], "block_size": 16})"}).first_error(),
                     "has the keys of weka and of dynamo; choose one with --format"));
    // A JSON text over several lines is gathered, and an array is its rows.
    const std::string first = row("0", 1, 1, "0");
    const Trace array = read({"[", first + ",", row("7", 2, 1, "1"), "]"}).sound();
    ASSERT_EQ(array.rows.size(), 2U);
    EXPECT_EQ(array.rows[1].at_ns, 7'000'000);
    EXPECT_TRUE(read({"[" + first + "]"}).usable);
    EXPECT_EQ(read({"[" + first + ", 5]"}).first_error(),
              "t.jsonl:1: [1] \"5\" is not a JSON object; correct or remove it");
    const ReadTrace bad = read({"[", first + ",", row("-7", 2, 1, "1"), "]"});
    EXPECT_EQ(bad.errors.list[0].field, "[1].timestamp");
    EXPECT_TRUE(says(read({"[", first}).first_error(), "ends too early, at byte"));
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
    const Trace trace = read(lines).sound();
    ASSERT_EQ(trace.rows.size(), 4U);
    EXPECT_EQ(std::tuple(trace.rows[1].line, trace.rows[1].output_length), std::tuple(7U, 4U));
    EXPECT_EQ(std::tuple(trace.rows[2].line, trace.rows[2].at_ns), std::tuple(9U, 9'000'000));
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
TEST(Reader, BoundsTextsRefusesMixturesAndTakesOptions) {
    std::vector<std::string> lines(66, std::string(1 << 20, ' '));
    lines.front() = "[";
    EXPECT_TRUE(says(read(lines).first_error(), "t.jsonl:1: is one JSON text of more than 64 MiB"));
    EXPECT_EQ(read({R"([{"zzz":1},{"zzz":2}])"}).errors.count, 1U);
    // Files of one trace are of one format.
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
    // --format forces the reader; a name it does not know, or a unit, is refused at once.
    ReadOptions options{.format = "mooncake"};
    const std::string extended =
        R"({"chat_id":7,"timestamp":0,"input_length":5,"output_length":3,"hash_ids":[1]})";
    const ReadTrace got = read({extended}, options);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.unknown_keys, 1U);
    options.format = "moonshot";
    EXPECT_EQ(read({extended}, options).first_error(),
              "--format \"moonshot\" is not a format that this version reads; it reads " +
                  trace_format_names());
    EXPECT_EQ(
        read({extended}, ReadOptions{.format = "mooncake", .time_unit = "auto"}).trace.time_unit,
        "ms")
        << "the format's own";
    ReadOptions unit{.time_unit = "minutes"};
    EXPECT_EQ(read({extended}, unit).errors.list[0].field, "--time-unit");
    EXPECT_EQ(read({extended}, unit).errors.count, 1U);
    ReadOptions map{.format = "mooncake", .map = {{"time", "t"}}};
    EXPECT_EQ(read({extended}, map).errors.list[0].field, "--map");
}

// Blank lines are no rows and no errors; a trace without rows is refused.
TEST(Reader, SkipsBlankLinesJoinsFilesAndCountsErrors) {
    const Trace got = read({"", row("0", 1, 1, "0"), "  \t\r", row("5", 1, 1, "0")}).sound();
    EXPECT_EQ(got.rows[1].line, 4U);
    EXPECT_EQ(read({"", " "}).first_error(), "t.jsonl: has no rows; a trace needs at least one");
    // Several files are one trace; each is a namespace, and time may restart without counting as
    // disorder.
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
    EXPECT_EQ(std::tuple(trace.rows[1].name_space, trace.rows[1].index), std::tuple(1U, 2U));
    EXPECT_EQ(std::tuple(trace.rows[1].line, trace.rows[2].at_ns), std::tuple(1U, 10'000'000));
    EXPECT_EQ(trace.rows_unsorted, 0U);
    // A file of one mistake says so three times and counts the rest; every kind has its turn.
    std::vector<std::string> lines(150, R"({"input_length":5,"output_length":2,"hash_ids":[1]})");
    lines[1] = row("0", 0, 1, "0");
    const std::vector<std::string> said = to_lines(read(lines).errors);
    ASSERT_EQ(said.size(), 5U);
    EXPECT_TRUE(said[0].starts_with("t.jsonl:1: timestamp is missing")) << said[0];
    EXPECT_TRUE(said[1].starts_with("t.jsonl:2: input_length \"0\" is not")) << said[1];
    EXPECT_TRUE(said[3].starts_with("t.jsonl:4: timestamp is missing")) << said[3];
    EXPECT_EQ(said[4], "and 146 more like that");
    EXPECT_EQ(to_lines(read({lines[0], lines[0], lines[0], lines[0]}).errors).back(),
              "and 1 more like that");
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

// The list of block ids gives back what went in, whatever the ids are, and equal numbers mean equal
// ids. The oracle is a plain vector.

using Ids = std::vector<std::uint64_t>;

/// Everything that the list says of itself, held against what went in.
void expect_same(const BlockIds& list, const Ids& ids) {
    ASSERT_EQ(list.size(), ids.size());
    std::map<std::uint64_t, std::uint32_t> numbers;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_EQ(list[i], ids[i]) << i;
        ASSERT_LT(list.number(i), list.numbers_end());
        ASSERT_EQ(list.id_of(list.number(i)), ids[i]);
        const auto [known, is_new] = numbers.emplace(ids[i], list.number(i));
        ASSERT_EQ(known->second, list.number(i)) << "equal ids, equal numbers";
    }
    EXPECT_EQ(plain_ids(list), ids);
}

// Ids beside the limit of those that are kept as they are, in every order of small and large ones.
TEST(BlockIds, KeepsIdsAroundTheLimit) {
    for (const std::uint64_t id : {std::uint64_t{0}, BlockIds::direct_min - 1, BlockIds::direct_min,
                                   BlockIds::direct_min + 1, ~std::uint64_t{0}}) {
        BlockIds list;
        Ids ids;
        for (const std::uint64_t one : {std::uint64_t{7}, id, std::uint64_t{7}, id, id}) {
            list.push_back(one);
            ids.push_back(one);
            expect_same(list, ids);
        }
        EXPECT_EQ(list.numbers_end() > BlockIds::direct_min, false) << id;
    }
    // Blocks counted from 0 stay their own numbers beyond the limit, since there are as many
    // references.
    BlockIds counted;
    for (std::uint64_t id = 0; id < 3 * BlockIds::direct_min; ++id) {
        counted.push_back(id);
    }
    EXPECT_EQ(counted.number(counted.size() - 1), counted[counted.size() - 1]);
    EXPECT_EQ(counted.numbers_end(), 3 * BlockIds::direct_min);
}

// Random lists, appended in pieces, cut, settled and copied in between.
TEST(BlockIds, IsAVectorWithRanges) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        Random random(seed);
        const unsigned shift = static_cast<unsigned>(random.below(60));
        BlockIds list;
        Ids ids;
        for (int step = 0; step < 200; ++step) {
            Ids more(random.below(100));
            for (std::uint64_t& id : more) {
                id = random.below(500) << (random.below(8) == 0 ? shift : 0);
            }
            list.append(more);
            ids.insert(ids.end(), more.begin(), more.end());
            if (random.below(10) == 0) {
                ids.resize(random.below(ids.size() + 1));
                list.truncate(ids.size());
            }
            if (random.below(20) == 0) {
                list.settle();
            }
            if (random.below(20) == 0) {
                const BlockIds copy = list;
                list = copy;
            }
        }
        expect_same(list, ids);
    }
    // A span is a range of values with the numbers beside them.
    BlockIds list;
    list.append(Ids{5, std::uint64_t{1} << 40, 5, 6});
    const BlockIdSpan middle = list.span(1, 3);
    EXPECT_EQ(Ids(middle.begin(), middle.end()), (Ids{std::uint64_t{1} << 40, 5, 6}));
    EXPECT_EQ(middle.front(), std::uint64_t{1} << 40);
    EXPECT_EQ(std::tuple(middle.back(), middle.number(1), middle.first(1).size()),
              std::tuple(6U, list.number(0), 1U));
    EXPECT_TRUE(list.span(4, 0).empty());
}

std::uint64_t uneven(const std::vector<std::string>& lines) {
    const ReadTrace got = read(lines);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.remarks.empty(), uneven_tails(got.trace) == 0);
    return uneven_tails(got.trace);
}

TEST(Tails, OfTwoLengthsCountOnce) {
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 513, 1, "0, 1")}), 0U);
    EXPECT_EQ(uneven({row("0", 512, 1, "0"), row("1", 1024, 1, "0, 1")}), 0U);
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 514, 1, "0, 1")}), 1U);
    EXPECT_EQ(
        uneven({row("0", 513, 1, "0, 1"), row("1", 514, 1, "0, 1"), row("2", 600, 1, "2, 1")}), 1U);
    // A tail in one row, a full block in another.
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 1025, 1, "0, 1, 2")}), 1U);
    EXPECT_EQ(uneven({row("0", 1024, 1, "0, 1"), row("1", 1000, 1, "5, 1")}), 1U);
}

TraceRow row_of(std::uint32_t session) {
    return TraceRow{.session = session};
}

// Ids belong to the row that is added next; those of a row that was not added are dropped.
TEST(TraceDraft, GivesARowTheIdsSinceTheyBegan) {
    Trace trace;
    TraceDraft draft(trace);
    draft.begin_file("a");
    draft.ids().begin();
    draft.ids().add(7);
    draft.ids().begin();
    draft.ids().add(std::vector<std::uint64_t>{1, 2, 3});
    draft.ids().cut(2);
    EXPECT_EQ(draft.ids().count(), 2u);
    const TraceRow added = draft.add({});
    EXPECT_EQ(std::tuple(added.ids_begin, added.ids_count), std::tuple(0u, 2u));
    EXPECT_EQ(draft.ids().count(), 0u);
    draft.ids().add(9);
    draft.finish();
    EXPECT_EQ(trace.ids.size(), 2u);
    // The line of the first row without a list is the one that an error names.
    Trace other_trace;
    TraceDraft other_draft(other_trace);
    other_draft.ids().note_missing(4);
    other_draft.ids().note_missing(9);
    EXPECT_EQ(other_draft.ids().rows_missing(), 2u);
    EXPECT_EQ(other_draft.ids().first_line_missing(), 4u);
}

// What a format says of namespaces holds unless the user says where equal ids are equal.
TEST(TraceDraft, PutsRowsIntoNamespacesByScope) {
    const auto places = [](IdScope scope) {
        Trace trace;
        TraceDraft draft(trace);
        draft.name_spaces().set_scope(scope);
        std::vector<std::uint32_t> seen;
        for (const char* file : {"a", "b"}) {
            draft.begin_file(file);
            const std::uint32_t session = draft.sessions().find("s");
            seen.push_back(draft.add(row_of(session)).name_space);
            draft.name_spaces().begin();
            seen.push_back(draft.add(row_of(no_session)).name_space);
            draft.name_spaces().enter("x");
            seen.push_back(draft.add(row_of(session)).name_space);
        }
        return seen;
    };
    using Places = std::vector<std::uint32_t>;
    EXPECT_EQ(places(IdScope::format), (Places{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(places(IdScope::file), (Places{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(places(IdScope::all), (Places{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(places(IdScope::session), (Places{0, 1, 0, 2, 3, 2}));
}

// Segments of one log share a namespace, sessions and names of requests; other files do not.
TEST(TraceDraft, SharesNamesAndMakesTurnsWait) {
    for (const bool one_log : {false, true}) {
        Trace trace;
        TraceDraft draft(trace);
        if (one_log) {
            draft.share_name_space();
        }
        draft.begin_file("a");
        const std::uint32_t session = draft.sessions().find("s");
        draft.sessions().find("of this file alone");
        draft.name_request("r");
        const std::uint32_t first = draft.add({}).name_space;
        draft.begin_file("b");
        EXPECT_EQ(draft.sessions().find("s") == session, one_log);
        EXPECT_EQ(draft.find_request("r"), one_log ? 0 : no_row);
        EXPECT_EQ(draft.add({}).name_space == first, one_log);
        draft.finish();
        EXPECT_EQ(trace.remarks.size(), one_log ? 0U : 1U)
            << "people may take them for one session";
    }
    // A turn waits for the one before it; the first one waits for nothing.
    Trace trace;
    TraceDraft draft(trace);
    draft.begin_file("a");
    for (const std::int64_t delay_ns : {0, 50}) {
        TraceRow row = row_of(draft.sessions().find("s"));
        draft.sessions().next_turn(row, delay_ns);
        draft.add(row);
    }
    EXPECT_EQ(trace.rows[1].turn, 2u);
    ASSERT_EQ(trace.dependencies.size(), 1u);
    EXPECT_EQ(std::tuple(trace.dependencies[0].row, trace.dependencies[0].on), std::tuple(1u, 0u));
    EXPECT_EQ(trace.dependencies[0].delay_ns, 50);
}

// Times come out of their decimal text exact to the nanosecond, whatever the unit.

// Worked out by hand; the epochs are those that a double or a float would change.
TEST(DecimalTime, IsExact) {
    EXPECT_EQ(parse_time("27482", TimeUnit::ms).value(), 27'482'000'000);
    EXPECT_EQ(parse_time("27482", TimeUnit::us).value(), 27'482'000);
    EXPECT_EQ(parse_time("0", TimeUnit::s).value(), 0);
    EXPECT_EQ(parse_time("-0.0", TimeUnit::s).value(), 0);
    EXPECT_EQ(parse_time("3536999", TimeUnit::ms).value(), 3'536'999'000'000);
    EXPECT_EQ(parse_time("1.5e3", TimeUnit::ms).value(), 1'500'000'000);
    EXPECT_EQ(parse_time("0.0000019", TimeUnit::ms).value(), 1) << "digits below 1 ns are cut";
    EXPECT_EQ(parse_time("1732060800123.456789", TimeUnit::ms).value(), 1732060800123456789);
    EXPECT_EQ(parse_time("1732060800.123456789", TimeUnit::s).value(), 1732060800123456789);
    EXPECT_EQ(parse_time("1732060800123456789", TimeUnit::ns).value(), 1732060800123456789);
    // Out of range: beyond the bound, and negative times. What is no decimal is invalid.
    EXPECT_EQ(parse_time("4611686018427387903", TimeUnit::ns).value(), time_max_ns - 1);
    EXPECT_EQ(parse_time("4611686018427387904", TimeUnit::ns).value(), time_max_ns);
    EXPECT_EQ(parse_time("4611686018427387905", TimeUnit::ns).error().code,
              ErrorCode::out_of_range);
    EXPECT_EQ(parse_time("1e300", TimeUnit::ms).error().code, ErrorCode::out_of_range);
    EXPECT_EQ(parse_time("-1", TimeUnit::ms).error().code, ErrorCode::out_of_range);
    EXPECT_EQ(parse_time("-0.001", TimeUnit::ms).error().code, ErrorCode::out_of_range);
    for (const char* text : {"", "NaN", "Infinity", "12:00", "true", "1 s"}) {
        EXPECT_EQ(parse_time(text, TimeUnit::ms).error().code, ErrorCode::invalid) << text;
    }
}

// A time that stands alone shows its unit by its shape or its magnitude, or not at all.
TEST(DecimalTime, GuessesTheUnitAndIsWrittenAsItIsRead) {
    expect_each(guess_time_unit, gives("1732060800", TimeUnit::s),
                gives("1732060800.5", TimeUnit::s), gives("1732060800123", TimeUnit::ms),
                gives("1732060800123456", TimeUnit::us), gives("1732060800123456789", TimeUnit::ns),
                gives("2024-05-12 00:00:00+00:00", TimeUnit::iso), gives("999999999", std::nullopt),
                gives("1000000000", TimeUnit::s), gives("9999999999", TimeUnit::s),
                gives("10000000000", std::nullopt), gives("27482", std::nullopt),
                gives("-1732060800", std::nullopt), gives("noon", std::nullopt));
    // Units are named as --time-unit spells them.
    for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns,
                                TimeUnit::iso, TimeUnit::automatic}) {
        EXPECT_EQ(from_name<TimeUnit>(name_of(unit)), unit);
    }
    EXPECT_FALSE(from_name<TimeUnit>("sec").has_value() || from_name<TimeUnit>("").has_value());
    // Written times are as short as they read back to the same nanosecond.
    expect_each([&](auto in) { return time_text(in, TimeUnit::ms); }, gives(0, "0"),
                gives(27'482'000'000, "27482"), gives(1'500'001, "1.500001"),
                gives(100'000, "0.1"));
    EXPECT_EQ(time_text(7, TimeUnit::s), "0.000000007");
    EXPECT_EQ(time_text(7, TimeUnit::ns), "7");
    for (const std::int64_t ns : {std::int64_t{1}, std::int64_t{999'999'999}, time_max_ns}) {
        for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
            EXPECT_EQ(parse_time(time_text(ns, unit), unit).value(), ns);
        }
    }
}

// Wall clocks come out exact to the nanosecond; the expectations are those of `date --date`.

constexpr std::int64_t ns_per_s = 1'000'000'000;

std::int64_t ns_of(std::string_view text) {
    const Result<std::int64_t> ns = parse_iso_time(text);
    return ns ? ns.value() : -1;
}

// Every spelling that the Azure traces have.
TEST(IsoTime, ReadsZonesAndFractionsOrRefuses) {
    expect_each(ns_of, gives("2023-11-16 18:17:03.9799600", 1700158623 * ns_per_s + 979'960'000),
                gives("2024-05-12 00:00:00.001163+00:00", 1715472000 * ns_per_s + 1'163'000),
                gives("2024-05-12 00:00:00+00:00", 1715472000 * ns_per_s),
                gives("2024-10-15T12:00:00.269Z", 1728993600 * ns_per_s + 269'000'000),
                gives("1970-01-01T00:00:00Z", 0),
                gives("2000-02-29T23:59:59", 951868799 * ns_per_s),
                gives("2024-02-29t12:00:00z", 1709208000 * ns_per_s),
                gives("2024-03-01T00:00:00+05:30", 1709231400 * ns_per_s),
                gives("2024-03-01T00:00:00-0800", 1709280000 * ns_per_s),
                gives("2024-03-01T00:00:00+01", 1709247600 * ns_per_s),
                gives("2024-03-01T00:00:00.123456789", 1709251200 * ns_per_s + 123'456'789),
                gives("2024-03-01T00:00:00.1234567899", 1709251200 * ns_per_s + 123'456'789),
                gives("2115-12-31T23:59:59Z", 4607279999 * ns_per_s));
    const auto point = parse_iso_time("2023-11-16 18:15:46.680");
    const auto comma = parse_iso_time("2023-11-16 18:15:46,680");
    ASSERT_TRUE(point && comma);
    EXPECT_EQ(point.value(), comma.value());
    for (const std::string& text :
         words_of("2024 2024-01-01 2024-13-01T00:00:00 2023-02-29T00:00:00 1900-02-29T00:00:00 "
                  "2024-00-01T00:00:00 2024-01-00T00:00:00 2024-01-32T00:00:00 "
                  "2024-01-01T24:00:00 2024-01-01T00:60:00 2024-01-01T00:00:60 "
                  "2024-01-01T00:00:00. 2024-01-01T00:00:00+ 2024-01-01T00:00:00+5 "
                  "2024-01-01T00:00:00+05: 2024-01-01T00:00 2024-1-1T00:00:00 "
                  "2024-01-01X00:00:00 18:15:46")) {
        EXPECT_EQ(parse_iso_time(text).error().code, ErrorCode::invalid) << text;
    }
    EXPECT_EQ(parse_iso_time("").error().code, ErrorCode::invalid);
    EXPECT_EQ(parse_iso_time("2024-01-01T00:00:00 ").error().code, ErrorCode::invalid);
    for (const char* text : {"1969-12-31T23:59:59Z", "2116-01-01T00:00:00Z", "0001-01-01T00:00:00",
                             "1970-01-01T00:00:00+00:01"}) {
        EXPECT_EQ(parse_iso_time(text).error().code, ErrorCode::out_of_range) << text;
    }
}

using Lines = std::vector<std::string>;

ReadOptions open(const std::string& format = "") {
    return {.format = format, .sessions = Sessions::open};
}

void refuses(const Lines& lines, const ReadOptions& options, const std::string& said) {
    const ReadTrace got = read(lines, options);
    EXPECT_FALSE(got.usable) << said;
    EXPECT_EQ(got.errors.count, 1U) << said;
    EXPECT_EQ(got.first_error(), said);
}

std::string header(const std::string& more) {
    return R"({"schema":"driftless.trace","version":1)" + more + "}";
}

std::string canonical_row(const std::string& more) {
    return R"({"at_ns":0,"input_length":20,"output_length":1)" + more + "}";
}

std::string some_without_ids(int line) {
    return "t.jsonl:" + std::to_string(line) +
           ": hash_ids is missing here; other rows have it; use --lenient to fill these prompts "
           "with private tokens";
}

const char* const one_size = "a trace has one block size; make --block-size agree with it";

TEST(Refusals, OfCanonicalHeadersAndUnits) {
    ReadOptions sized = open();
    sized.block_size = 32;
    refuses({header(R"(,"block_size":16)")}, sized,
            std::string("t.jsonl:1: block_size \"16\" differs from 32; ") + one_size);
    refuses(
        {header(R"(,"block_size":-1)")}, open(),
        "t.jsonl:1: block_size \"-1\" is not a whole number of tokens from 0 to 134217728; correct "
        "the row");
    refuses({header(R"(,"block_size":16,"tail_rule":"round")"), canonical_row("")}, open(),
            "t.jsonl:1: tail_rule \"round\" is not ceil or floor; correct the header");
    refuses({header(R"(,"block_size":16,"body_api":"openai-chat")"),
             header(R"(,"block_size":16,"body_api":"openai-completions")")},
            open(),
            "t.jsonl:2: body_api \"openai-completions\" differs from that of the files before; "
            "replay files of one API at a time");
    // A unit that the column has in its name is not another one.
    const Lines lines{header(""), canonical_row("")};
    ReadOptions unit = open();
    unit.time_unit = "ms";
    refuses(lines, unit,
            "t.jsonl:1: --time-unit \"ms\" contradicts at_ns, whose times are in ns; remove the "
            "flag");
    unit.format = "canonical";
    refuses(lines, unit,
            "--time-unit \"ms\" contradicts at_ns, whose times are in ns; remove the flag");
}

TEST(Refusals, OfCanonicalRows) {
    const std::string sixteen = header(R"(,"block_size":16)");
    refuses({sixteen, canonical_row(R"(,"hash_ids":{})")}, open(),
            "t.jsonl:2: hash_ids \"{}\" is not a list of block ids; correct the row");
    refuses({sixteen, canonical_row(R"(,"turn":4294967295)")}, open(),
            "t.jsonl:2: turn \"4294967295\" is not a whole number below 2^32 - 1; correct the row");
    refuses({sixteen, canonical_row(""), canonical_row(R"(,"after":[{"row":-1}])")}, open(),
            "t.jsonl:3: row \"-1\" is not a whole number below 2^32 - 1; correct the row");
    refuses({sixteen, canonical_row(""), canonical_row(R"(,"after":[{"row":0,"delay_ns":-5}])")},
            open(),
            "t.jsonl:3: after.delay_ns \"-5\" is negative; use times and delays of 0 or more");
    refuses({sixteen, canonical_row(R"(,"after":[5])")}, open(),
            "t.jsonl:2: after \"[5]\" is not a list of objects; correct the row");
    refuses({sixteen, canonical_row(R"(,"body":{"a":1})")}, open(),
            "t.jsonl:2: body \"{\\\"a\\\":1}\" is below a header without body_api; save the "
            "prompts again (replay --save-prompts)");
    const std::string of_bodies = header(R"(,"block_size":16,"body_api":"openai-chat")");
    refuses({of_bodies, canonical_row(R"(,"body":[1])")}, open(),
            "t.jsonl:2: body \"[1]\" is not a JSON object; save the prompts again "
            "(replay --save-prompts)");
    refuses({of_bodies, canonical_row(R"(,"recorded":{"text_input":"a"})")}, open(),
            "t.jsonl:2: recorded \"{\\\"text_input\\\":\\\"a\\\"}\" is below a header with "
            "body_api; a trace has bodies or recorded requests, not both; remove one");
}

TEST(Refusals, OfAgenticMooncake) {
    const std::string head = R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":16})";
    const auto line = [](const std::string& more, const std::string& name = "b") {
        return R"({"request_id":")" + name + R"(","input_length":20,"output_length":3)" + more +
               "}";
    };
    ReadOptions sized = open();
    sized.block_size = 32;
    refuses({head}, sized,
            std::string("t.jsonl:1: block_size \"16\" differs from 32; ") + one_size);
    refuses({head, line(R"(,"hash_ids":[1,2],"dependencies":7)")}, open(),
            "t.jsonl:2: dependencies \"7\" is not a list of objects; correct the row");
    refuses({head, line(R"(,"hash_ids":[1,2],"not_before_ms":-1)")}, open(),
            "t.jsonl:2: not_before_ms \"-1\" is negative; use times and delays of 0 or more");
    refuses(
        {head, line(R"(,"hash_ids":[1,2])"),
         line(R"(,"hash_ids":[1,2],"dependencies":[{"request_id":"b","delay_ms":"x"}])")},
        open(),
        "t.jsonl:3: dependencies.delay_ms \"x\" is not a decimal number; write the time this way");
    const std::string edge = R"({"request_id":"b","trigger":"start"})";
    refuses({head, line(R"(,"hash_ids":[1,2])"),
             line(R"(,"hash_ids":[1,2],"dependencies":[)" + edge + "]", "c")},
            open(),
            R"(t.jsonl:3: dependencies "{\"request_id\":\"b\",\"trigger\":\"start\"}" has a )"
            "trigger that is not completion or dispatch; correct the row");
    refuses({head, line(R"(,"hash_ids":[1,2])"), line(R"(,"hash_ids":[3,4])")}, open(),
            "t.jsonl:3: request_id \"b\" already names an earlier row; give each row its own name, "
            "so that others can wait for it");
    refuses({head, line(R"(,"hash_ids":[1,2])"), line("", "c")}, open(), some_without_ids(3));
    ReadOptions lenient = open();
    lenient.lenient = true;
    const Trace filled = read({head, line(R"(,"hash_ids":[1,2])"), line("", "c")}, lenient).sound();
    EXPECT_EQ(filled.rows[1].ids_count, 0U) << "as long, and nobody's prefix";
}

TEST(Refusals, OfConversationsAndMappedColumns) {
    const auto of_size = [](const std::string& size, const std::string& requests) {
        return R"({"id":"c","block_size":)" + size + R"(,"requests":[)" + requests + "]}";
    };
    refuses({of_size("0", "")}, open(),
            std::string("t.jsonl:1: block_size \"0\" is not a block size; ") + one_size);
    refuses({of_size("64", R"({"t":0,"in":64,"out":1,"hash_ids":[1]})"), of_size("16", "")}, open(),
            std::string("t.jsonl:2: block_size \"16\" differs from 64; ") + one_size);
    refuses({of_size("64", R"({"t":0,"in":64,"out":1,"hash_ids":4})")}, open(),
            "t.jsonl:1: requests[0].hash_ids \"4\" is not a list of block ids; correct the row");
    refuses({of_size("64", R"({"t":0,"type":"subagent","requests":{}})")}, open(),
            "t.jsonl:1: requests[0].requests \"{}\" is not a list of objects; correct the row");
    refuses(
        {of_size(
            "64",
            R"({"t":0,"type":"subagent","requests":[{"t":1,"type":"subagent","requests":4}]})")},
        open(),
        "t.jsonl:1: requests[0].requests[0].requests \"4\" is not a list of objects; correct "
        "the row");
    ReadOptions mapped{
        .time_unit = "s",
        .map = {{"time", "t"}, {"in", "i"}, {"out", "o"}, {"hashes", "h"}, {"turn", "n"}}};
    const auto line = [](const std::string& more) { return R"({"t":1,"i":20,"o":2)" + more + "}"; };
    refuses({R"({"t":1,"i":5,"answer":2,"h":[1],"n":1})"}, mapped,
            "t.jsonl:1: --map \"out=o\" does not name a column; columns are t, i, answer, h, n");
    refuses({line(R"(,"h":7,"n":1)")}, mapped,
            "t.jsonl:1: h \"7\" is not a list of block ids; correct the row");
    refuses(
        {line(R"(,"h":[1.5],"n":1)")}, mapped,
        "t.jsonl:1: h \"1.5\" is not a block id; use strings, or whole numbers from 0 to 2^64 - 1");
    refuses({line(R"(,"h":[1],"n":"x")")}, mapped,
            "t.jsonl:1: n \"x\" is not a turn number; use numbers from 1");
    mapped.block_size = 16;
    const Trace numbers = read({line(R"(,"h":[7,18446744073709551615],"n":1)")}, mapped).sound();
    EXPECT_EQ(numbers.ids_of(numbers.rows[0])[1], 18446744073709551615U);
}

TEST(Refusals, OfDynamoAndOthers) {
    const auto event = [](const std::string& request) {
        return R"({"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end",)"
               R"("request":{"request_received_ms":1,)" +
               request + "}}}";
    };
    const auto replay = [](const std::string& size) {
        return R"("output_tokens":1,"replay":{"input_length":16,"trace_block_size":)" + size +
               R"(,"input_sequence_hashes":[1]})";
    };
    refuses(
        {event(replay("0"))}, open(),
        "t.jsonl:1: event.request.trace_block_size \"0\" is not a whole number of tokens from 1 to "
        "134217728; correct the row");
    refuses({event(replay("16")), event(replay("8"))}, open(),
            std::string("t.jsonl:2: event.request.trace_block_size \"8\" differs from 16; ") +
                one_size);
    const ReadTrace dropped = read({event(replay("16")), event(R"("input_tokens":3)")}, open());
    ASSERT_TRUE(dropped.usable) << dropped.first_error();
    EXPECT_EQ(dropped.trace.rows.size(), 1U);
    ASSERT_EQ(dropped.trace.remarks.size(), 1U);
    EXPECT_STREQ(dropped.trace.remarks[0].one, "request without output tokens dropped");
    refuses({event(replay("16")), event(R"("output_tokens":1,"input_tokens":3)")}, open(),
            some_without_ids(2));
    refuses({R"({"timestamp":0})"}, open("aibrix"),
            "t.jsonl:1: requests is missing; give every row its list of requests");
    for (const char* const wrong : {"7", "null", "[7]"}) {
        refuses({R"({"timestamp":0,"requests":)" + std::string(wrong) + "}"}, open("aibrix"),
                "t.jsonl:1: requests \"" + std::string(wrong) +
                    "\" is not a list of objects; correct the row");
    }
    // A text that is none of the format that was named, and a time far outside of the clock.
    const ReadTrace json = read({R"({"timestamp":1})"}, open("burstgpt"));
    EXPECT_FALSE(json.usable);
    EXPECT_TRUE(says(json.first_error(),
                     "is JSON; the format burstgpt is CSV; choose another with --format"));
    ReadOptions iso{.time_unit = "iso", .map = {{"time", "t"}, {"in", "i"}, {"out", "o"}}};
    refuses({R"({"t":"2300-01-01T00:00:00Z","i":5,"o":2})"}, iso,
            "t.jsonl:1: t \"2300-01-01T00:00:00Z\" is not within 1970 and 2115; correct the row");
}

}  // namespace
}  // namespace driftless
