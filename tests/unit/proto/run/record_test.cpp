// Records as lines of requests.jsonl, written and read back.

#include "proto/run/record.hpp"

#include "proto/core/hash.hpp"
#include "proto/run/record_lines.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// A record survives its line of JSON: every key, every value, every unknown; and the line is what
// the shipped schema says.

namespace {

// clang-format off: as many fields a line as fit
Record full_record() {
    return Record{
        .row = 17, .request = 19, .pass = 1, .phase = Phase::drain, .attempt = 3, .side = Side::b,
        .user = 4, .session = "chat \"7\"", .tree = "chat", .turn = 3,
        .kept = R"({"type":"text","n":1.50})", .segment = 2,
        .url = "http://127.0.0.1:8000/v1/completions", .api = "openai-completions", .model = "m",
        .connection = 5, .reused = true, .connection_state = ConnectionState::moved,
        .connection_age_ns = 1'100'000'750, .stale_retries = 1, .due_ns = 1'000'000'000,
        .parent_end_ns = 999'000'000, .overtaken = true, .armed_ns = -200'000'000,
        .fired_ns = 1'000'000'750, .drift_ns = 750, .held_ns = 12,
        .late_cause = LateCause::inflight, .tainted = {"payload_dropped", "entries_dropped"},
        .connect_ns = -100'000'000, .submit_ns = 6'500, .wire_ns = 1'000'003'000,
        .sent_ns = 1'000'004'000, .headers_ns = 1'001'000'000, .first_byte_ns = 1'002'000'000,
        .first_token_ns = 1'003'000'000, .first_content_ns = 1'003'500'000,
        .last_token_ns = 1'013'000'000, .first_event_ns = 1'002'500'000,
        .finish_event_ns = 1'013'000'001, .usage_event_ns = 1'013'000'002,
        .error_event_ns = 1'013'000'003, .end_marker_ns = 1'013'000'004, .done_ns = 1'014'000'000,
        .ended_ns = 1'014'000'100, .censored = true, .ttft_ns = 2'999'250,
        .ttft_due_ns = 3'000'000, .tpot_ns = 3333333.3333333335, .e2e_ns = 12'999'250,
        .first_late_ns = 20'000, .last_late_ns = 0, .chunk_ns = {2'999'250, 12'999'250},
        .chunk_tokens = {1, 3}, .chunk_tokens_known = true, .chunk_late_ns = {20'000, 0},
        .chunks_late_known = true, .chunk_kinds = "r1c1", .input_length = 4294967295u,
        .prompt_tokens = 4294967295, .prompt_tokens_off = -4294967295, .live_turns = 3,
        .padded_tokens = -2, .expected_cached_tokens = 512, .expected_cached_server = 528,
        .cached_tokens = 0, .output_length = 4, .output_tokens = 4,
        .tokens_source = TokensSource::continuous,
        .outcome = Outcome::stream_error, .status = 200, .error = "line\nbreak \xF0\x9F\x98\x80",
        .finish_reason = "length", .response_id = "cmpl-1",
        .trace_id = "0af7651916cd43dd8448eb211c80319c",
        .headers = {{"X-Pod", "a\"b"}, {"x-none", std::nullopt}}, .worker = R"({"worker_id":7})",
        .inflight = 9, .output_digest = 0x00ABCDEF01234567ull,
        .bytes_sent = 18'446'744'073'709'551'615ull, .bytes_received = 77, .coalesced_chunks = 1,
        .receive_delay_ns = 4000, .retransmits = 2, .wire_delay_bound_ns = 2250,
        .request_delay_ns = 800,
    };
}
// clang-format on

// The line of a record with nothing unknown, written out by hand from the contract.
TEST(RecordJsonl, WritesEveryKeyInOrderAndUnknownAsNull) {
    EXPECT_EQ(
        jsonl_of(full_record()),
        R"({"row":17,"request":19,"pass":1,"phase":"drain","attempt":3,"side":"b","user":4,"session":"chat \"7\"",)"
        R"("tree":"chat","turn":3,"kept":{"type":"text","n":1.50},)"
        R"("segment":2,"url":"http://127.0.0.1:8000/v1/completions","api":"openai-completions","model":"m","connection":5,)"
        R"("reused":true,"connection_state":"moved","connection_age_ns":1100000750,"stale_retries":1,"due_ns":1000000000,"parent_end_ns":999000000,"overtaken":true,"armed_ns":-200000000,)"
        R"("fired_ns":1000000750,"drift_ns":750,"held_ns":12,"late_cause":"inflight",)"
        R"("tainted":["payload_dropped","entries_dropped"],"connect_ns":-100000000,)"
        R"("submit_ns":6500,"wire_ns":1000003000,"sent_ns":1000004000,"headers_ns":1001000000,)"
        R"("first_byte_ns":1002000000,"first_token_ns":1003000000,"first_content_ns":1003500000,)"
        R"("last_token_ns":1013000000,"first_event_ns":1002500000,"finish_event_ns":1013000001,)"
        R"("usage_event_ns":1013000002,"error_event_ns":1013000003,"end_marker_ns":1013000004,"done_ns":1014000000,"ended_ns":1014000100,"censored":true,)"
        R"("ttft_ns":2999250,"ttft_due_ns":3000000,)"
        R"("tpot_ns":3333333.3333333335,"e2e_ns":12999250,"first_late_ns":20000,"last_late_ns":0,)"
        R"("chunk_ns":[2999250,12999250],"chunk_tokens":[1,3],"chunk_late_ns":[20000,0],"chunk_kinds":"r1c1","input_length":4294967295,"prompt_tokens":4294967295,)"
        R"("prompt_tokens_off":-4294967295,"live_turns":3,"padded_tokens":-2,"expected_cached_tokens":512,"expected_cached_server":528,"cached_tokens":0,"output_length":4,"output_tokens":4,)"
        R"("tokens_source":"continuous","outcome":"stream_error","status":200,)"
        R"("error":"line\nbreak )"
        "\xF0\x9F\x98\x80"
        R"(","finish_reason":"length","response_id":"cmpl-1",)"
        R"("trace_id":"0af7651916cd43dd8448eb211c80319c",)"
        R"("headers":{"X-Pod":"a\"b","x-none":null},"worker":{"worker_id":7},"inflight":9,)"
        R"("output_digest":"00abcdef01234567","bytes_sent":18446744073709551615,)"
        R"("bytes_received":77,"coalesced_chunks":1,"receive_delay_ns":4000,"retransmits":2,)"
        R"("wire_delay_bound_ns":2250,"request_delay_ns":800})"
        "\n");
    // A row that was never sent: what is unknown is null and never 0.
    const JsonText json(jsonl_of({.api = "openai-chat", .has_chunks = false}));
    for (const std::string& key : words_of(
             "user session tree turn kept url connection connection_state connection_age_ns "
             "parent_end_ns overtaken armed_ns fired_ns drift_ns tainted connect_ns submit_ns "
             "wire_ns sent_ns headers_ns first_byte_ns first_token_ns first_content_ns "
             "last_token_ns first_event_ns finish_event_ns usage_event_ns error_event_ns "
             "end_marker_ns done_ns ended_ns ttft_ns ttft_due_ns tpot_ns e2e_ns first_late_ns "
             "last_late_ns chunk_ns chunk_tokens chunk_late_ns chunk_kinds prompt_tokens "
             "prompt_tokens_off cached_tokens output_tokens "
             "tokens_source status error finish_reason response_id trace_id inflight output_digest "
             "receive_delay_ns retransmits wire_delay_bound_ns request_delay_ns")) {
        EXPECT_TRUE(json.root.find(key).is(JsonType::null)) << key;
    }
    EXPECT_EQ(json.root.find("outcome").as_string(), "not_sent");
    EXPECT_EQ(json.root.find("headers").raw(), "{}");
}

