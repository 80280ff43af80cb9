// Words that a server takes as one token each.

#include "engine/server/word_search.hpp"

#include "engine/server/tokenize.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// The search finds the words that a server does not count as one token, whatever else the server
// does, and says so where no answer can be trusted. Servers are a function of the words asked.

namespace {

using Words = std::vector<std::uint32_t>;
using Verdict = WordVerdict;

/// A tokenizer: what single words cost more than one, and pairs that are one token.
struct Tokens {
    std::map<std::uint32_t, std::int64_t> extra;
    std::set<std::pair<std::uint32_t, std::uint32_t>> joined;

    std::int64_t operator()(std::span<const std::uint32_t> words) const {
        auto count = static_cast<std::int64_t>(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto more = extra.find(words[i]);
            count += more == extra.end() ? 0 : more->second;
            if (i > 0 && joined.contains({words[i - 1], words[i]})) {
                --count;
            }
        }
        return count;
    }
};

/// Asks until the search is over. Every question stays within the limit.
template <typename Count>
WordSearch search(std::uint32_t words, Count count, WordSearchLimits limits = {}) {
    WordSearch search(words, limits);
    for (int i = 0; i < 20'000 && !search.question().empty(); ++i) {
        EXPECT_LE(search.question().size(), limits.group_words_max);
        search.take(count(search.question()));
    }
    EXPECT_NE(search.verdict(), Verdict::not_asked);
    return search;
}

// All words are good: two questions, in two orders.
TEST(WordSearch, FindsOneBadWordOrAHundred) {
    std::vector<Words> asked;
    const WordSearch over = search(512, [&](std::span<const std::uint32_t> words) {
        asked.emplace_back(words.begin(), words.end());
        return static_cast<std::int64_t>(words.size());
    });
    EXPECT_EQ(over.verdict(), Verdict::exact);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_NE(asked[0], asked[1]);
    for (Words& words : asked) {
        EXPECT_EQ(std::set(words.begin(), words.end()).size(), 512u);
    }
    EXPECT_EQ(std::tuple(over.first_words(), over.first_tokens()), std::tuple(512, 512));
    // One bad word, wherever it is, costs some twenty questions; nothing else is dropped.
    for (const std::uint32_t bad : {0u, 1u, 255u, 256u, 511u}) {
        const WordSearch found = search(512, Tokens{{{bad, 1}}, {}});
        EXPECT_EQ(found.verdict(), Verdict::reduced);
        EXPECT_EQ(found.dropped(), Words{bad});
        EXPECT_LE(found.questions(), 2u + 2 * 9 + 2);
        EXPECT_EQ(found.first_tokens(), 513);
    }
    // A hundred bad words, of one to three tokens more: those and no others, in bounded time, and
    // the same ones each time.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        Tokens tokens;
        while (tokens.extra.size() < 100) {
            tokens.extra[static_cast<std::uint32_t>(random.below(512))] =
                1 + static_cast<std::int64_t>(random.below(3));
        }
        Words expected;
        for (const auto& [word, more] : tokens.extra) {
            expected.push_back(word);
        }
        const WordSearch other_over = search(512, tokens);
        EXPECT_EQ(other_over.verdict(), Verdict::reduced);
        EXPECT_EQ(other_over.dropped(), expected);
        EXPECT_LT(other_over.questions(), 650u);
        EXPECT_EQ(search(512, tokens).questions(), other_over.questions());
    }
}

