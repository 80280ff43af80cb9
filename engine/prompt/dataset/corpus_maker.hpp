/// CorpusMaker: from texts to a Corpus, counting tokens with the model's own tokenizer.
///
/// Texts are put one behind the other, an empty line between, and cut at borders: a lower-case
/// ASCII letter, a blank, a letter. Where `piece_bytes_max` bytes have none (other scripts, code),
/// a word is put in to make one. Each piece is counted behind a word, and each section of pieces
/// once more as a whole: where the sum is not the whole, the section is left out. So is every piece
/// that holds an added token of the tokenizer (a special one would be read as such), a control
/// character, or too many bytes a token. Uses the tokenizer while it lives; before time 0 only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/dataset/corpus.hpp"
#include "engine/prompt/tokenizer/tokenizer.hpp"

namespace driftless {

/// What became of the texts; for people and for run.json.
struct CorpusFigures {
    std::uint64_t texts = 0;           ///< taken, empty ones not counted
    std::uint64_t empty_texts = 0;     ///< of white space only
    std::uint64_t bytes = 0;           ///< of the texts taken
    std::uint64_t left_out_bytes = 0;  ///< of pieces that were left out
    std::uint64_t words_put_in = 0;
    std::uint64_t sections_left_out = 0;  ///< whose pieces are not as many tokens as the whole
};

class CorpusMaker {
  public:
    /// Pieces shorter than this are not cut off: fewer borders to keep, and a prompt loses half a
    /// piece to filling words. Prose has a border every 6 bytes.
    static constexpr std::size_t piece_bytes_min = 16;
    /// A copy of one piece must fit a slice, and filling words must not outnumber the text's.
    static constexpr std::size_t piece_bytes_max = 256;

    /// `word`: one of the table's, one token wherever it stands.
    CorpusMaker(Tokenizer& tokenizer, std::string_view word);

    /// Why pieces cannot be made of this tokenizer's texts: an added token that reaches over a
    /// border. A clause for people; empty: they can.
    const std::string& refused() const { return refused_; }

    void add(std::string_view text);
    /// No more is taken.
    bool full() const { return corpus_.bytes().size() >= Corpus::bytes_max; }
    const CorpusFigures& figures() const { return figures_; }

    /// Once, at the end. What stands behind the last border is dropped.
    Corpus finish();

  private:
    bool cut_piece();
    void take(std::string_view piece);
    std::uint32_t count(std::string_view text, bool& has_added);
    void close_section();

    Tokenizer& tokenizer_;
    std::string word_;
    std::string refused_;
    std::vector<bool>
        is_added_;      ///< [ids] tokens that are found as they stand, but for white space
    std::string rest_;  ///< not cut yet; begins with a blank
    std::size_t rest_begin_ = 0;
    Corpus corpus_;
    CorpusFigures figures_;
    // The section that is being made.
    std::string section_;
    std::uint32_t section_tokens_ = 0;
    std::uint32_t pieces_before_ = 0;
    // Scratch.
    std::string text_;
    std::string escaped_;
    std::vector<TokenId> ids_;
};

}  // namespace driftless