int status_of(Outcome outcome) {
    return outcome == Outcome::http_3xx   ? 302
           : outcome == Outcome::http_429 ? 429
           : outcome == Outcome::http_5xx ? 503
                                          : 200;
}

// Written, read, written: the same bytes. For the full record, the empty one, each closed list, and
// with each optional value gone.
TEST(RecordJsonl, RoundTripIsExact) {
    std::vector<Record> records = {full_record(), Record{}};
    for (unsigned i = 0; i < outcome_count; ++i) {
        records.push_back(full_record());
        records.back().outcome = static_cast<Outcome>(i);
        records.back().status = status_of(static_cast<Outcome>(i));
        if (records.back().outcome == Outcome::not_sent) {
            records.back().fired_ns.reset();
        }
        records.back().late_cause = static_cast<LateCause>(i % late_cause_count);
        records.back().tokens_source = static_cast<TokensSource>(i % tokens_source_count);
        if (!counts_output(records.back())) {
            records.back().tpot_ns.reset();  // chunks have none
        }
    }
    records.push_back(full_record());
    records.back().chunk_tokens_known = false;
    records.push_back(full_record());
    records.back().overtaken = false;
    records.push_back(full_record());
    records.back().has_chunks = false;
    records.push_back(full_record());
    records.back().session = "";
    records.back().error = std::string("\0\x1F", 2);
    records.back().headers = {{"X", std::string("\0\r\n\t\"\\\x7F \xC3\xA4", 10)}, {"Y", ""}};
    for (const Record& record : records) {
        const std::string line = jsonl_of(record);
        const Result<Record> back = read_alone(read_record, line);
        EXPECT_EQ(back ? jsonl_of(back.value()) : back.error().doing, line);
    }
}