// 256 good words are enough, 255 are too few, and a server that knows none of them is left soon.
TEST(WordSearch, TooFewOrJoinedWordsAreNoTable) {
    for (const std::uint32_t bad : {256u, 257u, 512u}) {
        Tokens tokens;
        for (std::uint32_t i = 0; i < bad; ++i) {
            tokens.extra[511 - i] = 1;
        }
        const WordSearch over = search(512, tokens);
        EXPECT_EQ(over.verdict(), bad == 256 ? Verdict::reduced : Verdict::too_few) << bad;
        EXPECT_LT(over.questions(), 1100u);
    }
    // A pair that joins hides a split word in one order, and not in the next.
    WordSearch probe(512, {});
    const Words order(probe.question().begin(), probe.question().end());
    Tokens tokens;
    tokens.extra[order[100]] = 1;
    tokens.joined = {{order[200], order[201]}};
    EXPECT_EQ(tokens(order), 512) << "the first order shows nothing";
    const WordSearch over = search(512, tokens);
    EXPECT_EQ(over.verdict(), Verdict::reduced);
    EXPECT_EQ(over.dropped(), Words{order[100]});
    // One pair that joins is found where it stands side by side, also across the cut of two halves,
    // and loses one word. Where every word joins many others, no order is clean.
    WordSearch other_probe(512, {});
    const Words other_order(other_probe.question().begin(), other_probe.question().end());
    for (const std::uint32_t at : {0u, 17u, 255u, 256u, 510u}) {
        Tokens other_tokens{.joined = {{other_order[at], other_order[at + 1]}}};
        const WordSearch other_over = search(512, other_tokens);
        EXPECT_EQ(other_over.verdict(), Verdict::reduced);
        EXPECT_EQ(other_over.joins(), 1u);
        EXPECT_EQ(other_over.dropped(), Words{other_order[at + 1]}) << at;
    }
    const auto superwords = [](std::span<const std::uint32_t> words) {
        auto count = static_cast<std::int64_t>(words.size());
        for (std::size_t i = 1; i < words.size(); ++i) {
            count -= (words[i - 1] ^ words[i]) % 16 == 0 ? 1 : 0;
        }
        return count;
    };
    const Verdict verdict = search(512, superwords).verdict();
    EXPECT_TRUE(verdict == Verdict::joins || verdict == Verdict::too_few);
}

// The same question, another answer: nothing is dropped, and the search ends at once.
TEST(WordSearch, EndsAtAWaveringServerOrItsLastQuestion) {
    std::int64_t asked = 0;
    const WordSearch over = search(512, [&](std::span<const std::uint32_t> words) {
        return static_cast<std::int64_t>(words.size()) + asked++ % 2;
    });
    EXPECT_EQ(over.verdict(), Verdict::varies);
    EXPECT_TRUE(over.dropped().empty());
    EXPECT_LE(over.questions(), 3u);
    // A short context: the words are asked in pieces, and found all the same.
    WordSearchLimits limits{.group_words_max = 100};
    const WordSearch in_pieces = search(512, Tokens{{{7, 1}, {400, 2}}, {}}, limits);
    EXPECT_EQ(in_pieces.verdict(), Verdict::reduced);
    EXPECT_EQ(in_pieces.dropped(), (Words{7, 400}));
    EXPECT_EQ(std::tuple(in_pieces.first_words(), in_pieces.first_tokens()), std::tuple(512, 515));
    // When the questions run out, bad groups go whole: what is left is good all the same.
    Tokens tokens{.extra = {{3, 1}, {30, 1}, {300, 1}}};
    const WordSearch other_over = search(4096, tokens, {.questions_max = 30});
    EXPECT_EQ(other_over.verdict(), Verdict::reduced);
    const Words dropped = other_over.dropped();
    EXPECT_GT(dropped.size(), 3u);
    for (const auto& [word, more] : tokens.extra) {
        EXPECT_TRUE(std::find(dropped.begin(), dropped.end(), word) != dropped.end());
    }
    EXPECT_LT(other_over.questions(), 60u);
}

/// Asks until the search is over; words below `good_from` cost two tokens.
FirstWords find_first_words(std::uint32_t words, std::uint32_t good_from,
                            const FirstWordsLimits& limits) {
    Words all(words);
    std::iota(all.begin(), all.end(), 0U);
    FirstWords first(all, limits);
    for (std::uint32_t i = 0; i < words; ++i) {
        if (const auto word = first.question()) {
            first.take(*word < good_from ? 2 : 1);
        }
    }
    EXPECT_FALSE(first.question());
    return first;
}

// One short of what is wanted, exactly that, and one more.
TEST(FirstWords, EndsWhenEnoughAreFound) {
    EXPECT_EQ(find_first_words(3, 0, {4, 100}).safe().size(), 3U);
    EXPECT_EQ(find_first_words(4, 0, {4, 100}).asked(), 4U);
    EXPECT_EQ(find_first_words(5, 0, {4, 100}).asked(), 4U);
    // Words that are two tokens are passed over, and the number of questions is bounded.
    EXPECT_EQ(find_first_words(10, 3, {4, 100}).safe(), (Words{3, 4, 5, 6}));
    EXPECT_EQ(find_first_words(10, 3, {4, 6}).safe(), (Words{3, 4, 5}));
    EXPECT_TRUE(find_first_words(10, 10, {4, 6}).safe().empty());
    EXPECT_EQ(find_first_words(10, 10, {4, 6}).asked(), 6U);
}

