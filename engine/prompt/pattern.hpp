/// Pattern: what a tokenizer searches text for, a literal or a regular expression.
///
/// tokenizer.json writes its expressions for Oniguruma; PCRE2 runs them, after the rewrites below,
/// with the same matches (token-exact.md, section 12: 141 patterns of published tokenizers compared
/// over 3,018 strings). Owns the compiled expression and its match data: one thread at a time.
/// Text is valid UTF-8.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

class Pattern {
  public:
    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// How far the matches of one text have been found. Begins default-made.
    struct Search {
        std::size_t from = 0;
        std::size_t last_end = std::string_view::npos;
    };

    static Pattern literal(std::string_view text);
    /// An expression in Oniguruma's syntax. Error: unsupported; `why` says what for people.
    static Result<Pattern> compile(std::string_view expression, std::string& why);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// The next match of a text, leftmost first, none overlapping. It may be empty (an assertion
    /// that splits), but not where the one before ended.
    std::optional<Match> next(std::string_view text, Search& search);

  private:
    struct Compiled;
    Pattern();

    std::string literal_;
    std::unique_ptr<Compiled> compiled_;  ///< null: a literal
};

/// Rewrites what the two engines read differently: `\uXXXX`, `\h`, `\s` (PCRE2 counts U+180E in),
/// `[A&&B]`, classes within classes, `\p{Han}` (PCRE2 means script extensions), `X{3}+` (possessive
/// in PCRE2 only). Error: unsupported, where no rewrite is known; `why` says what.
Result<std::string> pcre2_of_oniguruma(std::string_view expression, std::string& why);

}  // namespace driftless
