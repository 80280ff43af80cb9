/// WordSearch: which words of a table a server counts as one token each, found by counting groups.
///
/// A question is a list of words, sent as one prompt behind a word that is known to cost one token;
/// the answer is how many tokens the list cost. All words are asked in one question, or in as few
/// as fit the server's context. What costs more than it should is halved until the guilty words
/// stand alone; they are dropped. What is left is asked again in another order, until two orders in
/// a row leave nothing to complain about: words that join their neighbour make a question cheaper
/// and could hide a word that is split.
///
/// Pure: no server, no clock; the questions depend on the answers and nothing else. Bounded: after
/// `questions_max` questions a bad group is dropped whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "proto/core/names.hpp"

namespace driftless {

/// What came of the words.
enum class WordVerdict : std::uint8_t {
    not_asked,  ///< nothing yet: not asked, or not to the end
    exact,      ///< every word is one token
    reduced,    ///< all but the dropped ones are
    too_few,    ///< fewer than `words_min` are left
    joins,      ///< every new order finds words that cost more or less beside others
    varies,     ///< the same question was answered in two ways
    no_first,   ///< no two words are one token each at the beginning of a prompt (FirstWords)
};
template <>
inline constexpr auto closed_list<WordVerdict> =
    name_list("not_asked", "exact", "reduced", "too_few", "joins", "varies", "no_first");

struct WordSearchLimits {
    std::uint32_t group_words_max = 4096;  ///< of one question
    std::uint32_t words_min = 256;         ///< fewer are of no use
    std::uint32_t questions_max = 1024;    ///< 100 bad words of 512 take about 450
    std::uint32_t orders_max = 8;
};

class WordSearch {
  public:
    /// Over words 0 to `words` - 1.
    WordSearch(std::uint32_t words, const WordSearchLimits& limits);

    /// What to ask next, in this order; empty when the search is over. Valid until `take`.
    std::span<const std::uint32_t> question() const;
    /// The question is a whole order, or a piece of one, and no half of a bad group.
    bool is_whole() const { return is_searching() && asks_.back().split < 0; }
    /// The answer: tokens of all its words together.
    void take(std::int64_t tokens);

    WordVerdict verdict() const { return verdict_; }
    /// In ascending order.
    std::vector<std::uint32_t> dropped() const;
    std::uint32_t questions() const { return questions_; }
    /// Places where a word and its neighbour cost less than both alone.
    std::uint32_t joins() const { return joins_; }
    /// Words and tokens of the first order.
    std::int64_t first_words() const { return first_words_; }
    std::int64_t first_tokens() const { return first_tokens_; }

  private:
    /// A range of the current order that is still to be asked.
    struct Ask {
        std::uint32_t begin;
        std::uint32_t end;
        std::int32_t split;  ///< the group that it is a half of; -1: none
        bool right;
    };
    struct Split {
        std::uint32_t middle;
        std::int64_t excess;
        std::int64_t left;  ///< the left half's excess
    };

    bool is_searching() const { return verdict_ == WordVerdict::not_asked; }
    void begin_order();
    void end_order();
    void settle(const Ask& ask, std::int64_t excess);
    void check_cut(const Ask& ask, std::int64_t excess);
    void drop(std::uint32_t begin, std::uint32_t end);

    WordSearchLimits limits_;
    WordVerdict verdict_ = WordVerdict::not_asked;
    std::vector<std::uint32_t> order_;
    std::vector<bool> is_dropped_;
    std::uint32_t kept_;
    std::vector<Ask> asks_;  ///< a stack: the last one is next
    std::vector<Split> splits_;
    std::uint32_t orders_ = 0;        ///< begun
    std::uint32_t clean_orders_ = 0;  ///< in a row
    bool order_clean_ = true;
    std::uint32_t questions_ = 0;
    std::uint32_t joins_ = 0;
    bool doubted_ = false;   ///< the question has been answered with `doubt_` and is asked again
    bool believed_ = false;  ///< once is enough
    std::int64_t doubt_ = 0;
    std::int64_t first_words_ = 0;
    std::int64_t first_tokens_ = 0;
};

// FirstWords: which words a server counts as one token at the very beginning of a prompt.
//
// Nothing is in front of a prompt's first word, not even a blank, and a word that is one token
// behind a blank may be two without it. Whether it is depends on the vocabulary and on what the
// template puts before it. So words are asked one at a time, each as a whole prompt, in their
// order, until enough are known to be one token there. Only those open prompts then.
//
// Pure: no server, no clock. Bounded: at most `asked_max` questions.

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

/// SplitSearch: how many template tokens are in front of a prompt, and how large the server's
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

    void vary() { verdict_ = Verdict::varies; }
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
