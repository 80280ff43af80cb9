/// Template table: how the tokens that published chat templates add lie around a prompt.
///
/// A server that only counts does not show the split; only the alignment of blocks with its pages
/// depends on it (token-exact.md, sections 5 and 9).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "engine/prompt/word_table.hpp"
#include "proto/api/dialect.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The split of `tokens` counted around a prompt, by the model's name; all in front where the model
/// or the number is unknown, and where the API has no template. `known` says which.
Overhead split_overhead(const Dialect& dialect, std::string_view model, std::uint32_t tokens,
                        bool& known);

// Tokenizing: what each TokenizeForm asks a server, and what it answers.
//
// Values and bytes only: bodies out, tokens in. The preflight finds out by trying which way a
// server understands. Texts go in and out as JSON has them, escaped and without quotes, so that a
// prompt's bytes are the same here as in a row's body.

/// What is behind the root path.
const char* tokenize_path(TokenizeForm form);
inline constexpr const char* apply_template_path = "/apply-template";

/// Whether the form counts what the API puts around a prompt, too.
bool sees_template(TokenizeForm form, const Dialect& dialect);

/// The body that asks for the tokens of `escaped`. For `templated`: of a text that has been through
/// the template.
std::string tokenize_body(TokenizeForm form, std::string_view model, std::string_view escaped);
/// The body that asks /apply-template for the text of a message.
std::string template_body(std::string_view model, std::string_view escaped);

/// The tokens of an answer; empty where it holds none.
std::vector<std::int64_t> read_tokens(JsonDocument& document, std::string_view body);
/// The escaped text of /apply-template; empty where there is none.
std::string read_templated(JsonDocument& document, std::string_view body);

/// What two texts of one word each say of the tokens around them.
struct AroundWords {
    Overhead overhead;
    std::size_t first_cost = 0;  ///< tokens of the first word
    std::size_t second_cost = 0;
};
/// What both share in front is before the prompt, what they share behind is behind it.
AroundWords compare_words(std::span<const std::int64_t> first,
                          std::span<const std::int64_t> second);

// Chat template: what a model's own template puts around one user message, where the files of its
// tokenizer hold that template.
//
// A template is a program (Jinja), and none is run here. The common families differ in a few
// literal texts: a template that has the marks of a family is guessed to be of it, and each guess
// is measured with the tokenizer. A guess counts only where its tokens are exactly those that the
// server's usage shows (token-exact.md, sections 5 and 9). Before time 0 only.

/// What is beside a tokenizer's file.
struct ChatTemplate {
    std::string text;  ///< Jinja
    std::string bos;   ///< text of the token that begins a prompt; empty: not named
};

/// The template in the folder of this file: chat_template.jinja, else the member `chat_template` of
/// tokenizer_config.json. Nothing where there is none, or where they cannot be read.
std::optional<ChatTemplate> read_chat_template(const std::string& tokenizer_file);

/// One guess: the texts before and behind the user's.
struct TemplateGuess {
    std::string_view family;  ///< "ChatML", "Llama 3", ..
    std::string before;
    std::string after;
};
/// All that the marks of the template allow.
std::vector<TemplateGuess> guess_template(const ChatTemplate& chat);

/// One guess in tokens.
struct TemplateSplit {
    std::string_view family;
    Overhead around;
};
/// A guess in which single words are not one token each is left out.
std::vector<TemplateSplit> measure_guesses(std::span<const TemplateGuess> guesses,
                                           Tokenizer& tokenizer, const WordTable& words);

/// The guess of exactly so many tokens; nothing where there is none, or where two of them disagree.
std::optional<TemplateSplit> split_of(std::span<const TemplateSplit> splits, std::uint32_t tokens);

}  // namespace driftless