// What would move or turn text on a terminal is escaped, also in JSON that others wrote.
TEST(RecordJsonl, PrintsSafelyAndRefusesWhatIsNoRecord) {
    Record record = full_record();
    record.kept = "{\"k\":\"\xE2\x80\xAE\"}";
    record.error = "a\xC2\x9B\xE2\x80\xA8";
    const std::string line = jsonl_of(record);
    EXPECT_TRUE(says(line, R"("kept":{"k":"\u202e"})"));
    EXPECT_TRUE(says(line, R"("error":"a\u009b\u2028")"));
    EXPECT_EQ(read_alone(read_record, line).value().error, record.error);
    // A key that is missing, of another type, or out of range is an error that names it.
    const std::string other_line = jsonl_of(full_record());
    const auto error_with = [&](const std::string& from, const std::string& to) {
        const Result<Record> other_record = read_alone(read_record, replaced(other_line, from, to));
        EXPECT_FALSE(other_record) << to;
        return other_record ? Error{} : other_record.error();
    };
    EXPECT_EQ(error_with("\"row\":17,", "").code, ErrorCode::missing);
    EXPECT_STREQ(error_with("\"row\":17", "\"row\":-1").doing, "row");
    EXPECT_EQ(error_with("\"row\":17", "\"row\":4294967296").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("\"reused\":true", "\"reused\":1").code, ErrorCode::bad_json);
    EXPECT_STREQ(error_with("\"overtaken\":true", "\"overtaken\":1").doing, "overtaken");
    EXPECT_EQ(error_with("\"kept\":{", "\"kept\":1,\"x\":{").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("\"x-none\":null", "\"x-none\":1").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("\"headers\":{", "\"headers\":[],\"x\":{").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("stream_error", "strange").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("\"moved\"", "\"gone\"").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("\"drain\"", "\"rain\"").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("\"side\":\"b\"", "\"side\":\"none\"").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("\"side\":\"b\"", "\"side\":1").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("\"moved\"", "1").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("\"continuous\"", "7").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("00abcdef01234567", "xyz").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("[2999250,", "[\"a\",").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("{\"row\"", "[\"row\"").code, ErrorCode::bad_json);
    EXPECT_STREQ(error_with("\"chunk_ns\":[", "\"chunk_ns\":5,\"x\":[").doing, "chunk_ns");
    EXPECT_EQ(read_alone(read_record, "[]").error().code, ErrorCode::bad_json);
}

