// Each row's model is the one that its column names, each name is kept once, and a row without one
// is refused by its line.
#include <gtest/gtest.h>

#include "engine/prompt/row_fields.hpp"

namespace driftless {
namespace {

struct Made {
    RowModels models;
    InputErrors errors;
};

Made make(const std::vector<std::string>& kept, const std::string& model = "{kept.model}") {
    Trace trace;
    for (std::uint32_t i = 0; i < kept.size(); ++i) {
        TraceRow row{.at_ns = i, .index = i, .line = i + 1, .input_length = 8, .output_length = 1};
        trace.rows.push_back(row);
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

TEST(RowModels, AreThoseOfTheRows) {
    const Made made =
        make({R"({"model":"a"})", R"({"model":"b\"c"})", R"({"model":"a"})", R"({"model":7})"});
    EXPECT_TRUE(made.errors.empty());
    EXPECT_EQ(made.models.names(), (std::vector<std::string>{"a", "b\"c", "7"}));
    EXPECT_EQ(made.models.name_of(2), "a");
    EXPECT_EQ(made.models.opening_of(1), R"({"model":"b\"c")");
    EXPECT_EQ(made.models.opening_bytes_max(), std::string(R"({"model":"b\"c")").size());
    EXPECT_EQ(make({R"({"lora":"x"})"}, "base-{kept.lora}").models.name_of(0), "base-x");
    EXPECT_TRUE(RowModels().empty());
}

TEST(RowModels, RefuseRowsWithoutOne) {
    const Made made = make({R"({"model":"a"})", R"({"model":null})", "{}", R"({"model":""})"});
    ASSERT_EQ(made.errors.count, 3u);
    EXPECT_EQ(made.errors.list.front().file, "b.jsonl");
    EXPECT_EQ(made.errors.list.front().line, 2u);
    EXPECT_EQ(made.errors.list.front().problem, "has no value for --model");
}

TEST(RowModels, AreBounded) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < RowModels::names_max; ++i) {
        kept.push_back("{\"model\":" + std::to_string(i) + "}");
    }
    EXPECT_TRUE(make(kept).errors.empty());
    kept.push_back(R"({"model":"one more"})");
    kept.push_back(R"({"model":"0"})");
    const Made made = make(kept);
    ASSERT_EQ(made.errors.count, 1u);
    EXPECT_EQ(made.errors.list.front().problem, "is a model name longer than 4096");
}

}  // namespace
}  // namespace driftless
