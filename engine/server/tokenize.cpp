#include "engine/server/tokenize.hpp"

#include <algorithm>
#include <string>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/text.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"

namespace driftless {

/// A text that is escaped already, as a value.
static auto written(std::string_view escaped) {
    return [escaped](JsonWriter& json) { json.raw("\"" + std::string(escaped) + "\""); };
}

/// A list of one message of the user, as a value.
static auto message_of(std::string_view escaped) {
    return [escaped](JsonWriter& json) {
        json.begin_array();
        put_object(json, {{"role", "user"}, {"content", written(escaped)}});
        json.end_array();
    };
}

const char* tokenize_path(TokenizeForm form) {
    return form == TokenizeForm::prompt_v1 ? "/v1/tokenize" : "/tokenize";
}

bool sees_template(TokenizeForm form, const Dialect& dialect) {
    return !dialect.templated || form == TokenizeForm::messages || form == TokenizeForm::templated;
}

std::string tokenize_body(TokenizeForm form, std::string_view model, std::string_view escaped) {
    switch (form) {
        case TokenizeForm::messages:
            return json_text(JsonPairs{{"model", model},
                                       {"messages", message_of(escaped)},
                                       {"add_generation_prompt", true}});
        case TokenizeForm::prompt:
        case TokenizeForm::prompt_v1:
            return json_text(JsonPairs{
                {"model", model}, {"prompt", written(escaped)}, {"add_special_tokens", true}});
        case TokenizeForm::inputs:
            return json_text(JsonPairs{{"inputs", written(escaped)}, {"add_special_tokens", true}});
        case TokenizeForm::templated:
        case TokenizeForm::content:
            break;
    }
    return json_text(
        JsonPairs{{"content", written(escaped)}, {"add_special", true}, {"parse_special", true}});
}

std::string template_body(std::string_view model, std::string_view escaped) {
    return json_text(JsonPairs{{"model", model}, {"messages", message_of(escaped)}});
}

std::vector<std::int64_t> read_tokens(JsonDocument& document, std::string_view body) {
    std::vector<std::int64_t> tokens;
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return tokens;
    }
    for (JsonValue token = root.value().find("tokens").first(); token.present();
         token = token.next()) {
        tokens.push_back(token.as_i64().value_or(-1));
    }
    if (root.value().is(JsonType::array)) {  // TGI's, an object each
        for (JsonValue token = root.value().first(); token.find("id").present();
             token = token.next()) {
            tokens.push_back(token.find("id").as_i64().value_or(-1));
        }
    }
    return tokens;
}

std::string read_templated(JsonDocument& document, std::string_view body) {
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return "";
    }
    const JsonValue prompt = root.value().find("prompt");
    if (!prompt.is(JsonType::string)) {
        return "";
    }
    const std::string_view raw = prompt.raw();
    return std::string(raw.substr(1, raw.size() - 2));
}

AroundWords compare_words(std::span<const std::int64_t> first,
                          std::span<const std::int64_t> second) {
    const auto [end, other_end] = std::ranges::mismatch(first, second);
    const auto front = static_cast<std::size_t>(end - first.begin());
    const std::span<const std::int64_t> rest(end, first.end());
    const std::span<const std::int64_t> other_rest(other_end, second.end());
    const auto back = static_cast<std::size_t>(
        std::mismatch(rest.rbegin(), rest.rend(), other_rest.rbegin(), other_rest.rend()).first -
        rest.rbegin());
    AroundWords around;
    around.overhead = {static_cast<std::uint32_t>(front), static_cast<std::uint32_t>(back)};
    around.first_cost = first.size() - front - back;
    around.second_cost = second.size() - front - back;
    return around;
}

namespace {

struct Template {
    std::string_view model;  ///< part of the name, lower case
    std::uint32_t tokens;    ///< around one user message
    std::uint32_t post;      ///< of those, behind it
};

}  // namespace