// A line of a later schema, with a key more, is read all the same.
TEST(RecordJsonl, ReadsLinesOfOtherSchemasAndKeepsToItsOwn) {
    std::string line = jsonl_of(full_record());
    line.insert(1, R"("invented_later":{"row":1},)");
    EXPECT_EQ(jsonl_of(read_alone(read_record, line).value()), jsonl_of(full_record()));
    // A line of schema 1 is read; what it did not say is null.
    line = jsonl_of(full_record());
    for (const char* const later :
         {R"("request":19,"pass":1,"phase":"drain","attempt":3,"side":"b","user":4,)",
          R"("tree":"chat",)", R"("parent_end_ns":999000000,"overtaken":true,)",
          R"("connection_state":"moved",)", R"("connection_age_ns":1100000750,)",
          R"("submit_ns":6500,)", R"("ended_ns":1014000100,"censored":true,)",
          R"("prompt_tokens_off":-4294967295,)", R"("segment":2,)",
          R"("trace_id":"0af7651916cd43dd8448eb211c80319c",)",
          R"("headers":{"X-Pod":"a\"b","x-none":null},)",
          R"(,"wire_delay_bound_ns":2250,"request_delay_ns":800)"}) {
        line = replaced(line, later, "");
    }
    const Record back = read_alone(read_record, line).value();
    EXPECT_EQ(back.done_ns, full_record().done_ns);
    EXPECT_EQ(values_of(back, "segment, request, pass, phase, attempt, side, censored"),
              "0, 0, 0, profile, 0, null, false");
    EXPECT_TRUE(back.headers.empty());
    EXPECT_EQ(
        values_of(back, "user, tree, parent_end_ns, overtaken, trace_id, submit_ns, ended_ns"),
        "null, null, null, null, null, null, null");
    EXPECT_EQ(values_of(back,
                        "connection_state, connection_age_ns, prompt_tokens_off, "
                        "wire_delay_bound_ns, request_delay_ns"),
              "null, null, null, null, null");
    // Real lines hold against the shipped schema, whose keys are exactly those of a line, in order.
    const JsonText schema(source_file("proto/run/record.schema.json"));
    const std::vector<std::string> required = strings_of(schema.root.find("required"));
    std::vector<std::string> properties = required;
    properties.emplace_back("shard");  // in no line of a run
    EXPECT_EQ(keys_of(schema.root.find("properties")), properties);
    for (const Record& record : {full_record(), Record{.has_chunks = false}}) {
        const JsonText json(jsonl_of(record));
        EXPECT_EQ(schema_errors(schema.root, json.root), std::vector<std::string>());
        EXPECT_EQ(keys_of(json.root), required);
    }
}

// The keys of a record may stand in any order: each is looked for where the one before it ended,
// and then among all of them.

