// Members of single rows are in their bodies, go before those of all rows, and are refused where a
// body cannot have them.
#include "engine/prompt/row_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/prompt/arm.hpp"
#include "engine/prompt/word_table.hpp"

namespace driftless {
namespace {

struct FieldRows {
    Trace trace;
    Plan plan;
    void add(const std::string& extra, const std::string& kept = "{}") {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.line = row.index + 1;
        row.input_length = 2;
        row.output_length = 1;
        row.session = 0;
        trace.rows.push_back(row);
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
    BodySpec spec;
    spec.extra_body = all;
    const Dialect& dialect = dialect_of(Api::openai_completions);
    InputErrors errors;
    const RowBodies own({dialect, spec, parsed}, rows.trace, rows.plan, errors);
    EXPECT_TRUE(errors.empty()) << to_text(errors.list[0]);
    PromptBuilder prompts(rows.trace, WordTable::built_in(), {});
    BodyPool pool;
    EXPECT_TRUE(pool.open(1 << 20));
    const std::vector<RequestHead> heads{RequestHead({"POST", "/", "h", {}})};
    const BodyFrame frame = dialect.frame(spec).value();
    RequestOptions options;
    options.row_bodies = own.empty() ? nullptr : &own;
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

using Texts = std::vector<std::string>;

TEST(RowBodies, AreThoseOfTheRows) {
    FieldRows rows;
    rows.add(R"({"nvext":{"priority": 99}})");
    rows.add("");
    rows.add(R"({"top_p":1})");
    EXPECT_EQ(bodies(rows, "", ""),
              (Texts{R"(,"nvext":{"priority": 99}})", "}", R"(,"top_p":1})"}));
    EXPECT_EQ(bodies(rows, "", R"({"top_p":2,"n":1})"),
              (Texts{R"(,"nvext":{"priority": 99},"top_p":2,"n":1})", R"(,"top_p":2,"n":1})",
                     R"(,"top_p":1,"n":1})"}));
}

TEST(RowBodies, FillPlaceholders) {
    FieldRows rows;
    rows.add("", R"({"p":3,"t":"x"})");
    rows.add(R"({"a":0})", R"({"p":null,"t":"y\""})");
    EXPECT_EQ(
        bodies(rows, R"({"a":"{kept.p}","b":"{kept.t}/{session}","c":{"d":"{row}"}})", ""),
        (Texts{R"(,"a":3,"b":"x/s\"1","c":{"d":0}})", R"(,"a":0,"b":"y\"/s\"1","c":{"d":1}})"}));
}

// What the run decides: numbers of any length, alone and inside of text.
TEST(RowBodies, SayWhereARowIsPlayed) {
    FieldRows rows;
    rows.add("");
    EXPECT_EQ(bodies(rows, R"({"a":"{pass}","b":"{row}-{pass}-{user}"})", "", UINT32_MAX),
              (Texts{R"(,"a":4294967295,"b":"0-4294967295-12"})"}));
}

TEST(RowBodies, RefuseWhatABodyCannotHave) {
    FieldRows rows;
    rows.trace.files = {{"t.jsonl", 0}};
    rows.add(R"({"stream":false})");
    rows.add(R"({"prompt":"x"})");
    rows.add(R"({"n":1})");
    InputErrors errors;
    const std::optional<BodyTemplate> none;
    const RowBodies own({dialect_of(Api::openai_completions), BodySpec(), none}, rows.trace,
                        rows.plan, errors);
    ASSERT_EQ(errors.count, 2U);
    EXPECT_EQ(to_text(errors.list[0]),
              "t.jsonl:1: extra \"{\\\"stream\\\":false}\" cannot be in this row's body: "
              "\"stream\" decides how answers are read; remove it; correct the row");
    EXPECT_EQ(errors.list[1].line, 2U);
}

}  // namespace
}  // namespace driftless
