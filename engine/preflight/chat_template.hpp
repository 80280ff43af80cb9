/// Chat template: what a model's own template puts around one user message, where the files of its
/// tokenizer hold that template.
///
/// A template is a program (Jinja), and none is run here. The common families differ in a few
/// literal texts: a template that has the marks of a family is guessed to be of it, and each guess
/// is measured with the tokenizer. A guess counts only where its tokens are exactly those that the
/// server's usage shows (token-exact.md, sections 5 and 9). Before time 0 only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "engine/prompt/vocab.hpp"

namespace driftless {

/// What stands beside a tokenizer's file.
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