// Measured with the published templates, but Gemma's, which is read from its template
// (token-exact.md, section 5).
static constexpr Template templates[] = {
    {"qwen2.5", 29, 5}, {"qwen3", 8, 5},    {"qwen3", 12, 9},   {"qwen3", 10, 7},
    {"llama-3", 10, 5}, {"llama3", 10, 5},  {"llama-3", 35, 5}, {"llama3", 35, 5},
    {"deepseek", 3, 1}, {"deepseek", 5, 3}, {"deepseek", 4, 2}, {"mistral-nemo", 3, 1},
    {"llama-2", 8, 4},  {"glm-4", 8, 4},    {"command-", 6, 3}, {"phi-3", 3, 2},
    {"gpt-oss", 67, 3}, {"gemma-2", 9, 5},  {"gemma-3", 9, 5},
};

Overhead split_overhead(const Dialect& dialect, std::string_view model, std::uint32_t tokens,
                        bool& known) {
    known = tokens == 0;  // nothing to split: ids pass a template by
    if (known || !dialect.templated) {
        return {tokens, 0};
    }
    const std::string name = lower(model);
    for (const Template& entry : templates) {
        if (entry.tokens == tokens && name.find(entry.model) != std::string::npos) {
            known = true;
            return {tokens - entry.post, entry.post};
        }
    }
    return {tokens, 0};
}

namespace {

struct Family {
    std::string_view name;
    std::string_view marks[3];  ///< all of them are in the template
    std::string_view before;
    std::string_view after;            ///< up to where the answer begins
    std::string_view lacks = "";       ///< this does not stand in it; empty: nothing
    std::string_view system = "";      ///< begins a system message; empty: there is none
    std::string_view system_end = "";  ///< .. and ends it
};

}  // namespace

