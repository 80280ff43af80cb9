/// Word selection: from a tokenizer to the words that prompts for its models are written in.
///
/// The strict rule of token-exact.md, section 1: a word is chosen when it is exactly one token both
/// with a blank in front and bare, no added token hides in it, and nothing in the vocabulary joins
/// two words. Then any sequence of chosen words has as many tokens as words. The proof rests on how
/// the tokenizer cuts text, so the result is verified by encoding before it is handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/prompt/vocab.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class Tokenizer;

/// How a table came to be; for people and for run.json.
struct WordFigures {
    std::string kind;            ///< "byte-level BPE", "BPE over characters with byte fallback"
    std::size_t vocabulary = 0;  ///< tokens, added ones not counted
    std::size_t candidates = 0;  ///< tokens that are a blank and lower-case ASCII letters
    std::size_t strict = 0;      ///< of those, words that keep the rule
    std::size_t words = 0;       ///< in the table
};

struct SelectedWords {
    WordTable table;
    WordFigures figures;
    /// Token id of each word behind a blank, [words]: ids that are safe to send (no special token,
    /// no placeholder). Empty where one has more than seven digits.
    std::vector<std::uint32_t> ids;
};

/// The largest power of two of the shortest words, at most `WordTable::words_max`; equally long
/// ones in alphabetical order. Error: unsupported, where fewer than `WordTable::words_min` keep the
/// rule, words can join, or encoding does not bear the words out; `why` is a clause for people.
Result<SelectedWords> select_words(Tokenizer& tokenizer, std::string& why);

/// The same for people: `why` is a line that names the file, and the remedy.
Result<SelectedWords> select_words(Tokenizer& tokenizer, const std::string& path, std::string& why);

/// The same from a file (compressed or not). Errors: those of reading it, too; `why` is a line for
/// people that names the file and the remedy.
Result<SelectedWords> load_words(const std::string& path, std::string& why);

}  // namespace driftless
