#include "engine/stats/prompt_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "proto/core/check.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// From here on, a correlation of length and difference explains half of the variance or more.
constexpr double correlation_min = 0.7071;
/// Below, a count is nearly the same for prompts of every length: no tokenizer does that.
constexpr double uncounted_slope = -0.99;

}  // namespace

const char* name_of(PromptCause cause) {
    switch (cause) {
        case PromptCause::none:
            return "none";
        case PromptCause::overhead:
            return "overhead";
        case PromptCause::words:
            return "words";
        case PromptCause::short_rows:
            return "short_rows";
        case PromptCause::mixed:
            return "mixed";
        case PromptCause::recorded_text:
            return "recorded_text";
    }
    return "unknown";
}

// A row that was sent without a forecast of its hits is recorded text.
void PromptCounts::add(const Record& record) {
    if (record.input_length && record.fired_ns) {
        add(*record.input_length, record.prompt_tokens, !record.expected_cached_tokens);
        sums_.lost += !record.prompt_tokens && lost_in_client(record) ? 1 : 0;
    }
}

void PromptCounts::add(std::uint32_t input_length, std::optional<std::int64_t> counted,
                       bool is_recorded_text) {
    if (!counted.has_value()) {
        ++sums_.unknown;
        return;
    }
    const std::int64_t off = *counted - std::int64_t{input_length};
    ++(off == 0 ? sums_.exact : sums_.off);
    if (std::abs(off) > std::abs(sums_.largest_off)) {
        sums_.largest_off = off;
    }
    if (is_recorded_text && off != 0) {
        text_off_min_ = sums_.text_off == 0 ? off : std::min(text_off_min_, off);
        text_off_max_ = sums_.text_off == 0 ? off : std::max(text_off_max_, off);
        ++sums_.text_off;
    } else if (is_recorded_text) {
        return;
    } else if (input_length > std::uint64_t{overhead_.pre} + overhead_.post) {
        add_long(input_length, off);
    } else {
        sums_.short_off += off == 0 ? 0 : 1;
    }
}

void PromptCounts::add_long(std::int64_t length, std::int64_t off) {
    off_min_ = rows_ == 0 ? off : std::min(off_min_, off);
    off_max_ = rows_ == 0 ? off : std::max(off_max_, off);
    ++rows_;
    rows_off_ += off == 0 ? 0 : 1;
    CHECK(rows_off_ <= rows_ && rows_off_ + sums_.text_off <= sums_.off);
    const double count = static_cast<double>(rows_);
    const double length_step = static_cast<double>(length) - mean_length_;
    const double off_step = static_cast<double>(off) - mean_off_;
    mean_length_ += length_step / count;
    mean_off_ += off_step / count;
    length_length_ += length_step * (static_cast<double>(length) - mean_length_);
    off_off_ += off_step * (static_cast<double>(off) - mean_off_);
    length_off_ += length_step * (static_cast<double>(off) - mean_off_);
}

double PromptCounts::slope() const {
    return length_length_ > 0 ? length_off_ / length_length_ : 0;
}

bool PromptCounts::grows() const {
    return std::abs(length_off_) > correlation_min * std::sqrt(length_length_ * off_off_) &&
           length_off_ != 0;
}

PromptCause PromptCounts::cause() const {
    if (sums_.off == 0) {
        return PromptCause::none;
    }
    if (sums_.text_off == sums_.off) {
        return PromptCause::recorded_text;
    }
    if (rows_off_ == 0) {
        return PromptCause::short_rows;
    }
    const std::int64_t assumed = std::int64_t{overhead_.pre} + overhead_.post;
    if (off_min_ == off_max_ && assumed + off_min_ >= 0) {
        return PromptCause::overhead;
    }
    // A template cannot take tokens away.
    return grows() || off_min_ == off_max_ ? PromptCause::words : PromptCause::mixed;
}

std::string PromptCounts::explain(PromptCause cause) const {
    const std::int64_t assumed = std::int64_t{overhead_.pre} + overhead_.post;
    char text[320] = "";
    switch (cause) {
        case PromptCause::none:
            break;
        case PromptCause::overhead: {
            const std::int64_t whole = assumed + off_min_;
            CHECK(whole >= 0);
            const std::int64_t post = std::min<std::int64_t>(overhead_.post, whole);
            std::snprintf(text, sizeof(text),
                          "the server adds %lld tokens to a prompt, not %lld as assumed: "
                          "--overhead %lld,%lld corrects it",
                          static_cast<long long>(whole), static_cast<long long>(assumed),
                          static_cast<long long>(whole - post), static_cast<long long>(post));
            break;
        }
        case PromptCause::words:
            if (off_min_ == off_max_) {
                std::snprintf(
                    text, sizeof(text),
                    "the server counts %s fewer than were sent in every prompt: it leaves "
                    "some out, or several words are one token there; use the model's "
                    "--tokenizer, or --prompt ids",
                    counted(static_cast<std::uint64_t>(-off_min_), "token", "tokens").c_str());
                break;
            }
            if (slope() < uncounted_slope) {
                return "the server reports about as many tokens for a long prompt as for a short "
                       "one: it does not count them";
            }
            std::snprintf(
                text, sizeof(text),
                "the difference grows with the length (%+.*f tokens per 1,000): not every word is "
                "one token there; use the model's --tokenizer, or --prompt ids",
                std::abs(1000 * slope()) < 1     ? 3
                : std::abs(1000 * slope()) < 100 ? 1
                                                 : 0,
                1000 * slope());
            break;
        case PromptCause::short_rows:
            std::snprintf(text, sizeof(text),
                          "%s recorded as shorter than the %lld tokens that the server adds to "
                          "every prompt, and cannot be made that short",
                          counted(sums_.short_off, "row", "rows").c_str(),
                          static_cast<long long>(assumed));
            break;
        case PromptCause::recorded_text:
            std::snprintf(text, sizeof(text),
                          "recorded text is sent as it is, and the server, with its template, "
                          "counts %+lld to %+lld tokens beside what was recorded",
                          static_cast<long long>(text_off_min_),
                          static_cast<long long>(text_off_max_));
            break;
        case PromptCause::mixed:
            std::snprintf(text, sizeof(text),
                          "the differences (%+lld to %+lld tokens, %s) neither agree nor grow with "
                          "the length: the server may truncate prompts or change its template",
                          static_cast<long long>(off_min_), static_cast<long long>(off_max_),
                          counted(rows_off_, "row", "rows").c_str());
            break;
    }
    return text;
}

PromptFigures PromptCounts::figures() const {
    PromptFigures figures = sums_;
    figures.cause = cause();
    figures.explanation = explain(figures.cause);
    return figures;
}

}  // namespace driftless