TEST(RecordKeys, InAnyOrderAndOfAShard) {
    Record record{.row = 17,
                  .session = "a",
                  .shard = 3,
                  .due_ns = 5,
                  .fired_ns = 9,
                  .tainted = {"late"},
                  .chunk_ns = {1, 2},
                  .outcome = Outcome::ok};
    const std::string line = line_of(record);
    const JsonText json(line);
    std::vector<std::string> members;
    for (JsonValue field = json.root.first(); field.present(); field = field.next()) {
        members.push_back("\"" + std::string(field.key()) + "\":" + std::string(field.raw()));
    }
    for (int turn = 0; turn < 3; ++turn) {
        turn == 0 ? std::reverse(members.begin(), members.end())
                  : std::swap(members[3], members[members.size() - 2]);
        std::string shuffled = "{";
        for (const std::string& member : members) {
            shuffled += (shuffled.size() > 1 ? "," : "") + member;
        }
        EXPECT_EQ(line_of(read_alone(read_record, shuffled + "}").value()), line);
    }
    // A line of a merged run has one key more, behind all others, and is read back with it.
    record = {.shard = 4'294'967'295};
    const std::string other_line = line_of(record);
    EXPECT_TRUE(other_line.ends_with(",\"shard\":4294967295}"));
    EXPECT_EQ(read_alone(read_record, other_line).value().shard, record.shard);
    EXPECT_EQ(schema_errors("proto/run/record.schema.json", other_line),
              std::vector<std::string>());
}

// A line that its own keys contradict was not written by a run, and is refused by the key.

/// The key for which the record is refused; empty: it is taken.
std::string refused(const Record& record) {
    const Result<Record> back = read_alone(read_record, jsonl_of(record));
    return back ? std::string() : std::string(back.error().doing);
}

Record answered() {
    return Record{
        .due_ns = 100, .fired_ns = 107, .drift_ns = 7, .outcome = Outcome::ok, .status = 200};
}

TEST(RecordRead, RefusesEndsThatCannotBe) {
    Record record = answered();
    EXPECT_EQ(refused(record), "");
    record.status = 500;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_5xx;
    EXPECT_EQ(refused(record), "");
    record.status = 200;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_3xx;
    EXPECT_EQ(refused(record), "status");
    record.status = 429;
    record.outcome = Outcome::http_429;
    EXPECT_EQ(refused(record), "");
    Record left = answered();
    left.outcome = Outcome::not_sent;
    EXPECT_EQ(refused(left), "fired_ns");
    for (const Outcome whole : {Outcome::ok, Outcome::short_output, Outcome::long_output}) {
        Record unsent = answered();
        unsent.outcome = whole;
        unsent.fired_ns.reset();
        EXPECT_EQ(refused(unsent), "fired_ns");
    }
    Record lacking;  // a connection that never stood
    lacking.outcome = Outcome::connect_failed;
    EXPECT_EQ(refused(lacking), "");
    Record late = answered();
    late.drift_ns = 8;
    EXPECT_EQ(refused(late), "drift_ns");
}

// What orders a line is found wherever it stands, and nothing else is taken for it.

Result<RecordOrder> read_order(std::string_view line) {
    return RecordOrders().read(line);
}

RecordOrder order_of(std::string_view line) {
    const Result<RecordOrder> read = read_order(line);
    EXPECT_TRUE(read) << line;
    return read ? read.value() : RecordOrder();
}

TEST(RecordOrders, OfThisAndOlderSchemas) {
    Record record{.row = 4'294'967'295,
                  .pass = 3,
                  .attempt = 2,
                  .side = Side::b,
                  .session = R"("row":5,{)",
                  .kept = R"({"due_ns":1,"row":"\"}","a":[{"pass":9}]})",
                  .due_ns = -7};
    const std::string line = line_of(record);
    const RecordOrder order = order_of(line);
    EXPECT_EQ(std::tuple(order.row, order.pass, order.attempt, order.side, order.due_ns),
              std::tuple(record.row, 3U, 2U, Side::b, -7));
    const RecordOrder other_order = order_of(R"( { "due_ns" : 5 , "x":{"row":2}, "row" : 1 } )");
    EXPECT_EQ(std::tuple(other_order.row, other_order.due_ns), std::tuple(1U, 5));
    EXPECT_EQ(std::tuple(other_order.pass, other_order.side), std::tuple(0U, Side::none));
    // Of equal names the first.
    EXPECT_EQ(order_of(R"({"row":1,"row":2,"due_ns":3})").row, 1U);
    for (const std::string_view other_line :
         {"", "x", "[]", "{", "{}", R"({"row":1})", R"({"due_ns":1})", R"({"row":1,"due_ns":1.5})",
          R"({"row":-1,"due_ns":1})", R"({"row":4294967296,"due_ns":1})",
          R"({"row":"1","due_ns":1})", R"({"row":1,"side":"c","due_ns":1})", R"({"row":1,"due_ns)",
          R"({"kept":"\",row":1,"due_ns":1})", R"({"row":null,"due_ns":1})"}) {
        EXPECT_FALSE(read_order(other_line)) << other_line;
    }
    // Cut anywhere, a line is never read beyond its end (the sanitizers look).
    const std::string other_line = R"({"row":1,"kept":{"a":"\\\"","b":[1,{}]},"due_ns":12})";
    for (std::size_t bytes = 0; bytes < other_line.size(); ++bytes) {
        const std::string part = other_line.substr(0, bytes);
        EXPECT_FALSE(read_order(part)) << part;
    }
    EXPECT_TRUE(read_order(other_line));
}