// The tokens in front of a prompt are found for every split and every size of cache blocks; counts
// that contradict each other are not believed.

constexpr std::uint32_t words = 1100;

struct Found {
    SplitSearch::Verdict verdict = SplitSearch::Verdict::searching;
    std::uint32_t pre = 0;
    std::uint32_t block = 0;
    std::uint32_t questions = 0;
};

/// `counts`: shared words and the number of the question to cached tokens.
Found find_splits(std::uint32_t pre_min, std::uint32_t pre_max,
                  const std::function<std::int64_t(std::uint32_t, std::uint32_t)>& counts) {
    SplitSearch search(words, pre_min, pre_max);
    Found found;
    while (const std::optional<std::uint32_t> shared = search.question()) {
        EXPECT_LE(*shared, words);
        search.take(counts(*shared, found.questions++));
        if (found.questions > 64) {
            ADD_FAILURE() << "the search does not end";
            break;
        }
    }
    found.verdict = search.verdict();
    if (found.verdict == SplitSearch::Verdict::found) {
        found.pre = search.pre();
        found.block = search.block();
    }
    return found;
}

using SplitVerdict = SplitSearch::Verdict;

// Of every split of 19 tokens; blocks of 1 token (radix caches), of 16 and more, of odd sizes.
TEST(SplitSearch, FindsEverySplitAndTheBlockOfAKnownOne) {
    for (const std::uint32_t block : {1u, 2u, 16u, 20u, 24u, 32u, 64u, 100u, 128u, 512u, 1024u}) {
        for (std::uint32_t pre = 0; pre <= 19; ++pre) {
            const Found found = find_splits(0, 19, [&](std::uint32_t shared, std::uint32_t) {
                return (pre + shared) / block * block;
            });
            ASSERT_EQ(found.verdict, SplitVerdict::found) << block << " " << pre;
            EXPECT_EQ(found.pre, pre) << block;
            EXPECT_EQ(found.block, block) << pre;
            EXPECT_LE(found.questions, 11u);
        }
    }
    // A split that is known takes five questions at most, and tells the block.
    for (const std::uint32_t block : {1u, 16u, 512u}) {
        const Found found = find_splits(14, 14, [&](std::uint32_t shared, std::uint32_t) {
            return (14 + shared) / block * block;
        });
        EXPECT_EQ(std::tuple(found.verdict, found.block), std::tuple(SplitVerdict::found, block));
        EXPECT_LE(found.questions, 5u);
    }
}

// Nothing cached, nothing reported, or blocks longer than the prompt: it says so, after three
// tries. A cache that is filled a little later is waited for.
TEST(SplitSearch, BelievesNeitherSilenceNorContradiction) {
    for (const std::int64_t reported : {-1, 0, 16}) {
        const Found found =
            find_splits(0, 19, [&](std::uint32_t, std::uint32_t) { return reported; });
        EXPECT_EQ(found.verdict, SplitVerdict::no_hits);
        EXPECT_EQ(found.questions, 3u);
    }
    const Found late = find_splits(0, 19, [](std::uint32_t shared, std::uint32_t question) {
        return question < 2 ? 0 : (5 + shared) / 16 * 16;
    });
    EXPECT_EQ(std::tuple(late.verdict, late.pre), std::tuple(SplitVerdict::found, 5u));
    // Two workers that are asked in turn, of which one has the prompt: no split is made up.
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
        for (std::uint32_t pre = 0; pre <= 19; ++pre) {
            const Found found =
                find_splits(0, 19, [&](std::uint32_t shared, std::uint32_t question) {
                    return question % 2 == turn ? 0 : (pre + shared) / 16 * 16;
                });
            EXPECT_TRUE(found.verdict != SplitVerdict::found || found.pre == pre)
                << turn << ": " << found.pre << " for " << pre;
        }
    }
    // More cached than was shared; the same whatever is shared.
    EXPECT_EQ(find_splits(0, 19, [](std::uint32_t, std::uint32_t) { return 5000; }).verdict,
              SplitVerdict::varies);
    EXPECT_EQ(find_splits(0, 19, [](std::uint32_t, std::uint32_t) { return 1104; }).verdict,
              SplitVerdict::varies);
}

// Published chat templates, cut down to what decides; the tokens that they add were measured with
// the models' own tokenizers (token-exact.md, section 5).

