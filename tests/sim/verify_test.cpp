// Verification against a simulated server: what it accepts is right by the server's own tokens, and
// what is wrong (a count, a shared prefix) is found and named.
#include <gtest/gtest.h>

#include "engine/server/checks.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

/// A trace with its prompts, verified against a server in fair weather.
struct Bench {
    explicit Bench(Overhead around = {5, 3}, std::uint64_t seed = 7)
        : trace(make_trace(seed, 200)), plan(make_plan(trace, {}).value()), overhead(around) {}

    VerifyFindings verify(mock::CoreOptions server, TokenizeForm form, Overhead own,
                          std::uint32_t rows_max = 40) {
        server.overhead = {overhead.pre, overhead.post};
        SimDriver driver(11, Weather{}, server);
        Loop loop(driver, 8);
        PromptOptions options;
        options.overhead = overhead;
        PromptBuilder prompts(trace, WordTable::built_in(), options);
        VerifyPlan verify;
        verify.server.host = "simulated";
        verify.server.run_id = "sim";
        verify.model = server.model.name;
        verify.form = form;
        verify.own = own;
        verify.overhead = overhead;
        verify.trace = &trace;
        verify.plan = &plan;
        verify.words = &WordTable::built_in();
        verify.prompts = &prompts;
        verify.rows_max = rows_max;
        verify.server.stop_requests = stop;
        Verification verification(loop, verify);
        const bool good = verification.run();
        EXPECT_EQ(good, verification.findings().wrong.empty());
        return verification.findings();
    }

    /// The words of a row's prompt.
    std::vector<std::string> words_of(const TraceRow& row) {
        PromptOptions options;
        options.overhead = overhead;
        PromptBuilder prompts(trace, WordTable::built_in(), options);
        std::string text(prompts.room_of(row), '\0');
        PromptCursor cursor = prompts.begin(row);
        while (!prompts.fill(cursor, text.data(), 1 << 20)) {
        }
        std::vector<std::string> words;
        for (std::size_t at = 0; at < cursor.bytes; at += 4) {
            words.push_back(text.substr(at, 3));
        }
        return words;
    }

    Trace trace;
    Plan plan;
    Overhead overhead;
    const std::atomic<int>* stop = nullptr;
};

mock::CoreOptions server_with(mock::TokenizeForm form) {
    mock::CoreOptions server;
    server.tokenize = form;
    return server;
}

// Counts and shared prefixes are right, whether the endpoint sees the template or not, and for
// templates longer than a block.
TEST(Verification, AcceptsWhatIsRight) {
    for (const Overhead around :
         {Overhead{0, 0}, Overhead{5, 3}, Overhead{0, 9}, Overhead{600, 40}}) {
        Bench bench(around);
        for (const bool sees : {true, false}) {
            const VerifyFindings found = sees
                                             ? bench.verify(server_with(mock::TokenizeForm::vllm),
                                                            TokenizeForm::messages, around)
                                             : bench.verify(server_with(mock::TokenizeForm::sglang),
                                                            TokenizeForm::prompt, {0, 0});
            EXPECT_EQ(found.wrong, "") << around.pre << '+' << around.post;
            EXPECT_GT(found.pairs, 10u);
            EXPECT_EQ(found.rows, 40 + found.pairs);
            EXPECT_GT(found.shared_tokens, 0u);
        }
    }
}

