// Which URL's prompts are off, where a run has several.
#include "engine/stats/by_url.hpp"

#include <gtest/gtest.h>

#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {
namespace {

/// Six rows over two servers that count so many tokens more than the trace does.
std::string explanation(std::int64_t first_off, std::int64_t second_off) {
    Summary summary;
    for (std::uint32_t row = 0; row < 6; ++row) {
        Record record;
        record.row = row;
        record.outcome = Outcome::ok;
        record.fired_ns = 1000;
        record.input_length = 100;
        record.expected_cached_tokens = 0;  // it is not recorded text
        record.url = row % 2 == 0 ? "http://a" : "http://b";
        record.prompt_tokens = 100 + (row % 2 == 0 ? first_off : second_off);
        record.prompt_tokens_off = row % 2 == 0 ? first_off : second_off;
        summary.add(record);
    }
    return summary.figures().prompts.explanation;
}

// One of two servers adds 8 tokens to each prompt.
TEST(ByUrl, NamesTheUrlWhosePromptsAreOff) {
    const std::string text = explanation(0, 8);
    EXPECT_EQ(text.find("at http://b 3 of 3 prompts are off by up to +8 tokens, elsewhere none: "
                        "serve"),
              0u)
        << text;
}

// All servers alike: the cause is that of all of them, and --overhead is its remedy.
TEST(ByUrl, NamesNoUrlWhereAllAreOffAlike) {
    const std::string text = explanation(8, 8);
    EXPECT_NE(text.find("--overhead"), std::string::npos) << text;
}

}  // namespace
}  // namespace driftless
