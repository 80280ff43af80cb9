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
#include <span>
#include <vector>

namespace driftless {

struct WordSearchLimits {
    std::uint32_t group_words_max = 4096;  ///< of one question
    std::uint32_t words_min = 256;         ///< fewer are of no use
    std::uint32_t questions_max = 1024;    ///< 100 bad words of 512 take about 450
    std::uint32_t orders_max = 8;
};

class WordSearch {
  public:
    enum class Verdict : std::uint8_t {
        searching,
        exact,    ///< every word is one token
        reduced,  ///< all but the dropped ones are
        too_few,  ///< fewer than `words_min` are left
        joins,    ///< every new order finds words that cost more or less beside others
        varies,   ///< the same question was answered in two ways
    };

    /// Over words 0 to `words` - 1.
    WordSearch(std::uint32_t words, const WordSearchLimits& limits);

    /// What to ask next, in this order; empty when the search is over. Valid until `take`.
    std::span<const std::uint32_t> question() const;
    /// The question is a whole order, or a piece of one, and no half of a bad group.
    bool is_whole() const { return verdict_ == Verdict::searching && asks_.back().split < 0; }
    /// The answer: tokens of all its words together.
    void take(std::int64_t tokens);

    Verdict verdict() const { return verdict_; }
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

    void begin_order();
    void end_order();
    void settle(const Ask& ask, std::int64_t excess);
    void check_cut(const Ask& ask, std::int64_t excess);
    void drop(std::uint32_t begin, std::uint32_t end);

    WordSearchLimits limits_;
    Verdict verdict_ = Verdict::searching;
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

}  // namespace driftless
