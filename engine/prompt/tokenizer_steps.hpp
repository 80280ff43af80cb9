/// The steps around the merges of a tokenizer: what it does to text before it looks for pieces,
/// where it cuts the pieces, and how token texts become one text again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prompt/pattern.hpp"

namespace driftless {

// Normalizer: what a tokenizer does to text before it looks for pieces.
//
// A list of steps, each a function of the whole text. Owned by a Tokenizer; one thread.

struct NormalizerStep {
    enum class Kind : std::uint8_t {
        nfc,
        nfd,
        nfkc,
        nfkd,
        lowercase,
        strip,
        strip_accents,  ///< drops marks
        prepend,        ///< puts `text` in front of what is not empty
        replace,        ///< each match of `pattern` by `text`
        letters,        ///< every byte by its letter
    };
    Kind kind = Kind::nfc;
    std::string text;
    Pattern pattern = Pattern::literal("");
    bool left = true;  ///< strip
    bool right = true;
};

class Normalizer {
  public:
    void add(NormalizerStep step) { steps_.push_back(std::move(step)); }
    bool empty() const { return steps_.empty(); }
    /// Whether some step turns bytes into letters.
    bool to_letters() const;
    /// Turns valid UTF-8 into valid UTF-8, in place.
    void run(std::string& text);

  private:
    std::vector<NormalizerStep> steps_;
    std::string scratch_;
};

// Splitter: the pre-tokenizer, which cuts normalized text into the pieces that are merged each by
// itself.
//
// A list of steps. Most only cut; some change the text that later ones see (a mark in place of
// blanks, bytes written as letters). What comes out are raw bytes: letters are turned back. Owned
// by a Tokenizer; one thread.

struct SplitStep {
    enum class Kind : std::uint8_t {
        // Cut at what matches.
        pattern,
        digits,
        punctuation,
        spaces,
        // Change text.
        prefix_blank,  ///< a blank in front of each piece that has none
        letters,       ///< every byte as its letter
        mark_blanks,   ///< `mark` for each blank, and in front as `prefix` says
    };
    /// What becomes of matches and of what is between them.
    enum class Behavior : std::uint8_t {
        isolated,
        removed,
        contiguous,
        merged_with_previous,
        merged_with_next,
    };
    enum class Prefix : std::uint8_t { always, none, first };

    Kind kind = Kind::pattern;
    Behavior behavior = Behavior::isolated;
    bool invert = false;  ///< matches are what is between matches
    Pattern pattern = Pattern::literal("");
    Prefix prefix = Prefix::always;
    std::string mark;
};

class Splitter {
  public:
    void add(SplitStep step);
    bool empty() const { return steps_.empty(); }

    /// Appends the pieces of `text`; they live as long as it and until the next call. `at_start`:
    /// nothing stands in front of `text`.
    void run(std::string_view text, bool at_start, std::vector<std::string_view>& pieces);

  private:
    struct Span {
        std::size_t begin = 0;
        std::size_t end = 0;
        bool matched = false;
    };
    void cut_all(SplitStep& step);
    void find_matches(SplitStep& step, std::string_view piece);
    void cut(const SplitStep& step, Span piece);
    void change(const SplitStep& step, bool at_start);
    void letters_to_bytes();
    template <typename Write>
    void rewrite(Write write);

    std::vector<SplitStep> steps_;
    bool has_letters_ = false;
    // Of one run: the text as the steps so far left it, and its pieces.
    std::string_view text_;
    std::string changed_[2];  ///< `text_` is the caller's, or one of these
    std::size_t newest_ = 0;
    std::vector<Span> spans_;
    std::vector<Span> next_spans_;
    std::vector<Span> found_;  ///< in one piece
};

// Decoder: from the texts of tokens back to one text.
//
// A list of steps over the list of texts, as Hugging Face's decoders define them. Pure.

struct DecoderStep {
    enum class Kind : std::uint8_t {
        replace,        ///< each match of `pattern` by `text`
        byte_fallback,  ///< runs of <0xNN> by their bytes; by U+FFFD each where that is no UTF-8
        fuse,           ///< all texts become one
        strip,          ///< up to `start` and `stop` times `text` off the ends of each
        letters,        ///< letters of bytes by their bytes, all texts become one
        marks,          ///< `text` is a blank; a first one is dropped where `drop_first`
    };
    Kind kind = Kind::fuse;
    Pattern pattern = Pattern::literal("");
    std::string text;
    std::uint32_t start = 0;
    std::uint32_t stop = 0;
    bool drop_first = false;
};

class Decoder {
  public:
    void add(DecoderStep step) { steps_.push_back(std::move(step)); }
    /// Runs the steps and joins the texts.
    std::string run(std::vector<std::string> texts);
    /// What stands between texts in the end: a blank, where a tokenizer names no decoder.
    std::string separator;

  private:
    std::vector<DecoderStep> steps_;
};

}  // namespace driftless