constexpr const char* qwen25 =
    R"({%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\n' + messages[0]['content'])"
    R"( + '<|im_end|>\n' }}{%- else %}{{- '<|im_start|>system\nYou are Qwen, created by Alibaba )"
    R"(Cloud. You are a helpful assistant.<|im_end|>\n' }}{%- endif %}{%- for message in messages )"
    R"(%}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }})"
    R"({%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %})";
constexpr const char* thinking =
    R"({%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' + content + )"
    R"('<|im_end|>' + '\n' }}{%- endfor %}{{- '<|im_start|>assistant\n' }}{%- if enable_thinking )"
    R"(is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %})";
constexpr const char* phi3 =
    R"({% for message in messages %}{% if message['role'] == 'user' %}{{'<|user|>\n' + )"
    R"(message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %})"
    R"({{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %})"
    R"({% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %})";

std::string shared_file(const char* name) {
    return std::string(SHARED_DATA) + "/tokenizers/" + name;
}

std::vector<TemplateSplit> splits_of(const std::string& file, const ChatTemplate& chat) {
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(file, why);
    EXPECT_TRUE(tokenizer) << why;
    return measure_guesses(guess_template(chat), tokenizer.value(), WordTable::built_in());
}

std::string text_of(const std::optional<TemplateSplit>& split) {
    return split ? std::string(split->family) + " " + std::to_string(split->around.pre) + "+" +
                       std::to_string(split->around.post)
                 : "none";
}

// 29 tokens, 5 of them behind, as the model's own tokenizer counts; 8 where no system text is put
// in. What is off by one is of no use.
TEST(ChatTemplate, TellsTheSplitOrGuessesByTheMarks) {
    if (!std::filesystem::exists(shared_file("qwen2.json"))) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    const std::vector<TemplateSplit> splits = splits_of(shared_file("qwen2.json"), {qwen25, ""});
    EXPECT_EQ(text_of(split_of(splits, 29)), "ChatML 24+5");
    EXPECT_EQ(text_of(split_of(splits, 8)), "ChatML 3+5");
    EXPECT_EQ(text_of(split_of(splits, 28)), "none");
    EXPECT_EQ(text_of(split_of(splits, 30)), "none");
    if (!std::filesystem::exists(shared_file("phi3.json"))) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    const std::vector<TemplateSplit> others = splits_of(shared_file("phi3.json"), {phi3, "<s>"});
    EXPECT_EQ(text_of(split_of(others, 3)), "Phi 1+2");
    EXPECT_EQ(text_of(split_of(others, 4)), "Phi 2+2") << "with the BOS that some servers add";
    // Each family by its marks; a text between two marks that depends on variables is none of them.
    const auto names = [](const char* text) {
        std::string found;
        for (const TemplateGuess& guess : guess_template({text, ""})) {
            found += std::string(guess.family) + "[" + guess.before + "|" + guess.after + "]";
        }
        return found;
    };
    EXPECT_EQ(names(thinking),
              "ChatML[<|im_start|>user\n|<|im_end|>\n<|im_start|>assistant\n]"
              "ChatML[<|im_start|>user\n|<|im_end|>\n<|im_start|>assistant\n<think>\n]"
              "ChatML[<|im_start|>user\n|<|im_end|>\n<|im_start|>assistant\n"
              "<think>\n\n</think>\n\n]");
    expect_each(
        names,
        gives("<|im_start|><|im_sep|><|im_end|>assistant",
              "Phi-4[<|im_start|>user<|im_sep|>|<|im_end|><|im_start|>assistant<|im_sep|>]"),
        gives("<|start_header_id|>..<|end_header_id|>..<|eot_id|>",
              "Llama 3[<|start_header_id|>user<|end_header_id|>\n\n|"
              "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n]"),
        gives("<start_of_turn>..<end_of_turn>..model",
              "Gemma[<start_of_turn>user\n|<end_of_turn>\n<start_of_turn>model\n]"),
        gives("'[INST] ' .. ' [/INST]'",
              "Mistral[[INST] | [/INST]]Mistral[[INST] |[/INST]]Mistral[[INST]|[/INST]]"),
        gives("{{ messages }}", ""));
    EXPECT_EQ(names("<|im_start|><|im_end|>"), "") << "and no assistant";
    EXPECT_EQ(guess_template({qwen25, ""}).size(), 2U) << "the system text of a variable is none";
    EXPECT_EQ(guess_template({qwen25, "<s>"}).size(), 4U);
}

