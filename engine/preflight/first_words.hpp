/// FirstWords: which words a server counts as one token at the very beginning of a prompt.
///
/// Nothing stands in front of a prompt's first word, not even a blank, and a word that is one token
/// behind a blank may be two without it. Whether it is depends on the vocabulary and on what the
/// template puts before it. So words are asked one at a time, each as a whole prompt, in their
/// order, until enough are known to be one token there. Only those open prompts then.
///
/// Pure: no server, no clock. Bounded: at most `asked_max` questions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace driftless {

struct FirstWordsLimits {
    /// Enough: rows that have nothing in common share their first token in one of so many pairs,
    /// and no page of a prefix cache is that short.
    std::uint32_t wanted = 64;
    std::uint32_t asked_max = 512;
};

class FirstWords {
  public:
    /// Over these words, in this order.
    explicit FirstWords(std::vector<std::uint32_t> words, const FirstWordsLimits& limits = {})
        : words_(std::move(words)), limits_(limits) {}

    /// The word to ask next; nothing where the search is over.
    std::optional<std::uint32_t> question() const {
        const bool over = safe_.size() == limits_.wanted || asked_ == limits_.asked_max ||
                          asked_ == words_.size();
        return over ? std::nullopt : std::optional(words_[asked_]);
    }
    /// The answer: tokens of the word alone.
    void take(std::int64_t tokens) {
        if (tokens == 1) {
            safe_.push_back(words_[asked_]);
        }
        ++asked_;
    }

    /// Words that are one token there.
    const std::vector<std::uint32_t>& safe() const { return safe_; }
    std::uint32_t asked() const { return asked_; }

    /// Prompts need more than one first word.
    static constexpr std::uint32_t safe_min = 2;

  private:
    std::vector<std::uint32_t> words_;
    FirstWordsLimits limits_;
    std::uint32_t asked_ = 0;
    std::vector<std::uint32_t> safe_;
};

}  // namespace driftless
