// The preflight finds out which words may open a prompt, where the table does not prove it.
#include <gtest/gtest.h>

#include "engine/server/preflight.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

/// Asks one server of chats in fair weather.
struct Asked {
    explicit Asked(const mock::CoreOptions& server,
                   const WordTable& words = WordTable::built_in()) {
        SimDriver driver(5, Weather{}, server);
        Loop loop(driver, 8);
        PreflightPlan plan;
        plan.server.host = "simulated";
        plan.server.run_id = "sim";
        plan.dialect = &dialect_of(Api::openai_chat);
        plan.api_path = plan.dialect->default_path;
        plan.body.prompt = PromptKind::text;
        plan.words = &words;
        Preflight preflight(loop, plan);
        ok = preflight.run();
        found = preflight.findings();
        failure = preflight.failure();
    }
    bool ok = false;
    PreflightFindings found;
    PreflightFailure failure;
};

mock::CoreOptions server_with(mock::TokenizeForm form) {
    mock::CoreOptions server;
    server.tokenize = form;
    server.overhead = {5, 3};
    return server;
}

// Words that are one token behind another word and two as the first of a prompt: where the table is
// not known to hold there (words were dropped, or they come from some tokenizer), the first place
// is asked, too, with and without /tokenize. A row's first word is never one of them.
TEST(PreflightFirstWords, FindsWordsThatMayOpenAPrompt) {
    std::vector<std::string_view> names;
    for (std::uint32_t i = 0; i < 256; ++i) {
        names.push_back(WordTable::built_in().word(i));
    }
    const WordTable foreign(names, 256, ' ');
    const WordTable* const tables[] = {&WordTable::built_in(), &foreign};
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const WordTable* const table : tables) {
            mock::CoreOptions server = server_with(form);
            if (table == &WordTable::built_in()) {
                server.words.split("yet");
            }
            for (std::uint32_t i = 2; i < 200; i += 3) {
                server.words.split_first(table->word(i));
            }
            const Asked asked(server, *table);
            ASSERT_TRUE(asked.ok) << asked.failure.text;
            EXPECT_EQ(asked.found.overhead.pre + asked.found.overhead.post, 8u);
            ASSERT_EQ(asked.found.first_words.size(), 64u);
            for (const std::uint32_t word : asked.found.first_words) {
                EXPECT_FALSE(word < 200 && word % 3 == 2) << word;
            }
            const auto kept = table->without(asked.found.dropped, asked.found.first_words);
            ASSERT_TRUE(kept);
            EXPECT_EQ(kept->first_bits(), 6u);
            EXPECT_EQ(kept->word(0), table->word(asked.found.first_words[0]));
        }
    }
}

// Without /tokenize, most words of the table being two tokens at the beginning: the overhead is
// still that of the template, and not one token longer.
TEST(PreflightFirstWords, MistakesNoSplitWordForALongerTemplate) {
    std::vector<std::string_view> names;
    mock::CoreOptions server = server_with(mock::TokenizeForm::none);
    for (std::uint32_t i = 0; i < 256; ++i) {
        names.push_back(WordTable::built_in().word(i));
        if (i % 3 != 2) {
            server.words.split_first(names.back());
        }
    }
    const Asked asked(server, WordTable(names, 256, ' '));
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.overhead.pre + asked.found.overhead.post, 8u);
    ASSERT_EQ(asked.found.first_words.size(), 64u);
    for (const std::uint32_t word : asked.found.first_words) {
        EXPECT_EQ(word % 3, 2u);
    }
}

// A built-in list that holds behind every word is known to hold in front, too: nothing is asked.
TEST(PreflightFirstWords, AsksNoFirstWordsOfAProvenTable) {
    const Asked asked(server_with(mock::TokenizeForm::vllm));
    EXPECT_EQ(asked.found.words, WordVerdict::exact);
    EXPECT_EQ(asked.found.first_words_asked, 0u);
    EXPECT_TRUE(asked.found.first_words.empty());
}

// Two such words are enough, and they are found wherever they stand.
TEST(PreflightFirstWords, FindsTheOnlyTwo) {
    std::vector<std::string_view> names;
    mock::CoreOptions server = server_with(mock::TokenizeForm::none);
    for (std::uint32_t i = 0; i < 256; ++i) {
        names.push_back(WordTable::built_in().word(i));
        if (i != 1 && i != 6) {
            server.words.split_first(names.back());
        }
    }
    const Asked asked(server, WordTable(names, 256, ' '));
    EXPECT_EQ(asked.found.words, WordVerdict::exact);
    EXPECT_EQ(asked.found.overhead.pre + asked.found.overhead.post, 8u);
    EXPECT_EQ(asked.found.first_words, (std::vector<std::uint32_t>{1, 6}));
    EXPECT_EQ(asked.found.first_words_asked, 256u);
}

}  // namespace
}  // namespace driftless::sim
