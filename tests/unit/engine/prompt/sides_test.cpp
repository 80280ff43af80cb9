// Requests of dual fire, as they are built: two for one row.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/arm.hpp"
#include "tests/unit/engine/prompt/rows_to_arm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

// Dual fire: each request goes to its side's server, in its words, with its model, under a name of
// its own; with one overhead the prompts are the same bytes.
TEST(Sides, HaveRequestsOfTheirOwn) {
    const Trace trace = RowsToArm::trace_of({SmallRow{}}, {});
    const BodyFrame frame{R"({"model":"m","prompt":")", R"(","max_tokens":)", "}", true};
    const BodyFrame against_frame{R"({"model":"longer","prompt":")", R"(","max_tokens":)", "}",
                                  true};
    PromptBuilder prompts(trace, WordTable::built_in(), {});
    PromptOptions with_overhead;
    with_overhead.overhead = {2, 1};
    PromptBuilder shorter(trace, WordTable::built_in(), with_overhead);
    for (PromptBuilder* const against : {&prompts, &shorter}) {
        Plan plan{.rows = {{0, 0, 0, Side::b}, {0, 0, 0, Side::a}}, .dual = true};
        Schedule schedule(plan);
        BodyPool bodies;
        ASSERT_TRUE(bodies.open(1 << 20, 0));
        const std::vector<RequestHead> heads(2, RowsToArm::head());
        ArmerOptions options;
        options.run_id = "0badcafe";
        options.targets = 2;
        options.against = {against, &against_frame};
        Armer armer(trace, schedule, prompts, bodies, heads, frame, options);
        while (armer.step(Instant{1}, INT64_MAX, 4096)) {
        }
        RowUnderway& b = armer.take(schedule.take());
        RowUnderway& a = armer.take(schedule.take());
        EXPECT_EQ(armer.target_of(a.due), 0u);
        EXPECT_EQ(armer.target_of(b.due), 1u);
        EXPECT_TRUE(says(a.bytes, "-0000-8000-8000-000000000000\r\n"));
        EXPECT_TRUE(says(b.bytes, "-0000-8000-9000-000000000000\r\n"));
        const auto prompt_of = [](std::string_view bytes) {
            const std::string_view key = R"("prompt":")";
            const std::size_t begin = bytes.find(key) + key.size();
            return std::string(bytes.substr(begin, bytes.find('"', begin) - begin));
        };
        EXPECT_TRUE(says(a.bytes, R"({"model":"m",)"));
        EXPECT_TRUE(says(b.bytes, R"({"model":"longer",)"));
        const auto words = [](const std::string& text) {
            return 1 + std::count(text.begin(), text.end(), ' ');
        };
        EXPECT_EQ(words(prompt_of(a.bytes)), 5);
        EXPECT_EQ(words(prompt_of(b.bytes)), against == &prompts ? 5 : 2);
        const bool same = 2 * armer.against_digest() == armer.prompts_digest();
        EXPECT_EQ(same, against == &prompts);
        EXPECT_EQ(same, prompt_of(a.bytes) == prompt_of(b.bytes));
        armer.give_back(a);
        armer.give_back(b);
    }
}

}  // namespace
}  // namespace driftless
