/// AddedTokens: texts that are one token as they stand, cut out before anything is merged.
///
/// Where several could match, the leftmost does, and of those the longest. Two sets: one is sought
/// in the text as it came, one in the normalized text. Built while loading; plain reads later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/vocabulary.hpp"

namespace driftless {

struct AddedToken {
    TokenId id = 0;
    std::string text;
    std::string sought;        ///< what is looked for: `text`, normalized if need be
    bool single_word = false;  ///< matches only where no word character stands beside it
    bool strip_left = false;   ///< takes the white space in front with it
    bool strip_right = false;
    bool normalized = false;  ///< sought in the normalized text
    bool special = false;     ///< left out of decoded text on request
};

/// A part of a text: an added token, or what is between.
struct Section {
    std::string_view text;
    const AddedToken* token = nullptr;
};

/// One set of texts to seek.
class AddedTokenFinder {
  public:
    /// `token` outlives this and does not move. One that seeks nothing is left out.
    void add(const AddedToken& token);
    /// Once, after the last `add`.
    void prepare();

    /// Appends the sections of `text`, in order, none of them empty.
    void cut(std::string_view text, std::vector<Section>& sections) const;

  private:
    const AddedToken* longest_at(std::string_view text) const;

    std::vector<const AddedToken*> entries_;  ///< sorted by what they seek
    bool begins_[256] = {};                   ///< some entry begins with that byte
};

}  // namespace driftless
