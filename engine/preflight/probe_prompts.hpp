/// ProbePrompts: prompts of a preflight, made of the words of one table. Each begins with the
/// opener, a word that is believed to be one token at the beginning of a prompt. Pure: asks
/// nothing. Owned by the preflight; the table outlives it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/prompt/vocab.hpp"

namespace driftless {

class ProbePrompts {
  public:
    explicit ProbePrompts(const WordTable& words) : words_(words) {}

    /// Index of the word that opens prompts; the first of the table until another is set.
    std::uint32_t opener() const { return opener_; }
    void open_with(std::uint32_t word) { opener_ = word; }

    /// The opener, then these words, by their indices.
    std::string prompt_of(std::span<const std::uint32_t> words) const;
    /// The opener alone.
    std::string one_word() const { return std::string(words_.word(opener_)); }
    /// Indices of the table's words without these, which are in ascending order.
    std::vector<std::uint32_t> words_without(std::span<const std::uint32_t> dropped) const;

  private:
    const WordTable& words_;
    std::uint32_t opener_ = 0;
};

}  // namespace driftless