// A line as a run writes it is not looked at behind its instant; one that is written otherwise is
// read whole, and what is wrong has its name.
TEST(RecordOrders, SaysWhatIsWrong) {
    const std::string line = line_of(Record());
    const std::size_t behind = line.find("\"parent_end_ns\"");
    EXPECT_TRUE(read_order(line.substr(0, behind) + "}"));
    EXPECT_EQ(read_order(" " + line.substr(0, behind) + "}").error().code, ErrorCode::bad_json);
    const auto error_with = [&line](const std::string& from, const std::string& to) {
        const Result<RecordOrder> order = read_order(replaced(line, from, to));
        EXPECT_FALSE(order) << to;
        return order ? std::string() : std::string(order.error().doing);
    };
    EXPECT_EQ(error_with("\"row\":0,", ""), "row");
    EXPECT_EQ(error_with("\"due_ns\":0,", ""), "due_ns");
    EXPECT_EQ(error_with("\"row\":0", "\"row\":null"), "row");
    EXPECT_EQ(error_with("\"due_ns\":0", "\"due_ns\":0.5"), "due_ns");
    EXPECT_EQ(error_with("\"pass\":0", "\"pass\":-1"), "pass");
    EXPECT_EQ(error_with("\"attempt\":0", "\"attempt\":\"0\""), "attempt");
    EXPECT_EQ(error_with("\"side\":null", "\"side\":\"none\""), "side");
    EXPECT_EQ(error_with("{\"row\"", "[\"row\""), "read a record");
}

// A line just as it is written is read without a document of its own, and nothing else is: what is
// taken so is what JsonDocument reads of the same line.

bool is_taken(const std::string& line) {
    JsonDocument pieces;
    Record record;
    WrittenFields fields(pieces, line);
    walk(fields, record);
    EXPECT_TRUE(!fields.ends() || line_of(record) == line) << line;
    return fields.ends();
}

/// As the record says it, or why there is none. A blank before the line makes JsonDocument read it.
std::string outcome_of(const std::string& line) {
    const Result<Record> record = read_alone(read_record, line);
    return record ? line_of(record.value())
                  : std::to_string(static_cast<int>(record.error().code)) + record.error().doing;
}

// clang-format off: as many fields a line as fit
Record ok_record() {
    return Record{
        .row = 17, .session = "a", .url = "http://127.0.0.1:8000/v1/completions",
        .api = "openai-completions", .connection = 5, .connection_state = ConnectionState::reused,
        .due_ns = 1'000'000'000, .armed_ns = -200'000'000, .fired_ns = 1'000'000'750,
        .late_cause = LateCause::wake, .tainted = {"late", "read_late"},
        .tpot_ns = 3333333.3333333335, .chunk_ns = {2'999'250, -1, 0}, .chunk_tokens = {1, 3, 0},
        .chunk_tokens_known = true, .chunk_kinds = "r1c2", .tokens_source = TokensSource::usage,
        .outcome = Outcome::ok, .status = 200,
        .headers = {{"X-Pod", "p"}, {"x-none", std::nullopt}},
        .output_digest = 0x00ABCDEF01234567ull, .bytes_sent = 999'999'999'999'999'999ull,
    };
}
// clang-format on

/// Texts and objects that JsonDocument must look at.
Record rich_record() {
    Record record = ok_record();
    record.session = "chat \"7\" \\";
    record.tree = "\xE4\xBC\x9A\xE8\xAF\x9D";
    record.kept = R"({"type":"}\"{","n":[1.50,{"a":null}]})";
    record.error = std::string("line\nbreak \0 \xF0\x9F\x98\x80", 17);
    record.headers = {{"a\"b", "\xC3\xA4"}};
    record.worker = "{}";
    record.shard = 4;
    return record;
}