// From the published templates.
static constexpr Family families[] = {
    {"ChatML",
     {"<|im_start|>", "<|im_end|>", "assistant"},
     "<|im_start|>user\n",
     "<|im_end|>\n<|im_start|>assistant\n",
     "<|im_sep|>",
     "<|im_start|>system\n",
     "<|im_end|>\n"},
    {"Phi-4",
     {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
     "<|im_start|>user<|im_sep|>",
     "<|im_end|><|im_start|>assistant<|im_sep|>"},
    {"Llama 3",
     {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
     "<|start_header_id|>user<|end_header_id|>\n\n",
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"Mistral", {"[INST]", "[/INST]", ""}, "[INST] ", " [/INST]"},
    {"Mistral", {"[INST]", "[/INST]", ""}, "[INST] ", "[/INST]"},
    {"Mistral", {"[INST]", "[/INST]", ""}, "[INST]", "[/INST]"},
    {"Gemma",
     {"<start_of_turn>", "<end_of_turn>", "model"},
     "<start_of_turn>user\n",
     "<end_of_turn>\n<start_of_turn>model\n"},
    {"Phi", {"<|end|>", "<|assistant|>", ""}, "<|user|>\n", "<|end|>\n<|assistant|>\n"},
    {"Phi", {"<|end|>", "<|assistant|>", ""}, "<|user|>", "<|end|><|assistant|>"},
};

/// Llama 3.1 and later put this before every prompt; dates have the same number of tokens.
static constexpr std::string_view dated_mark = "Cutting Knowledge Date: December 2023\n";
static constexpr std::string_view dated_system =
    "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
    "Today Date: 26 Jul 2024\n\n<|eot_id|>";

/// What templates of thinking models open an answer with.
static constexpr std::string_view thoughts[] = {"<think>\n", "<think>\n\n</think>\n\n"};

/// A default system text is a sentence or two.
static constexpr std::size_t system_bytes_max = 2048;

/// Line ends are written \n inside the template's strings, and as they are outside of them.
static std::string with_line_ends(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_end = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n';
        plain += is_end ? '\n' : text[i];
        i += is_end ? 1 : 0;
    }
    return plain;
}

static bool holds(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

static bool is_of(const Family& family, std::string_view text) {
    const auto stands = [text](std::string_view mark) { return holds(text, mark); };
    return std::all_of(std::begin(family.marks), std::end(family.marks), stands) &&
           (family.lacks.empty() || !holds(text, family.lacks));
}

/// System messages that the template may put in front by itself; the first is none.
static std::vector<std::string> system_messages(const Family& family, std::string_view text) {
    std::vector<std::string> found{""};
    if (family.name == "Llama 3" && holds(text, dated_mark)) {
        found.emplace_back(dated_system);
    }
    if (family.system.empty()) {
        return found;
    }
    std::size_t at = text.find(family.system);
    while (at != std::string_view::npos) {
        const std::size_t begin = at + family.system.size();
        const std::size_t end = text.find(family.system_end, begin);
        if (end == std::string_view::npos) {
            break;
        }
        const std::string_view said = text.substr(begin, end - begin);
        // A quote or a brace ends the template's string: what follows depends on its variables.
        if (said.size() <= system_bytes_max && said.find_first_of("{}'\"") == said.npos) {
            found.push_back(std::string(family.system) + std::string(said) +
                            std::string(family.system_end));
        }
        at = text.find(family.system, end);
    }
    return found;
}

static void add_guesses(const Family& family, std::string_view text, std::string_view bos,
                        std::vector<TemplateGuess>& guesses) {
    std::vector<std::string_view> openings{""};
    for (const std::string_view thought : thoughts) {
        if (holds(text, thought)) {
            openings.push_back(thought);
        }
    }
    for (const std::string& system : system_messages(family, text)) {
        const std::string before = system + std::string(family.before);
        for (const std::string_view opening : openings) {
            const std::string after = std::string(family.after) + std::string(opening);
            guesses.push_back({family.name, before, after});
            if (!bos.empty()) {
                guesses.push_back({family.name, std::string(bos) + before, after});
            }
        }
    }
}

static std::vector<std::int64_t> ids_of(Tokenizer& tokenizer, const TemplateGuess& guess,
                                        std::string_view word) {
    std::vector<TokenId> ids;
    tokenizer.encode(guess.before + std::string(word) + guess.after, ids);
    return {ids.begin(), ids.end()};
}

/// A token of the config: its text, or an object with its text.
static std::string token_text(JsonValue token) {
    return kept_text(token.is(JsonType::object) ? token.find("content") : token);
}

/// One template, or a list of named ones, of which chats take the one called default.
static std::string template_text(JsonValue chat) {
    if (!chat.is(JsonType::array)) {
        return kept_text(chat);
    }
    for (JsonValue one = chat.first(); one.present(); one = one.next()) {
        if (one.find("name").as_string() == "default") {
            return kept_text(one.find("template"));
        }
    }
    return "";
}

std::optional<ChatTemplate> read_chat_template(const std::string& tokenizer_file) {
    const std::string folder = tokenizer_file.substr(0, tokenizer_file.rfind('/') + 1);
    std::string why;
    const ParsedJson config(read_model_file(folder + "tokenizer_config.json", why));
    ChatTemplate chat{template_text(config.root.find("chat_template")),
                      token_text(config.root.find("bos_token"))};
    const Result<std::string> own = read_model_file(folder + "chat_template.jinja", why);
    chat.text = own ? own.value() : chat.text;
    return chat.text.empty() ? std::nullopt : std::optional(chat);
}

std::vector<TemplateGuess> guess_template(const ChatTemplate& chat) {
    const std::string text = with_line_ends(chat.text);
    std::vector<TemplateGuess> guesses;
    for (const Family& family : families) {
        if (is_of(family, text)) {
            add_guesses(family, text, chat.bos, guesses);
        }
    }
    return guesses;
}

std::vector<TemplateSplit> measure_guesses(std::span<const TemplateGuess> guesses,
                                           Tokenizer& tokenizer, const WordTable& words) {
    std::vector<TemplateSplit> splits;
    for (const TemplateGuess& guess : guesses) {
        const AroundWords around = compare_words(ids_of(tokenizer, guess, words.word(0)),
                                                 ids_of(tokenizer, guess, words.word(1)));
        if (around.first_cost == 1 && around.second_cost == 1) {
            splits.push_back({guess.family, around.overhead});
        }
    }
    return splits;
}

std::optional<TemplateSplit> split_of(std::span<const TemplateSplit> splits, std::uint32_t tokens) {
    std::optional<TemplateSplit> found;
    for (const TemplateSplit& split : splits) {
        if (split.around.pre + split.around.post != tokens) {
            continue;
        }
        if (found && found->around.pre != split.around.pre) {
            return std::nullopt;
        }
        found = found ? found : split;
    }
    return found;
}

}  // namespace driftless
