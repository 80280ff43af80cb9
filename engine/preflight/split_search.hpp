/// SplitSearch: how many template tokens stand in front of a prompt, and how large the server's
/// cache blocks are, found from cached-token counts.
///
/// Prompts that share their first n words and differ behind them share `pre + n` tokens, of which
/// the server holds whole blocks: floor((pre + n) / block) x block. That count rises where `pre +
/// n` is a multiple of the block, and there it equals `pre + n`. So the smallest n at which the
/// count reaches a value c tells `pre` = c - n, whatever the block is (design, section 3; it stands
/// in for a tokenize endpoint, token-exact.md, section 9).
///
/// Pure: no server, no clock. A question is a number of shared words, the answer a count of cached
/// tokens. A hit cannot be an accident, a miss can (another worker, an evicted block): the miss on
/// which the answer rests is asked again. Bounded: about 2 + log2(overhead) questions and the
/// repetitions.
#pragma once

#include <cstdint>
#include <optional>

namespace driftless {

class SplitSearch {
  public:
    enum class Verdict : std::uint8_t {
        searching,
        found,
        no_hits,  ///< no block of so many words was cached, or none was reported
        varies,   ///< the counts contradict each other
    };

    /// Up to `words` words are shared; `pre` lies between the two, both included.
    SplitSearch(std::uint32_t words, std::uint32_t pre_min, std::uint32_t pre_max);

    /// Words to share in the next prompt; none when the search is over.
    std::optional<std::uint32_t> question() const;
    /// The cached tokens of that prompt; -1 where the server reported none.
    void take(std::int64_t cached);

    Verdict verdict() const { return verdict_; }
    /// After `found`.
    std::uint32_t pre() const { return static_cast<std::uint32_t>(target_ - hit_); }
    std::uint32_t block() const { return static_cast<std::uint32_t>(target_ - missed_count_); }

  private:
    enum class Step : std::uint8_t { whole, top, bottom, middle, again };

    void take_whole(std::int64_t cached);
    void go_on();

    std::uint32_t words_;
    std::int64_t pre_min_;
    std::int64_t pre_max_;
    Verdict verdict_ = Verdict::searching;
    Step step_ = Step::whole;
    std::uint32_t asked_ = 0;        ///< of this step, without an answer that helps
    std::int64_t target_ = 0;        ///< cached tokens of the longest shared part
    std::int64_t hit_ = 0;           ///< words at which the target was reached
    std::int64_t missed_ = 0;        ///< words at which it was not
    std::int64_t missed_count_ = 0;  ///< cached tokens there
    std::int64_t partial_ = 0;       ///< largest count below the target that was seen
};

}  // namespace driftless
