/// Tokenizing: what each TokenizeForm asks a server, and what it answers.
///
/// Values and bytes only: bodies out, tokens in. The preflight finds out by trying which way a
/// server understands. Texts go in and out as JSON has them, escaped and without quotes, so that a
/// prompt's bytes are the same here as in a row's body.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "proto/api/dialect.hpp"
#include "proto/api/tokenize_form.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// "messages", "templated", ...
const char* name_of(TokenizeForm form);

/// What stands behind the root path.
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
/// What both share in front stands before the prompt, what they share behind stands behind it.
AroundWords compare_words(std::span<const std::int64_t> first,
                          std::span<const std::int64_t> second);

}  // namespace driftless