TEST(WrittenFields, TakesWhatIsWrittenAndUsesMemoryAgain) {
    std::vector<Record> records{Record(), ok_record(), rich_record()};
    records.push_back(ok_record());
    records.back().has_chunks = false;
    records.push_back(ok_record());
    records.back().side = Side::b;
    records.back().chunk_tokens_known = false;
    for (const double number : {0.0, 1e300, 5e-324, -2.5, 1e21, 123456789012345680.0}) {
        records.push_back(ok_record());
        records.back().tpot_ns = number;
    }
    for (const Record& record : records) {
        EXPECT_TRUE(is_taken(line_of(record))) << line_of(record);
        EXPECT_EQ(outcome_of(line_of(record)), line_of(record));
    }
    // Into a record that held another one: nothing of that stays.
    JsonDocument document;
    Record record;
    for (const Record& next : {rich_record(), Record(), ok_record(), rich_record(), Record()}) {
        for (const char* blank : {"", " "}) {
            ASSERT_TRUE(read_record_into(document, blank + line_of(next), record));
            EXPECT_EQ(line_of(record), line_of(next));
        }
    }
}

TEST(WrittenFields, LeavesAllElse) {
    const std::string line = line_of(ok_record());
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"{\"row\"", "{ \"row\""},
             {"\"row\":17", "\"row\":017"},
             {"\"row\":17", "\"row\":-0"},
             {"\"row\":17", "\"row\":17.0"},
             {"\"row\":17", "\"row\":4294967296"},
             {"\"bytes_sent\":999999999999999999", "\"bytes_sent\":1000000000000000000"},
             {"\"session\":\"a\"", "\"session\":\"a\"\"b\""},
             {"\"session\":\"a\"", "\"session\":\"\t\""},
             {"\"session\":\"a\"", "\"session\":\"\xFF\""},
             {"\"kept\":null", "\"kept\":[]"},
             {"\"kept\":null", "\"kept\":{\"a\":}"},
             {"\"kept\":null", "\"kept\":{\"a\""},
             {"3333333.3333333335", "3333333."},
             {"3333333.3333333335", "inf"},
             {"3333333.3333333335", "1e999"},
             {"\"wake\"", "\"wakes\""},
             {"00abcdef01234567", "00abcdef0123456"},
             {"[2999250,-1,0]", "[2999250,-1,0,]"},
             {"[2999250,-1,0]", "[2999250,null]"},
             {"\"request_delay_ns\":null}", "\"request_delay_ns\":null,\"later\":1}"},
             {"\"request_delay_ns\":null}", "\"request_delay_ns\":null}}"}}) {
        EXPECT_FALSE(is_taken(replaced(line, from, to))) << to;
    }
}

// Whatever happens to one byte, both readers come to the same end; cut anywhere, a line is never
// read beyond its end (the sanitizers look).
TEST(WrittenFields, AgreesWithJsonDocument) {
    constexpr std::string_view bytes(
        "\"\\{}[]:, \n\0"
        "-+.019eEnta\x80\xC3",
        25);
    for (const Record& record : {ok_record(), rich_record()}) {
        const std::string line = line_of(record);
        for (std::size_t at = 0; at < line.size(); ++at) {
            std::vector<std::string> others{line.substr(0, at), line.substr(0, at) + "}",
                                            line.substr(0, at) + line.substr(at + 1)};
            for (std::size_t i = at % 5; i < bytes.size(); i += 5) {
                others.push_back(line);
                others.back()[at] = bytes[i];
                others.push_back(line.substr(0, at) + bytes[i] + line.substr(at));
            }
            for (const std::string& other : others) {
                ASSERT_EQ(outcome_of(other), outcome_of(" " + other)) << other;
            }
        }
    }
}

}  // namespace
}  // namespace driftless
