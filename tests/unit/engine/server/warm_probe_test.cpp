// The prompt by which runs are recognised in a cache: the same for runs of one seed, salt and
// trace, and no prompt of a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/prompt/builder.hpp"
#include "engine/server/checks.hpp"

namespace driftless {
namespace {

Trace trace_of(std::uint64_t digest) {
    Trace trace;
    trace.digest = digest;
    return trace;
}

TellTale make(std::uint64_t digest, std::uint64_t seed, const std::string& salt,
              std::size_t server = 0, std::uint32_t tokens = 1024) {
    PromptOptions options{.seed = seed, .cache_salt = salt};
    return make_tell_tale(trace_of(digest), WordTable::built_in(), options, server, tokens);
}

TEST(TellTale, FollowsFromTraceSeedSaltAndServer) {
    EXPECT_EQ(make(1, 2, "a").prompt, make(1, 2, "a").prompt);
    const std::set<std::string> all{make(1, 2, "").prompt,     make(2, 2, "").prompt,
                                    make(1, 3, "").prompt,     make(1, 2, "a").prompt,
                                    make(1, 2, "", 1).prompt,  make(1, 2, "1 ").prompt,
                                    make(11, 2, "", 0).prompt, make(1, 2, "0 ").prompt};
    EXPECT_EQ(all.size(), 8u);
}

// The server's own tokens are among those that are asked for.
TEST(TellTale, HasTheLengthThatIsAsked) {
    PromptOptions options;
    options.overhead = {5, 3};
    const TellTale made = make_tell_tale(trace_of(1), WordTable::built_in(), options, 0, 1024);
    EXPECT_EQ(made.words, 1016u);
    const auto blanks = std::count(made.prompt.begin(), made.prompt.end(), ' ');
    EXPECT_EQ(static_cast<std::uint64_t>(blanks) + 1, made.words);
}

// A recorded body is the same under any seed and salt, and warms the cache for all of them.
TEST(TellTale, OfRecordedBodiesIsTheSameUnderAnySalt) {
    Trace trace = trace_of(1);
    trace.body_bytes = "{}";
    trace.body_ends = {2};
    PromptOptions salted{.seed = 7, .cache_salt = "monday"};
    const WordTable& words = WordTable::built_in();
    EXPECT_EQ(make_tell_tale(trace, words, salted, 0, 512).prompt,
              make_tell_tale(trace, words, {}, 0, 512).prompt);
}

// No row's prompt begins as it does, but for a few words by accident: far below a cache block.
TEST(TellTale, SharesNothingWithRows) {
    Trace trace = trace_of(42);
    trace.block_size = 16;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        TraceRow row;
        row.index = i;
        row.input_length = 64;
        row.ids_begin = trace.ids.size();
        row.ids_count = i % 2 == 0 ? 4 : 0;
        for (std::uint32_t k = 0; k < row.ids_count; ++k) {
            trace.ids.append(std::vector<std::uint64_t>{i * 4 + k});
        }
        trace.rows.push_back(row);
    }
    const WordTable& words = WordTable::built_in();
    PromptBuilder builder(trace, words, {});
    const std::string told = make_tell_tale(trace, words, {}, 0, 1024).prompt;
    for (const TraceRow& row : trace.rows) {
        std::string prompt(builder.room_of(row), '\0');
        PromptCursor cursor = builder.begin(row);
        while (!builder.fill(cursor, prompt.data(), 1 << 20)) {
        }
        const auto [end, unused] = std::mismatch(prompt.begin(), prompt.begin() + 64, told.begin());
        EXPECT_LT(std::count(prompt.begin(), end, ' '), head_words(words)) << row.index;
    }
}

}  // namespace
}  // namespace driftless
