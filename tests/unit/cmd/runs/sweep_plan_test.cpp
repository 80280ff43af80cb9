// A plan: the product of its lists, in interleaved order; what cannot be a cell is refused.
#include <gtest/gtest.h>

#include "cmd/runs/sweep.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

SweepPlan made_plan() {
    SweepPlan plan;
    plan.arguments = {"trace.jsonl", "--url=http://a:1"};
    plan.axes = {{"speed", {"1", "2"}, false}, {"users", {"8", "16", "32"}, false}};
    return plan;
}

std::vector<std::string> names_of(const std::vector<PlannedCell>& cells) {
    return members_of(cells, &PlannedCell::name);
}

TEST(SweepPlan, HasTheProductOfItsLists) {
    const std::vector<PlannedCell> cells = plan_cells(made_plan());
    EXPECT_EQ(names_of(cells), (std::vector<std::string>{"speed=1 users=8", "speed=1 users=16",
                                                         "speed=1 users=32", "speed=2 users=8",
                                                         "speed=2 users=16", "speed=2 users=32"}));
    EXPECT_EQ(cells[3].folder, "04-speed=2-users=8");
}

TEST(SweepPlan, EverySecondRepeatGoesBackwards) {
    SweepPlan plan = made_plan();
    plan.axes.pop_back();
    plan.repeat = 3;
    const std::vector<PlannedCell> cells = plan_cells(plan);
    EXPECT_EQ(names_of(cells), words_of("speed=1 speed=2 speed=2 speed=1 speed=1 speed=2"));
    EXPECT_EQ(cells[2].repeat, 2U);
    EXPECT_EQ(cells[2].folder, "03-speed=2");
}

TEST(SweepPlan, GivesReplayItsArguments) {
    SweepPlan plan = made_plan();
    plan.axes = {{"spread", {"true", "false"}, false}, {"tp", {"4"}, true}};
    plan.labels = {{"gpu", "h100"}};
    plan.salted = true;
    const std::vector<PlannedCell> cells = plan_cells(plan);
    EXPECT_EQ(arguments_of(plan, cells[0]),
              words_of("trace.jsonl --url=http://a:1 --spread --label=spread=true --label=tp=4 "
                       "--label=gpu=h100 --cache-salt=random"));
    EXPECT_EQ(arguments_of(plan, cells[1])[2], "--label=spread=false");
}

TEST(SweepPlan, SaltsWhereNothingElseEmptiesTheCache) {
    SweepPlan plan = made_plan();
    EXPECT_TRUE(needs_salt(plan));
    plan.before.command = "restart";
    EXPECT_FALSE(needs_salt(plan));
    plan = made_plan();
    plan.arguments.push_back("--reset-cache");
    EXPECT_FALSE(needs_salt(plan));
    plan = made_plan();
    plan.arguments.insert(plan.arguments.end(), {"--cache-salt", "mine"});
    EXPECT_FALSE(needs_salt(plan));
    plan = made_plan();
    plan.axes.push_back({"cache-salt", {"a", "b"}, false});
    EXPECT_FALSE(needs_salt(plan));
}

TEST(SweepPlan, CellsAreBounded) {
    SweepPlan plan = made_plan();
    plan.axes = {{"speed", {}, false}};
    for (std::size_t i = 1; i <= cells_max; ++i) {
        plan.axes[0].values.push_back(std::to_string(i));
    }
    EXPECT_EQ(check_plan(plan), "");
    EXPECT_EQ(plan_cells(plan).size(), cells_max);
    EXPECT_EQ(plan_cells(plan)[8].folder, "0009-speed=9");
    plan.repeat = 2;
    EXPECT_TRUE(says(check_plan(plan), "more than 1000 cells"));
    plan.repeat = UINT64_MAX;
    EXPECT_NE(check_plan(plan), "");
    plan = made_plan();
    plan.repeat = cells_max / 6;
    EXPECT_EQ(check_plan(plan), "");
    plan.repeat += 1;
    EXPECT_NE(check_plan(plan), "");
}

TEST(SweepPlan, RefusesWhatCellsMayNotHave) {
    const auto why = [](auto change) {
        SweepPlan plan = made_plan();
        change(plan);
        return check_plan(plan);
    };
    EXPECT_EQ(check_plan(made_plan()), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.arguments.push_back("--out=x"); }), "--out"));
    EXPECT_NE(why([](SweepPlan& p) { p.arguments.push_back("--resume"); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.arguments[0] = "-"; }), "standard input"));
    EXPECT_TRUE(
        says(why([](SweepPlan& p) { p.arguments.push_back("--api-key=sk-1234567"); }), "env:NAME"));
    EXPECT_EQ(why([](SweepPlan& p) { p.arguments.push_back("--api-key=env:KEY"); }), "");
    EXPECT_NE(why([](SweepPlan& p) { p.axes.push_back({"api-key", {"sk-1234567"}, false}); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[1].name = "speed"; }), "given twice"));
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.labels = {{"speed", "x"}}; }), "--label speed"));
    EXPECT_NE(why([](SweepPlan& p) { p.axes[0].values.clear(); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[0] = {"url", {"x"}, true}; }), "another value"));
    const auto over_url = [](SweepPlan& p) {
        p.arguments = {"t.jsonl"};
        p.axes[0] = {"url", {"http://a:1"}, false};
    };
    EXPECT_EQ(why(over_url), "");
    EXPECT_TRUE(says(why([&](SweepPlan& p) {
                         over_url(p);
                         p.arguments.push_back("--url=http://b:1");
                     }),
                     "--url is also given"));
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[0].of_server = true; }), "--before"));
}

