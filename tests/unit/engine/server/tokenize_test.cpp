// Published chat templates, cut down to what decides; the tokens that they add were measured with
// the models' own tokenizers (token-exact.md, section 5).

#include "engine/server/tokenize.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/prompt/tokenizer.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {

namespace {

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
TEST(ChatTemplate, TellsTheSplitOfQwen) {
    if (!std::filesystem::exists(shared_file("qwen2.json"))) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    const std::vector<TemplateSplit> splits = splits_of(shared_file("qwen2.json"), {qwen25, ""});
    EXPECT_EQ(text_of(split_of(splits, 29)), "ChatML 24+5");
    EXPECT_EQ(text_of(split_of(splits, 8)), "ChatML 3+5");
    EXPECT_EQ(text_of(split_of(splits, 28)), "none");
    EXPECT_EQ(text_of(split_of(splits, 30)), "none");
}

TEST(ChatTemplate, TellsTheSplitOfPhi3) {
    if (!std::filesystem::exists(shared_file("phi3.json"))) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    const std::vector<TemplateSplit> splits = splits_of(shared_file("phi3.json"), {phi3, "<s>"});
    EXPECT_EQ(text_of(split_of(splits, 3)), "Phi 1+2");
    EXPECT_EQ(text_of(split_of(splits, 4)), "Phi 2+2") << "with the BOS that some servers add";
}

// Each family by its marks; a text between two marks that depends on variables is none of them.
TEST(ChatTemplate, GuessesByTheMarks) {
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
    EXPECT_EQ(names("<|im_start|><|im_sep|><|im_end|>assistant"),
              "Phi-4[<|im_start|>user<|im_sep|>|<|im_end|><|im_start|>assistant<|im_sep|>]");
    EXPECT_EQ(names("<|start_header_id|>..<|end_header_id|>..<|eot_id|>"),
              "Llama 3[<|start_header_id|>user<|end_header_id|>\n\n|"
              "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n]");
    EXPECT_EQ(names("<start_of_turn>..<end_of_turn>..model"),
              "Gemma[<start_of_turn>user\n|<end_of_turn>\n<start_of_turn>model\n]");
    EXPECT_EQ(names("'[INST] ' .. ' [/INST]'"),
              "Mistral[[INST] | [/INST]]Mistral[[INST] |[/INST]]Mistral[[INST]|[/INST]]");
    EXPECT_EQ(names("{{ messages }}"), "");
    EXPECT_EQ(names("<|im_start|><|im_end|>"), "") << "and no assistant";
    EXPECT_EQ(guess_template({qwen25, ""}).size(), 2U) << "the system text of a variable is none";
    EXPECT_EQ(guess_template({qwen25, "<s>"}).size(), 4U);
}

// Two guesses of as many tokens that lay them in different places tell nothing.
TEST(ChatTemplate, TakesNothingThatTwoGuessesDisagreeOn) {
    const TemplateSplit three{"A", {3, 5}};
    const TemplateSplit same{"B", {3, 5}};
    const TemplateSplit four{"C", {4, 4}};
    EXPECT_TRUE(split_of(std::vector{three, same}, 8));
    EXPECT_FALSE(split_of(std::vector{three, same, four}, 8));
    EXPECT_FALSE(split_of({}, 8));
}

// Where models keep it: in the config, in a list there, or in a file of its own.
TEST(ChatTemplate, IsReadFromTheFolderOfTheTokenizer) {
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

TEST(Tokenize, WritesTheBodiesOfEachServer) {
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
}

// Answers as each server gives them; what is no list of tokens gives none.
TEST(Tokenize, ReadsTheAnswersOfEachServer) {
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
}

// Which forms see the template decides what their counts are compared with.
TEST(Tokenize, KnowsWhoSeesTheTemplate) {
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