// The same seed draws the same rows; each has a partner that shares a block wherever the trace has
// one.
TEST(Verification, DrawsRowsAndPartners) {
    const Bench bench;
    const auto pairs = draw_pairs(bench.trace, bench.plan, 50, 3);
    const auto again = draw_pairs(bench.trace, bench.plan, 50, 3);
    ASSERT_EQ(pairs.size(), 50u);
    std::uint32_t with_partner = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        EXPECT_EQ(pairs[i].first, again[i].first);
        EXPECT_EQ(pairs[i].second, again[i].second);
        EXPECT_TRUE(i == 0 || pairs[i].first > pairs[i - 1].first);
        if (pairs[i].second) {
            ++with_partner;
            EXPECT_NE(*pairs[i].second, pairs[i].first);
            EXPECT_GT(pairs[i].blocks, 0u);
        }
    }
    EXPECT_GT(with_partner, 25u);
    EXPECT_EQ(draw_pairs(bench.trace, bench.plan, 10'000, 3).size(), bench.plan.rows.size());
}

// What two rows share, by hand: whole blocks, the end of a text inside a block, the template's head
// where no block is visible, and all of two equal prompts.
TEST(Verification, SharedTokensByHand) {
    Trace trace;
    trace.block_size = 100;
    trace.ids.append(std::vector<std::uint64_t>{1, 2, 3, 1, 2, 4, 1, 2, 1, 2});
    const auto row = [](std::uint64_t begin, std::uint32_t count, std::uint32_t length) {
        TraceRow made{.ids_begin = begin, .ids_count = count, .input_length = length};
        return made;
    };
    const TraceRow a = row(0, 3, 280);
    const TraceRow b = row(3, 3, 250);
    const TraceRow ends_inside = row(6, 2, 150);
    const TraceRow equal = row(8, 2, 150);
    const Overhead around{5, 3};
    EXPECT_EQ(shared_tokens(trace, a, b, 2, around), 200u);
    EXPECT_EQ(shared_tokens(trace, a, ends_inside, 2, around), 147u);
    EXPECT_EQ(shared_tokens(trace, ends_inside, equal, 2, around), 150u);
    EXPECT_EQ(shared_tokens(trace, a, b, 2, {240, 3}), 240u) << "the template hides both blocks";
    EXPECT_EQ(shared_tokens(trace, a, b, 1, {0, 0}), 100u);
}

// A word that costs two tokens, and a pair across the border of two blocks that joins: the row and
// both counts are named.
TEST(Verification, NamesAWrongCount) {
    Bench bench;
    const std::uint32_t block = bench.trace.block_size;
    const TraceRow* longest = &bench.trace.rows.front();
    for (const TraceRow& row : bench.trace.rows) {
        longest = row.input_length > longest->input_length ? &row : longest;
    }
    const std::vector<std::string> words = bench.words_of(*longest);
    ASSERT_GT(words.size(), block);
    mock::CoreOptions joins = server_with(mock::TokenizeForm::vllm);
    joins.words.join(words[block - 6], words[block - 5]);  // five tokens stand before the text
    const auto all = static_cast<std::uint32_t>(bench.plan.rows.size());
    const std::string said = bench.verify(joins, TokenizeForm::messages, {5, 3}, all).wrong;
    EXPECT_TRUE(says(said, "row "));
    EXPECT_TRUE(says(said, "tokens for its prompt, the trace says "));
    mock::CoreOptions splits = server_with(mock::TokenizeForm::vllm);
    splits.words.split(words[17]);
    EXPECT_NE(bench.verify(splits, TokenizeForm::messages, {5, 3}, all).wrong, "");
}

// The user stops it: nothing more is asked.
TEST(Verification, EndsWhenTheUserStops) {
    Bench bench;
    const std::atomic<int> stop{1};
    bench.stop = &stop;
    const VerifyFindings found =
        bench.verify(server_with(mock::TokenizeForm::vllm), TokenizeForm::messages, {5, 3});
    EXPECT_EQ(found.wrong, "interrupted");
    EXPECT_EQ(found.requests, 0U);
}

// Prompts of the right lengths that share nothing, since each block was built from an id of its
// own: the rows and both counts are named. So is an endpoint that answers nothing.
TEST(Verification, NamesAWrongPrefix) {
    Bench bench;
    Trace apart = bench.trace;
    apart.ids.truncate(0);
    while (apart.ids.size() < bench.trace.ids.size()) {
        apart.ids.push_back(1'000'000 + apart.ids.size());
    }
    SimDriver driver(11, Weather{}, server_with(mock::TokenizeForm::vllm));
    Loop loop(driver, 8);
    PromptBuilder prompts(apart, WordTable::built_in(), {});
    VerifyPlan plan;
    plan.server.host = "simulated";
    plan.server.run_id = "sim";
    plan.model = "mock-model";
    plan.trace = &bench.trace;
    plan.plan = &bench.plan;
    plan.words = &WordTable::built_in();
    plan.prompts = &prompts;
    plan.rows_max = 40;
    Verification wrong(loop, plan);
    EXPECT_FALSE(wrong.run());
    EXPECT_TRUE(says(wrong.findings().wrong, " tokens at the server, the trace says "));
    plan.form = TokenizeForm::content;  // which this server does not have
    Verification silent(loop, plan);
    EXPECT_FALSE(silent.run());
    EXPECT_TRUE(says(silent.findings().wrong, "gave no tokens (status 400)"));
}

}  // namespace
}  // namespace driftless::sim
