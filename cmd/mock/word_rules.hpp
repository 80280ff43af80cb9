/// WordRules: what a pretended tokenizer does with words besides counting each as one token.
///
/// Filled before serving, from the command line or a test; then only asked. Words are known by
/// their numbers (prompt_count.hpp), so that asking costs no text.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace driftless::mock {

class WordRules {
  public:
    /// The word costs two tokens, wherever it stands.
    void split(std::string_view word);
    /// The word costs two tokens as the first of a prompt, without a blank in front.
    void split_first(std::string_view word);
    /// Every word does, wherever it stands.
    void split_all() { all_ = true; }
    /// Side by side, the two words are one token.
    void join(std::string_view first, std::string_view second);

    bool empty() const {
        return !all_ && split_.empty() && split_first_.empty() && joined_.empty();
    }
    bool splits(std::uint64_t word) const;
    bool splits_first(std::uint64_t word) const { return split_first_.contains(word); }
    bool joins(std::uint64_t first, std::uint64_t second) const;

  private:
    bool all_ = false;
    std::set<std::uint64_t> split_;
    std::set<std::uint64_t> split_first_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> joined_;
};

}  // namespace driftless::mock
