#include "engine/server/word_search.hpp"

#include <algorithm>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

WordSearch::WordSearch(std::uint32_t words, const WordSearchLimits& limits)
    : limits_(limits), is_dropped_(words, false), kept_(words) {
    CHECK(words > 0 && limits.group_words_max > 0);
    begin_order();
}

/// The words that are left, shuffled under a seed of this order, in pieces that can be asked.
void WordSearch::begin_order() {
    order_.clear();
    for (std::uint32_t word = 0; word < is_dropped_.size(); ++word) {
        if (!is_dropped_[word]) {
            order_.push_back(word);
        }
    }
    Random random(++orders_);
    for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[random.below(i)]);
    }
    splits_.clear();
    order_clean_ = true;
    const auto size = static_cast<std::uint32_t>(order_.size());
    for (std::uint32_t begin = 0; begin < size; begin += limits_.group_words_max) {
        asks_.push_back({begin, std::min(size, begin + limits_.group_words_max), -1, false});
    }
}

void WordSearch::end_order() {
    clean_orders_ = order_clean_ ? clean_orders_ + 1 : 0;
    if (clean_orders_ == 2) {
        verdict_ = kept_ == is_dropped_.size() ? WordVerdict::exact : WordVerdict::reduced;
    } else if (orders_ == limits_.orders_max) {
        verdict_ = WordVerdict::joins;
    } else {
        begin_order();
    }
}

std::span<const std::uint32_t> WordSearch::question() const {
    if (!is_searching()) {
        return {};
    }
    const Ask& ask = asks_.back();
    return std::span(order_).subspan(ask.begin, ask.end - ask.begin);
}

std::vector<std::uint32_t> WordSearch::dropped() const {
    std::vector<std::uint32_t> words;
    for (std::uint32_t word = 0; word < is_dropped_.size(); ++word) {
        if (is_dropped_[word]) {
            words.push_back(word);
        }
    }
    return words;
}

void WordSearch::take(std::int64_t tokens) {
    CHECK(is_searching());
    ++questions_;
    const Ask ask = asks_.back();
    const std::int64_t excess = tokens - (std::int64_t{ask.end} - ask.begin);
    if (excess != 0 && !believed_ && !doubted_) {
        doubted_ = true;  // before a search begins: is it the words, or does the server waver?
        doubt_ = excess;
        return;
    }
    if (doubted_ && excess != doubt_) {
        verdict_ = WordVerdict::varies;
        return;
    }
    believed_ = believed_ || doubted_;
    doubted_ = false;
    asks_.pop_back();
    if (orders_ == 1 && ask.split < 0) {
        first_words_ += ask.end - ask.begin;
        first_tokens_ += tokens;
    }
    settle(ask, excess);
    if (kept_ < limits_.words_min) {
        verdict_ = WordVerdict::too_few;
    } else if (asks_.empty()) {
        end_order();
    }
}

void WordSearch::settle(const Ask& ask, std::int64_t excess) {
    if (ask.split >= 0) {
        check_cut(ask, excess);
    }
    if (excess == 0) {
        return;
    }
    order_clean_ = false;
    if (ask.end - ask.begin == 1 || questions_ >= limits_.questions_max) {
        joins_ += excess < 0 ? 1 : 0;
        drop(ask.begin, ask.end);
        return;
    }
    const std::uint32_t middle = ask.begin + (ask.end - ask.begin) / 2;
    const auto split = static_cast<std::int32_t>(splits_.size());
    splits_.push_back({middle, excess, 0});
    asks_.push_back({middle, ask.end, split, true});
    asks_.push_back({ask.begin, middle, split, false});
}

/// Two halves that cost more or less than the whole did: the words at the cut do something to each
/// other, and one of them goes.
void WordSearch::check_cut(const Ask& ask, std::int64_t excess) {
    Split& split = splits_[static_cast<std::size_t>(ask.split)];
    if (!ask.right) {
        split.left = excess;
    } else if (split.left + excess != split.excess) {
        joins_ += split.excess < split.left + excess ? 1 : 0;
        drop(split.middle, split.middle + 1);
    }
}

void WordSearch::drop(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
        kept_ -= is_dropped_[order_[i]] ? 0 : 1;
        is_dropped_[order_[i]] = true;
    }
}

/// The first prompt may still be on its way into the cache, or its index: asked so often.
static constexpr std::uint32_t whole_tries = 3;
/// A miss below which some block was a hit is asked twice, one without any hit three times.
static constexpr std::uint32_t tries_partial = 1;
static constexpr std::uint32_t tries_nothing = 2;

SplitSearch::SplitSearch(std::uint32_t words, std::uint32_t pre_min, std::uint32_t pre_max)
    : words_(words), pre_min_(pre_min), pre_max_(pre_max) {}

std::optional<std::uint32_t> SplitSearch::question() const {
    if (verdict_ != Verdict::searching) {
        return std::nullopt;
    }
    switch (step_) {
        case Step::whole:
            return words_;
        case Step::top:
            return static_cast<std::uint32_t>(hit_);
        case Step::bottom:
        case Step::again:
            return static_cast<std::uint32_t>(missed_);
        case Step::middle:
            break;
    }
    return static_cast<std::uint32_t>(missed_ + (hit_ - missed_) / 2);
}

void SplitSearch::take(std::int64_t cached) {
    const std::int64_t count = std::max<std::int64_t>(cached, 0);
    const bool is_hit = count >= target_;
    if (step_ != Step::whole && !is_hit) {
        partial_ = std::max(partial_, count);
    }
    switch (step_) {
        case Step::whole:
            take_whole(count);
            return;
        case Step::top:  // `pre` is no less than the least
            if (count != target_) {
                return vary();
            }
            step_ = Step::bottom;
            return;
        case Step::bottom:  // and no more than the most
            if (is_hit) {
                return vary();
            }
            missed_count_ = count;
            break;
        case Step::middle: {
            const std::int64_t asked = *question();
            if (is_hit) {
                hit_ = asked;
            } else {
                missed_ = asked;
                missed_count_ = count;
            }
            if (count > target_) {
                return vary();
            }
            break;
        }
        case Step::again:
            if (count != missed_count_) {
                return vary();
            }
            ++asked_;
            break;
    }
    go_on();
}

void SplitSearch::take_whole(std::int64_t count) {
    // At least one word of the shared part is known to lie in the block that was hit last.
    if (count <= pre_max_ + 1) {
        verdict_ = ++asked_ < whole_tries ? Verdict::searching : Verdict::no_hits;
        return;
    }
    asked_ = 0;
    target_ = count;
    hit_ = count - pre_min_;
    missed_ = count - pre_max_ - 1;
    if (missed_ >= std::int64_t{words_}) {  // more than was shared
        return vary();
    }
    step_ = Step::top;
    if (hit_ >= std::int64_t{words_}) {
        hit_ = words_;
        step_ = Step::bottom;
    }
}

void SplitSearch::go_on() {
    if (hit_ - missed_ > 1) {
        step_ = Step::middle;
        return;
    }
    const std::int64_t block = target_ - missed_count_;
    if (missed_count_ < partial_ || target_ % block != 0) {
        return vary();  // a longer shared part was hit less than a shorter one
    }
    step_ = Step::again;
    const std::uint32_t tries = missed_count_ > 0 ? tries_partial : tries_nothing;
    verdict_ = asked_ < tries ? Verdict::searching : Verdict::found;
}

}  // namespace driftless