// Two guesses of as many tokens that lay them in different places tell nothing.
TEST(ChatTemplate, IsReadOrGuessedInOneWayOnly) {
    const TemplateSplit three{"A", {3, 5}};
    const TemplateSplit same{"B", {3, 5}};
    const TemplateSplit four{"C", {4, 4}};
    EXPECT_TRUE(split_of(std::vector{three, same}, 8));
    EXPECT_FALSE(split_of(std::vector{three, same, four}, 8) || split_of({}, 8));
    // Where models keep it: in the config, in a list there, or in a file of its own.
    const ScratchFolder folder;
    const std::string file = folder / "tokenizer.json";
    EXPECT_FALSE(read_chat_template(file));
    (void)folder.write("tokenizer_config.json", "{");
    EXPECT_FALSE(read_chat_template(file));
    (void)folder.write("tokenizer_config.json", R"({"chat_template":7,"bos_token":null})");
    EXPECT_FALSE(read_chat_template(file));
    (void)folder.write("tokenizer_config.json",
                       R"({"chat_template":"a\n\\n","bos_token":{"content":"<s>"}})");
    EXPECT_EQ(read_chat_template(file)->text, "a\n\\n");
    EXPECT_EQ(read_chat_template(file)->bos, "<s>");
    (void)folder.write("tokenizer_config.json",
                       R"({"bos_token":"<b>","chat_template":[{"name":"tools","template":"t"},)"
                       R"({"name":"default","template":"d"}]})");
    EXPECT_EQ(read_chat_template(file)->text, "d");
    (void)folder.write("chat_template.jinja", "own");
    EXPECT_EQ(read_chat_template(file)->text, "own");
    EXPECT_EQ(read_chat_template(file)->bos, "<b>");
}

// A folder stands for the tokenizer in it; the name of a model is no file, and the error says so.
TEST(LoadTokenizer, TakesAFolderAndNoNameOfAModel) {
    const ScratchFolder folder;
    std::string why;
    EXPECT_FALSE(load_tokenizer(folder.path(), why));
    EXPECT_EQ(why, folder.path() +
                       " is a folder without a tokenizer.json, tekken.json or tiktoken.model; put "
                       "the model's there");
    std::filesystem::copy(TEST_DATA "/tokenizers/qwen.json", folder / "tokenizer.json");
    EXPECT_TRUE(load_tokenizer(folder.path(), why)) << why;
    EXPECT_TRUE(load_tokenizer(folder.path() + "/", why)) << why;
    EXPECT_FALSE(load_tokenizer("meta-llama/Llama-3-8B", why));
    EXPECT_EQ(why,
              "meta-llama/Llama-3-8B does not exist; if it is the name of a model, download its "
              "tokenizer with: hf download meta-llama/Llama-3-8B tokenizer.json "
              "tokenizer_config.json --local-dir "
              "Llama-3-8B, then give --tokenizer Llama-3-8B");
    for (const char* path : {"./qwen", "/a/b", "a/b/c", "models/tokenizer.json", "~/qwen"}) {
        EXPECT_FALSE(load_tokenizer(path, why));
        EXPECT_EQ(why, std::string(path) + " does not exist");
    }
}

// The bodies are those that vLLM, SGLang and llama.cpp take, the answers those that they give
// (wire-formats.md, "tokenise"); what stands around a prompt follows from two words.

using Ids = std::vector<std::int64_t>;

