/// Corpus: a dataset's text, cut into pieces whose tokens are known, so that any run of pieces is
/// as many tokens as their sum.
///
/// A piece begins with a blank and ends with a lower-case ASCII letter. No tokenizer that words can
/// be chosen from joins anything over such a border (token-exact.md, section 2), so pieces and
/// words of the table go one behind the other in any order, and no text is tokenised while requests
/// leave. Made once by a CorpusMaker; immutable afterwards. The text is held as it stands in a JSON
/// string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

class Corpus {
  public:
    /// Pieces with more bytes a token (rows of dashes, white space) are left out, so that memory
    /// for a prompt follows from its tokens. Words of English have 4 to 6.
    static constexpr std::uint32_t bytes_per_token_max = 16;
    /// Text that is held at most, as written in JSON: some 8 M tokens of English.
    static constexpr std::size_t bytes_max = std::size_t{32} << 20;

    /// Pieces one behind the other; after the last comes the first.
    struct Run {
        std::string_view bytes;
        std::uint32_t tokens = 0;
    };

    std::uint32_t tokens() const { return borders_.back().token; }
    std::uint32_t pieces() const { return static_cast<std::uint32_t>(borders_.size() - 1); }
    std::string_view bytes() const { return bytes_; }
    /// 64 bits that name the pieces: their bytes and their tokens.
    std::uint64_t digest() const;

    /// The piece that a uniform 64-bit number chooses. There is at least one.
    std::uint32_t piece_at(std::uint64_t uniform) const;
    /// Tokens of the longest run of pieces from `first` on that has at most `tokens_max`, and at
    /// most every piece once.
    std::uint32_t fit(std::uint32_t first, std::uint32_t tokens_max) const;
    /// A part of the run from `first` on, behind `token` tokens of it (the sum of whole pieces):
    /// at most `tokens_max` tokens and `bytes_max` bytes, but at least one piece.
    Run run(std::uint32_t first, std::uint32_t token, std::uint32_t tokens_max,
            std::size_t bytes_max) const;

    /// Appends a piece, escaped as JSON has it. CHECKs that there is room for it.
    void add(std::string_view escaped, std::uint32_t tokens);
    /// Drops the last pieces until so many are left.
    void keep(std::uint32_t pieces);

  private:
    struct Border {
        std::uint32_t byte = 0;
        std::uint32_t token = 0;
    };
    std::string bytes_;
    std::vector<Border> borders_ = std::vector<Border>(1);  ///< in front of each piece, and the end
};

}  // namespace driftless
