// Fields and headers that differ from row to row.

#include "engine/prompt/row_fields.hpp"

#include "engine/prompt/arm.hpp"
#include "engine/prompt/word_table.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Each row's model is the one that its column names, each name is kept once, and a row without one
// is refused by its line.

namespace {

struct Made {
    RowModels models;
    InputErrors errors;
};

Made make(const std::vector<std::string>& kept, const std::string& model = "{kept.model}") {
    Trace trace;
    for (std::uint32_t i = 0; i < kept.size(); ++i) {
        append_row(trace, {.at_ns = i, .line = i + 1, .input_length = 8, .output_length = 1});
    }
    trace.kept = kept;
    trace.files = {{"a.jsonl", 0}, {"b.jsonl", 1}};
    const Plan plan = make_plan(trace, {}).value();
    std::string unknown;
    const FieldTemplate form = parse_field_template({"--model", model}, unknown);
    Made made;
    made.models = RowModels(form, trace, plan, made.errors);
    return made;
}

TEST(RowModels, AreThoseOfTheRowsAndBounded) {
    const Made made =
        make({R"({"model":"a"})", R"({"model":"b\"c"})", R"({"model":"a"})", R"({"model":7})"});
    EXPECT_TRUE(made.errors.empty());
    EXPECT_EQ(made.models.names(), (std::vector<std::string>{"a", "b\"c", "7"}));
    EXPECT_EQ(made.models.name_of(2), "a");
    EXPECT_EQ(made.models.opening_of(1), R"({"model":"b\"c")");
    EXPECT_EQ(make({R"({"lora":"x"})"}, "base-{kept.lora}").models.name_of(0), "base-x");
    EXPECT_TRUE(RowModels().empty());
    const Made lacking = make({R"({"model":"a"})", R"({"model":null})", "{}", R"({"model":""})"});
    ASSERT_EQ(lacking.errors.count, 3u);
    EXPECT_EQ(lacking.errors.list.front().file, "b.jsonl");
    EXPECT_EQ(lacking.errors.list.front().line, 2u);
    EXPECT_EQ(lacking.errors.list.front().problem, "has no value for --model");
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < RowModels::names_max; ++i) {
        kept.push_back("{\"model\":" + std::to_string(i) + "}");
    }
    EXPECT_TRUE(make(kept).errors.empty());
    kept.push_back(R"({"model":"one more"})");
    kept.push_back(R"({"model":"0"})");
    const Made other_made = make(kept);
    ASSERT_EQ(other_made.errors.count, 1u);
    EXPECT_EQ(other_made.errors.list.front().problem, "is a model name longer than 4096");
}

// Members of single rows are in their bodies, go before those of all rows, and are refused where a
// body cannot have them.

struct FieldRows {
    Trace trace;
    Plan plan;
    void add(const std::string& extra, const std::string& kept = "{}") {
        TraceRow& row = append_row(trace, {.input_length = 2, .output_length = 1, .session = 0});
        row.line = row.index + 1;
        trace.extras.push_back(extra);
        trace.kept.push_back(kept);
        trace.sessions = {"s\"1"};
        plan.rows.push_back({row.index, row.index, 0});
    }
};

/// The end of each body behind its length, as it is armed.
std::vector<std::string> bodies(const FieldRows& rows, const std::string& members,
                                const std::string& all, std::uint32_t pass = 0) {
    std::string unknown;
    std::optional<BodyTemplate> parsed;
    if (!members.empty()) {
        parsed = parse_body_template(members, unknown);
    }
    BodySpec spec{.extra_body = all};
    const Dialect& dialect = dialect_of(Api::openai_completions);
    InputErrors errors;
    const RowBodies own({dialect, spec, parsed}, rows.trace, rows.plan, errors);
    EXPECT_TRUE(errors.empty()) << to_text(errors.list[0]);
    PromptBuilder prompts(rows.trace, WordTable::built_in(), {});
    BodyPool pool;
    EXPECT_TRUE(pool.open(1 << 20));
    const std::vector<RequestHead> heads{RequestHead({"POST", "/", "h", {}})};
    const BodyFrame frame = dialect.frame(spec).value();
    RequestOptions options{.row_bodies = own.empty() ? nullptr : &own};
    RequestWriter writer(rows.trace, prompts, heads, frame, options);
    std::vector<std::string> made;
    for (std::uint32_t i = 0; i < rows.plan.rows.size(); ++i) {
        Due due{.row = i, .pass = pass, .user = 12};
        std::string storage(writer.room_of(due), '\0');
        writer.begin(due, storage.data());
        while (!writer.fill(100)) {
        }
        const std::string text(writer.finish());
        made.push_back(text.substr(text.find("\"ignore_eos\":true") + 17));
    }
    return made;
}

