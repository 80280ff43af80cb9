/// Text cuts: where the program around a tokenizer cuts long texts before it tokenizes them.
///
/// Kimi's own does (`tokenization_kimi.py`): tokens never reach beyond such a cut, and a word that
/// one falls into, or just behind, has a token more. Tokenizers without such a program cut nothing.
#pragma once

#include <cstddef>
#include <string_view>

namespace driftless {

/// In code points; 0: nowhere.
struct TextCuts {
    std::size_t every = 0;   ///< each so many
    std::size_t run_of = 0;  ///< then, after so many blanks, or non-blanks, in a row
};

/// Cuts one text.
class TextCutter {
  public:
    explicit TextCutter(TextCuts cuts) : cuts_(cuts) {}

    /// How many bytes of `text` (valid UTF-8; what the calls before left of it) come before the
    /// next cut: all, where there is none. 0 only of nothing.
    std::size_t next(std::string_view text);

  private:
    void next_chunk(std::string_view text);

    TextCuts cuts_;
    std::size_t chunk_left_ = 0;  ///< bytes until the next of the cuts that come each so many
};

}  // namespace driftless