TEST(Tokenize, WritesAndReadsTheBodiesOfEachServer) {
    EXPECT_EQ(tokenize_body(TokenizeForm::messages, "M", R"(a \"b\")"),
              R"({"model":"M","messages":[{"role":"user","content":"a \"b\""}],)"
              R"("add_generation_prompt":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::prompt, "M", "Hi"),
              R"({"model":"M","prompt":"Hi","add_special_tokens":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::prompt_v1, "M", "Hi"),
              tokenize_body(TokenizeForm::prompt, "M", "Hi"));
    EXPECT_EQ(tokenize_body(TokenizeForm::content, "M", "Hi"),
              R"({"content":"Hi","add_special":true,"parse_special":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::inputs, "M", "Hi"),
              R"({"inputs":"Hi","add_special_tokens":true})");
    EXPECT_EQ(template_body("M", "Hi"),
              R"({"model":"M","messages":[{"role":"user","content":"Hi"}]})");
    EXPECT_STREQ(tokenize_path(TokenizeForm::messages), "/tokenize");
    EXPECT_STREQ(tokenize_path(TokenizeForm::prompt_v1), "/v1/tokenize");
    EXPECT_STREQ(name_of(TokenizeForm::prompt_v1), "prompt_v1");
    EXPECT_STREQ(name_of(TokenizeForm::inputs), "inputs");
    // Answers as each server gives them; what is no list of tokens gives none.
    JsonDocument document;
    EXPECT_EQ(read_tokens(document, R"({"count":2,"max_model_len":8192,"tokens":[1,2],)"
                                    R"("token_strs":null})"),
              (Ids{1, 2}));
    EXPECT_EQ(read_tokens(document, R"({"tokens":[1,259]})"), (Ids{1, 259}));
    EXPECT_EQ(read_tokens(document, R"([{"id":1,"text":"<s>","start":0,"stop":0},{"id":9}])"),
              (Ids{1, 9}));
    for (const char* nothing : {R"({"tokens":[]})", R"({"tokens":3})", R"({"count":3})", "[1,2]",
                                "", "{", R"({"error":{"message":"no"}})"}) {
        EXPECT_EQ(read_tokens(document, nothing), Ids{}) << nothing;
    }
    EXPECT_EQ(read_templated(document, R"({"prompt":"<s>a\n\"b\"</s>"})"), R"(<s>a\n\"b\"</s>)");
    EXPECT_EQ(read_templated(document, R"({"prompt":["a"]})"), "");
    EXPECT_EQ(read_templated(document, R"({"detail":"Not Found"})"), "");
    EXPECT_EQ(read_templated(document, "<html>"), "");
}

// The shared front and the shared back are the template; what is left of each is its word.
TEST(Tokenize, TwoWordsShowWhatIsAroundThem) {
    const auto around = [](const Ids& first, const Ids& second) {
        const AroundWords found = compare_words(first, second);
        return std::vector<std::size_t>{found.overhead.pre, found.overhead.post, found.first_cost,
                                        found.second_cost};
    };
    using Found = std::vector<std::size_t>;
    EXPECT_EQ(around({1, 2, 7, 9}, {1, 2, 8, 9}), (Found{2, 1, 1, 1}));
    EXPECT_EQ(around({7}, {8}), (Found{0, 0, 1, 1}));
    EXPECT_EQ(around({1, 7, 6, 9}, {1, 8, 9}), (Found{1, 1, 2, 1})) << "the first word is split";
    EXPECT_EQ(around({1, 9}, {1, 9}), (Found{2, 0, 0, 0})) << "the words make no difference";
    EXPECT_EQ(around({}, {1}), (Found{0, 0, 0, 1}));
    EXPECT_EQ(around({5, 5}, {5, 5, 5}), (Found{2, 0, 0, 1})) << "front before back, never both";
    // Which forms see the template decides what their counts are compared with.
    EXPECT_TRUE(sees_template(TokenizeForm::messages, dialect_of(Api::openai_chat)));
    EXPECT_TRUE(sees_template(TokenizeForm::templated, dialect_of(Api::openai_chat)));
    EXPECT_FALSE(sees_template(TokenizeForm::prompt, dialect_of(Api::openai_chat)));
    EXPECT_FALSE(sees_template(TokenizeForm::content, dialect_of(Api::openai_chat)));
    const Dialect& completions = dialect_of(Api::openai_completions);
    for (const TokenizeForm form : completions.tokenize_forms) {
        EXPECT_TRUE(sees_template(form, completions)) << name_of(form);
    }
}

// Splits of published templates (token-exact.md, section 5), by name and number of tokens.
TEST(TemplateTable, SplitsByModelAndCount) {
    const auto post = [](Api api, const char* model, std::uint32_t tokens) {
        bool known = false;
        const Overhead split = split_overhead(dialect_of(api), model, tokens, known);
        EXPECT_EQ(split.pre + split.post, tokens);
        return known ? static_cast<int>(split.post) : -1;
    };
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 8), 5);
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 12), 9);
    EXPECT_EQ(post(Api::openai_chat, "meta-llama/Llama-3.1-8B-Instruct", 35), 5);
    EXPECT_EQ(post(Api::openai_chat, "deepseek-ai/DeepSeek-R1", 5), 3);
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 9), -1);
    EXPECT_EQ(post(Api::openai_chat, "mock-model", 8), -1);
    EXPECT_EQ(post(Api::openai_chat, "mock-model", 0), 0);
    EXPECT_EQ(post(Api::openai_completions, "any", 0), 0);
    EXPECT_EQ(post(Api::openai_completions, "any", 1), -1) << "a BOS in front, if nothing tells";
}

}  // namespace
}  // namespace driftless