TEST(RowBodies, AreThoseOfTheRowsOrRefused) {
    FieldRows rows;
    rows.add(R"({"nvext":{"priority": 99}})");
    rows.add("");
    rows.add(R"({"top_p":1})");
    EXPECT_EQ(bodies(rows, "", ""),
              (Texts{R"(,"nvext":{"priority": 99}})", "}", R"(,"top_p":1})"}));
    EXPECT_EQ(bodies(rows, "", R"({"top_p":2,"n":1})"),
              (Texts{R"(,"nvext":{"priority": 99},"top_p":2,"n":1})", R"(,"top_p":2,"n":1})",
                     R"(,"top_p":1,"n":1})"}));
    FieldRows third_rows;
    third_rows.add("", R"({"p":3,"t":"x"})");
    third_rows.add(R"({"a":0})", R"({"p":null,"t":"y\""})");
    EXPECT_EQ(
        bodies(third_rows, R"({"a":"{kept.p}","b":"{kept.t}/{session}","c":{"d":"{row}"}})", ""),
        (Texts{R"(,"a":3,"b":"x/s\"1","c":{"d":0}})", R"(,"a":0,"b":"y\"/s\"1","c":{"d":1}})"}));
    // What the run decides: numbers of any length, alone and inside of text.
    FieldRows played;
    played.add("");
    EXPECT_EQ(bodies(played, R"({"a":"{pass}","b":"{row}-{pass}-{user}"})", "", UINT32_MAX),
              (Texts{R"(,"a":4294967295,"b":"0-4294967295-12"})"}));
    FieldRows other_rows{.trace = {.files = {{"t.jsonl", 0}}}};
    other_rows.add(R"({"stream":false})");
    other_rows.add(R"({"prompt":"x"})");
    other_rows.add(R"({"n":1})");
    InputErrors errors;
    const std::optional<BodyTemplate> none;
    const RowBodies own({dialect_of(Api::openai_completions), BodySpec(), none}, other_rows.trace,
                        other_rows.plan, errors);
    ASSERT_EQ(errors.count, 2U);
    EXPECT_EQ(to_text(errors.list[0]),
              "t.jsonl:1: extra \"{\\\"stream\\\":false}\" cannot be in this row's body: "
              "\"stream\" decides how answers are read; remove it; correct the row");
    EXPECT_EQ(errors.list[1].line, 2U);
}

// Header fields of rows hold what the trace says of them, are left out where it says nothing, and
// never hold what could begin another header.

FieldTemplate field(const std::string& name, const std::string& value) {
    std::string unknown;
    FieldTemplate made = parse_field_template({name, value}, unknown);
    EXPECT_EQ(unknown, "");
    return made;
}

/// Rows of one session each (empty: none), with these kept columns.
struct HeaderRows {
    Trace trace;
    Plan plan;
    std::uint32_t pass = 0;
    void add(const std::string& session, std::uint32_t turn, const std::string& kept = "") {
        TraceRow& row = append_row(trace, {.input_length = 5, .output_length = 1});
        row.line = row.index + 1;
        row.turn = turn;
        if (!session.empty()) {
            row.session = static_cast<std::uint32_t>(trace.sessions.size());
            trace.sessions.push_back(session);
        }
        trace.kept.push_back(kept);
        plan.rows.push_back({static_cast<std::int64_t>(row.index) * 1000, row.index, 0});
    }
    std::vector<std::string> fields(const std::vector<FieldTemplate>& templates) const {
        InputErrors errors;
        const RowFields fields(templates, trace, plan, errors);
        EXPECT_TRUE(errors.empty()) << to_text(errors.list[0]);
        std::vector<std::string> texts;
        for (std::uint32_t i = 0; i < plan.rows.size(); ++i) {
            texts.emplace_back();
            fields.append({.row = i, .pass = pass, .user = 7}, texts.back());
            EXPECT_LE(texts.back().size(), fields.bytes_max());
        }
        std::string none;
        fields.append({.row = static_cast<std::uint32_t>(plan.rows.size())}, none);
        EXPECT_EQ(none, "");
        return texts;
    }
};

