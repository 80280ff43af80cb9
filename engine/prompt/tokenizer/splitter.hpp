/// Splitter: the pre-tokenizer, which cuts normalized text into the pieces that are merged each by
/// itself.
///
/// A list of steps. Most only cut; some change the text that later ones see (a mark in place of
/// blanks, bytes written as letters). What comes out are raw bytes: letters are turned back. Owned
/// by a Tokenizer; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/pattern.hpp"

namespace driftless {

struct SplitStep {
    enum class Kind : std::uint8_t {
        // Cut at what matches.
        pattern,
        digits,
        punctuation,
        white_space,
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

}  // namespace driftless
