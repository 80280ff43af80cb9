#include "engine/preflight/split_search.hpp"

#include <algorithm>

namespace driftless {

namespace {

/// The first prompt may still be on its way into the cache, or its index: asked so often.
constexpr std::uint32_t whole_tries = 3;
/// A miss below which some block was a hit is asked twice, one without any hit three times.
constexpr std::uint32_t tries_partial = 1;
constexpr std::uint32_t tries_nothing = 2;

}  // namespace

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
                verdict_ = Verdict::varies;
                return;
            }
            step_ = Step::bottom;
            return;
        case Step::bottom:  // and no more than the most
            if (is_hit) {
                verdict_ = Verdict::varies;
                return;
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
                verdict_ = Verdict::varies;
                return;
            }
            break;
        }
        case Step::again:
            if (count != missed_count_) {
                verdict_ = Verdict::varies;
                return;
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
        verdict_ = Verdict::varies;
        return;
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
        verdict_ = Verdict::varies;  // a longer shared part that was hit less than a shorter one
        return;
    }
    step_ = Step::again;
    const std::uint32_t tries = missed_count_ > 0 ? tries_partial : tries_nothing;
    verdict_ = asked_ < tries ? Verdict::searching : Verdict::found;
}

}  // namespace driftless