// A field with any value that a row does not have is not in its head; the others are.
TEST(RowFields, SayWhatTheRowHas) {
    HeaderRows rows;
    rows.add("chat 7", 2);
    rows.add("", 3);
    rows.add("s", 0);
    EXPECT_EQ(rows.fields({field("X-Session", "{session}"), field("X-Row", "r{row}"),
                           field("X-Both", "{session}/{turn}")}),
              (Texts{"X-Session: chat 7\r\nX-Row: r0\r\nX-Both: chat 7/2\r\n", "X-Row: r1\r\n",
                     "X-Session: s\r\nX-Row: r2\r\n"}));
    EXPECT_EQ(rows.fields({}), (Texts{"", "", ""}));
    // Who has spawned a session, and what is decided in the run: numbers of any length.
    HeaderRows other_rows;
    other_rows.add("root", 1);
    other_rows.add("root/agent", 1);
    other_rows.add("", 1);
    other_rows.trace.dependencies = {{1, 0}};
    EXPECT_EQ(
        other_rows.fields(
            {field("A", "{tree}.{pass}"), field("B", "{parent}"), field("C", "{user}/{pass}")}),
        (Texts{"A: root.0\r\nC: 7/0\r\n", "A: root.0\r\nB: root\r\nC: 7/0\r\n", "C: 7/0\r\n"}));
    other_rows.pass = UINT32_MAX;
    EXPECT_EQ(other_rows.fields({field("C", "{pass}{pass}")}),
              Texts(3, "C: 42949672954294967295\r\n"));
    // Columns are said as the trace writes them, strings without their quotes.
    HeaderRows kept;
    kept.add("", 0, R"({"a":"x \u00e4\t\"y\"","b":1.50})");
    kept.add("", 0, R"({"a":null,"b":true})");
    kept.add("", 0, R"({"a":"","b":[1,"c"]})");
    kept.add("", 0);
    EXPECT_EQ(kept.fields({field("A", "{kept.a}"), field("B", "{kept.b}")}),
              (Texts{"A: x \xC3\xA4\t\"y\"\r\nB: 1.50\r\n", "B: true\r\n",
                     "A: \r\nB: [1,\"c\"]\r\n", ""}));
}

