/// A dataset's text as prompts: read, counted in tokens, cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/compressed_files.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/core/errors.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// DatasetReader: a dataset's bytes in pieces of any size, its texts out.
///
/// A JSON array (ShareGPT), or JSON lines; which, is decided by the first byte. A row is a text
/// itself, or an object with a column of texts: a string, or a list of strings or of turns, whose
/// texts are their `value` (ShareGPT) or `content`. It holds one row at a time, and never touches a
/// file. Owned by whoever reads.
class DatasetReader {
  public:
    /// `column`: as the user named it; empty: the first of the usual names that the first row has.
    explicit DatasetReader(std::string column) : column_(std::move(column)) {}

    /// Appends the texts of all rows that end in the piece, in order; of a text that is null or
    /// empty, an empty one. Errors: bad_json, truncated, too_large, invalid (no dataset, no such
    /// column); nothing more may be read then.
    Result<void> read(std::string_view piece, std::vector<std::string>& texts);
    /// No piece follows. Errors as above.
    Result<void> finish(std::vector<std::string>& texts);

    /// What was wrong, for people: where in the file, what, and the remedy.
    const std::string& why() const { return why_; }
    /// The column that was found or named; empty before the first row, and where rows are texts.
    const std::string& column() const { return column_; }

  private:
    enum class Shape : std::uint8_t { unknown, array, lines };

    Result<void> begin(std::string_view piece);
    Result<void> read_array(std::string_view piece, std::vector<std::string>& texts);
    Result<void> read_lines(std::vector<std::string>& texts);
    Result<void> read_row(std::string_view text, const std::string& row,
                          std::vector<std::string>& texts);
    bool choose_column(const JsonValue& row, std::string& why);
    bool take_texts(const JsonValue& row, std::vector<std::string>& texts, std::string& why);
    Error refuse(ErrorCode code, std::string why) {
        why_ = std::move(why);
        return {code, 0, "read a dataset"};
    }

    std::string column_;
    Shape shape_ = Shape::unknown;
    std::size_t mark_bytes_ = 0;      ///< of a byte order mark, seen so far
    std::uint64_t lines_before_ = 0;  ///< empty ones, before the first byte that says something
    JsonElements elements_;
    LineSplitter lines_;
    JsonDocument document_;
    std::string why_;
};

/// Corpus: a dataset's text, cut into pieces whose tokens are known, so that any run of pieces is
/// as many tokens as their sum.
///
/// A piece begins with a blank and ends with a lower-case ASCII letter. No tokenizer that words can
/// be chosen from joins anything over such a border (token-exact.md, section 2), so pieces and
/// words of the table go one behind the other in any order, and no text is tokenised while requests
/// leave. Made once by a CorpusMaker; immutable afterwards. The text is held as it is in a JSON
/// string.
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

// CorpusMaker: from texts to a Corpus, counting tokens with the model's own tokenizer.
//
// Texts are put one behind the other, an empty line between, and cut at borders: a lower-case
// ASCII letter, a blank, a letter. Where `piece_bytes_max` bytes have none (other scripts, code),
// a word is put in to make one. Each piece is counted behind a word, and each section of pieces
// once more as a whole: where the sum is not the whole, the section is left out. So is every piece
// that holds an added token of the tokenizer (a special one would be read as such), a control
// character, or too many bytes a token. Uses the tokenizer while it lives; before time 0 only.

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

    /// Once, at the end. What is behind the last border is dropped.
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

// A Corpus from a dataset's file: a JSON array (ShareGPT) or JSON lines, compressed or not. Read
// in bounded memory and tokenised once, before time 0.

struct LoadedCorpus {
    Corpus corpus;
    CorpusFigures figures;
    std::string column;    ///< where the texts were; empty where rows are texts
    bool is_whole = true;  ///< false: the file has more than `Corpus::bytes_max` of text
};

/// Errors: those of reading the file; bad_json, truncated, too_large, invalid (no such column, no
/// text); unsupported (the tokenizer). `why` then is a line for people that names file, row, what
/// is wrong, and the remedy.
Result<LoadedCorpus> load_corpus(const std::string& path, const std::string& column,
                                 Tokenizer& tokenizer, std::string_view word, std::string& why);

}  // namespace driftless