TEST(SweepAxis, IsANameAndAList) {
    const Result<SweepAxis> axis = parse_axis("--max-inflight=4, 8");
    ASSERT_TRUE(axis);
    EXPECT_EQ(axis.value().name, "max-inflight");
    EXPECT_EQ(axis.value().values, (std::vector<std::string>{"4", "8"}));
    for (const char* wrong : {"", "speed", "=1", "--=1", "a b=1", "speed=", "speed=1,,2"}) {
        EXPECT_FALSE(parse_axis(wrong)) << wrong;
    }
}

TEST(SweepPlanFile, IsReadInItsOwnOrder) {
    SweepPlan plan;
    EXPECT_EQ(read_plan_file(R"(trace = ["a.jsonl", "b.jsonl"]
url = "http://a:1"
repeat = 3
idle_limit = "5m"
[over]
speed = [1, 2.5]
api = "sglang"
[server]
tp = [1, 2]
[replay]
no-progress = true
spread = false
limit = 7
header = ["A: 1", "B: 2"]
[labels]
gpu = "h100"
[hooks]
before = "start"
before_limit = 90
)",
                             plan),
              "");
    EXPECT_EQ(plan.arguments,
              (std::vector<std::string>{"a.jsonl", "b.jsonl", "--url=http://a:1", "--header=A: 1",
                                        "--header=B: 2", "--limit=7", "--no-progress"}));
    EXPECT_EQ(plan.repeat, 3U);
    EXPECT_EQ(plan.idle_limit_ns, 300'000'000'000);
    ASSERT_EQ(plan.axes.size(), 3U);
    EXPECT_EQ(plan.axes[0].name, "speed");
    EXPECT_EQ(plan.axes[0].values, (std::vector<std::string>{"1", "2.5"}));
    EXPECT_EQ(plan.axes[1].values, (std::vector<std::string>{"sglang"}));
    EXPECT_TRUE(plan.axes[2].of_server);
    EXPECT_EQ(plan.before.command, "start");
    EXPECT_EQ(plan.before.limit_ns, 90'000'000'000);
    EXPECT_EQ(plan.labels[0].second, "h100");
}

TEST(SweepPlanFile, IsRefusedByLineAndKey) {
    const auto why = [](const std::string& text) {
        SweepPlan plan;
        return read_plan_file(text, plan);
    };
    EXPECT_EQ(why("\nreapeat = 2\n"), "line 2: reapeat is not known; remove or correct it");
    EXPECT_EQ(why("repeat = 0\n"), "line 1: repeat is not a whole number of 1 or more");
    EXPECT_EQ(why("over = 3\n"), "line 1: over is not written as [over]");
    EXPECT_EQ(why("[hooks]\nbefore = 3\n"), "line 2: before is not a text; put it in quotes");
    EXPECT_EQ(why("[hooks]\nbefore_limit = 0\n"),
              "line 2: before_limit is not a time above 0; use 90, \"10m\" or \"30s\"");
    EXPECT_EQ(why("[over]\nspeed = [[1]]\n"),
              "line 2: speed is not a text, a number, or a list of them");
    EXPECT_TRUE(says(why("repeat = \n"), "line 1: "));
}

// What stands in the file is what replay is given, to the last digit.
TEST(SweepPlanFile, KeepsNumbersAsTheyAre) {
    SweepPlan plan;
    EXPECT_EQ(read_plan_file("[over]\nrate = [1.23456789, 0.000001, 1e7, 2.0, inf, -1.5]\n", plan),
              "");
    EXPECT_EQ(plan.axes[0].values,
              (std::vector<std::string>{"1.23456789", "0.000001", "10000000", "2", "inf", "-1.5"}));
}

TEST(SweepPlan, RefusesWhatNoCommandLineHolds) {
    SweepPlan plan = made_plan();
    plan.repeat = 0;
    EXPECT_EQ(check_plan(plan), "the plan repeats each cell 0 times; use 1 or more");
    plan = made_plan();
    plan.axes[0].name = "a b";
    EXPECT_EQ(check_plan(plan), "--over \"a b\" is not a name; use letters, digits, - and _");
    const auto refused = [](SweepPlan one) {
        return check_plan(one).find("U+0000") != std::string::npos;
    };
    const std::string nul("a\0b", 3);
    plan = made_plan();
    plan.axes[0].values.push_back(nul);
    EXPECT_TRUE(refused(plan));
    plan = made_plan();
    plan.arguments.push_back(nul);
    EXPECT_TRUE(refused(plan));
    plan = made_plan();
    plan.labels.emplace_back("gpu", nul);
    EXPECT_TRUE(refused(plan));
    plan = made_plan();
    plan.after.command = nul;
    EXPECT_TRUE(refused(plan));
    EXPECT_FALSE(refused(made_plan()));
}

}  // namespace
}  // namespace driftless