// CR, LF, NUL and their kin are refused with file, line, value and remedy; every row is listed.
TEST(RowFields, RefuseWhatCouldBeginAHeader) {
    for (int byte = 0; byte < 256; ++byte) {
        HeaderRows rows;
        rows.add("good", 1);
        rows.add(std::string("a") + static_cast<char>(byte) + "X-Evil: 1", 1);
        rows.trace.files = {{"t.jsonl", 0}};
        InputErrors errors;
        const RowFields fields({field("X-Session", "{session}")}, rows.trace, rows.plan, errors);
        const bool control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
        ASSERT_EQ(errors.count, control ? 1u : 0u) << byte;
        if (byte == '\n') {
            EXPECT_EQ(to_text(errors.list[0]),
                      "t.jsonl:2: session \"a\\nX-Evil: 1\" has a control byte, which could begin "
                      "a header; leave {session} out of --header X-Session");
        }
    }
    HeaderRows rows;
    rows.add("", 0, R"({"a":"\u0000"})");
    rows.add("", 0, R"({"a":"\r\n"})");
    rows.add("", 0, "{\"a\":[1,\n2]}");
    InputErrors errors;
    const RowFields fields({field("X", "{kept.a}")}, rows.trace, rows.plan, errors);
    EXPECT_EQ(errors.count, 3u);
    // A header that another flag has brought is refused by that flag's name, and a long name is
    // shown.
    HeaderRows other_rows;
    other_rows.add("a\n", 1);
    other_rows.add(std::string(10'000, 'x'), 1);
    FieldTemplate family = field("X-Correlation-ID", "{session}-{pass}");
    family.flag = "--session-headers agentx";
    InputErrors other_errors;
    const RowFields other_fields({family}, other_rows.trace, other_rows.plan, other_errors);
    ASSERT_EQ(other_errors.count, 2U);
    for (const InputError& error : other_errors.list) {
        EXPECT_EQ(error.field, "session");
        EXPECT_TRUE(says(error.remedy, "leave --session-headers agentx out"));
    }
    EXPECT_EQ(other_errors.list[1].value, std::string(80, 'x'));
}

// 4,095, 4,096 and 4,097 bytes of fields.
TEST(RowFields, AreBounded) {
    const std::size_t around = std::string("X: \r\n").size();
    for (const std::size_t bytes :
         {RowFields::row_bytes_max - 1, RowFields::row_bytes_max, RowFields::row_bytes_max + 1}) {
        HeaderRows rows;
        rows.add(std::string(bytes - around, 'x'), 1);
        InputErrors errors;
        const RowFields fields({field("X", "{session}")}, rows.trace, rows.plan, errors);
        EXPECT_EQ(errors.empty(), bytes <= RowFields::row_bytes_max);
        EXPECT_EQ(fields.bytes_max(), bytes);
    }
    for (const std::size_t bytes :
         {RowFields::row_bytes_max - 1, RowFields::row_bytes_max, RowFields::row_bytes_max + 1}) {
        HeaderRows rows;  // the longest number counts
        rows.add(std::string(bytes - around - 10, 'x'), 1);
        InputErrors errors;
        const RowFields fields({field("X", "{session}{user}")}, rows.trace, rows.plan, errors);
        EXPECT_EQ(errors.empty(), bytes <= RowFields::row_bytes_max);
    }
}

// What leaves: each row's own fields in its head, room enough for the longest, and its own id where
// it has one.
TEST(RowFields, StandInTheArmedRequests) {
    HeaderRows rows;
    rows.add("one", 1);
    rows.add("", 1);
    rows.add(std::string(4000, 'z'), 1);
    InputErrors errors;
    const RowFields own({field("x-request-id", "{session}")}, rows.trace, rows.plan, errors);
    ASSERT_TRUE(errors.empty());
    PromptBuilder prompts(rows.trace, WordTable::built_in(), {});
    BodyPool bodies;
    ASSERT_TRUE(bodies.open(1 << 20));
    const std::vector<RequestHead> heads{RequestHead({"POST", "/", "h", {}})};
    const BodyFrame frame{"{", ",", "}", true};
    ArmerOptions options;
    options.run_id = "0badcafe";
    options.armed_max = 4;
    options.row_fields = &own;
    options.traceparent = true;
    Schedule schedule(rows.plan);
    Armer armer(rows.trace, schedule, prompts, bodies, heads, frame, options);
    while (armer.step({}, INT64_MAX, 100)) {
    }
    Texts ids;
    for (const Due* due = schedule.peek(); due != nullptr; due = schedule.peek()) {
        RowUnderway& request = armer.take(schedule.take());
        const std::string text(request.bytes);
        ids.push_back(text.substr(0, text.find("\r\n\r\n")));
        EXPECT_LE(request.bytes.size(), armer.room_of(request.due.row));
        EXPECT_TRUE(says(text, "\r\ntraceparent: 00-"));
        armer.discard(request);
    }
    ASSERT_EQ(ids.size(), 3u);
    EXPECT_TRUE(says(ids[0], "\r\nx-request-id: one\r\n"));
    EXPECT_FALSE(says(ids[0], "X-Request-Id"));
    EXPECT_TRUE(says(ids[1], "\r\nX-Request-Id: 0badcafe-0000-8000-8000-000000000001\r\n"));
    EXPECT_TRUE(says(ids[2], "\r\nx-request-id: zzzz"));
}

}  // namespace
}  // namespace driftless
