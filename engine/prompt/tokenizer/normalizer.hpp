/// Normalizer: what a tokenizer does to text before it looks for pieces.
///
/// A list of steps, each a function of the whole text. Owned by a Tokenizer; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/prompt/tokenizer/pattern.hpp"

namespace driftless {

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

}  // namespace driftless
