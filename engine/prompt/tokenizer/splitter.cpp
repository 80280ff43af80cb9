#include "engine/prompt/tokenizer/splitter.hpp"

#include <algorithm>
#include <utility>

#include "engine/prompt/tokenizer/text.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

bool is_cut(SplitStep::Kind kind) {
    return kind <= SplitStep::Kind::white_space;
}

bool belongs(SplitStep::Kind kind, std::uint32_t code_point) {
    switch (kind) {
        case SplitStep::Kind::digits:
            return is_numeric(code_point);
        case SplitStep::Kind::punctuation:
            return is_punctuation(code_point);
        default:
            return is_white_space(code_point);
    }
}

}  // namespace

void Splitter::add(SplitStep step) {
    has_letters_ = has_letters_ || step.kind == SplitStep::Kind::letters;
    steps_.push_back(std::move(step));
}

void Splitter::run(std::string_view text, bool at_start, std::vector<std::string_view>& pieces) {
    text_ = text;
    spans_.assign(text.empty() ? 0 : 1, Span{0, text.size(), false});
    // Nobody looks at letters that are written last.
    const bool letters_last = !steps_.empty() && steps_.back().kind == SplitStep::Kind::letters;
    const std::size_t count = steps_.size() - (letters_last ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
        if (is_cut(steps_[i].kind)) {
            cut_all(steps_[i]);
        } else {
            change(steps_[i], at_start);
        }
    }
    if (has_letters_ && !letters_last) {
        letters_to_bytes();
    }
    for (const Span& span : spans_) {
        pieces.push_back(text_.substr(span.begin, span.end - span.begin));
    }
}

void Splitter::cut_all(SplitStep& step) {
    next_spans_.clear();
    for (const Span& piece : spans_) {
        found_.clear();
        find_matches(step, text_.substr(piece.begin, piece.end - piece.begin));
        if (step.invert) {
            for (Span& span : found_) {
                span.matched = !span.matched;
            }
        }
        cut(step, piece);
    }
    spans_.swap(next_spans_);
}

// Matches and what is between them, in order, covering the whole piece.
void Splitter::find_matches(SplitStep& step, std::string_view piece) {
    std::size_t done = 0;
    const auto add = [&](std::size_t begin, std::size_t end) {
        if (done < begin) {
            found_.push_back({done, begin, false});
        }
        found_.push_back({begin, end, true});
        done = end;
    };
    if (step.kind == SplitStep::Kind::pattern) {
        Pattern::Search search;
        while (const auto match = step.pattern.next(piece, search)) {
            add(match->begin, match->end);
        }
    } else {
        for (std::size_t at = 0; at < piece.size();) {
            const CodePoint point = first_code_point(piece.substr(at));
            if (belongs(step.kind, point.value)) {
                add(at, at + point.bytes);
            }
            at += point.bytes;
        }
    }
    if (done < piece.size()) {
        found_.push_back({done, piece.size(), false});
    }
    CHECK(found_.empty() ? piece.empty() : found_.back().end == piece.size());
}

// The five behaviours, as Hugging Face's NormalizedString::split defines them.
void Splitter::cut(const SplitStep& step, Span piece) {
    using Behavior = SplitStep::Behavior;
    const bool backwards = step.behavior == Behavior::merged_with_next;
    const std::size_t first = next_spans_.size();
    if (backwards) {
        std::reverse(found_.begin(), found_.end());
    }
    bool previous = false;
    for (const Span& span : found_) {
        const bool grows = next_spans_.size() > first &&
                           ((step.behavior == Behavior::contiguous && span.matched == previous) ||
                            ((backwards || step.behavior == Behavior::merged_with_previous) &&
                             span.matched && !previous));
        previous = span.matched;
        if (grows && backwards) {
            next_spans_.back().begin = piece.begin + span.begin;
        } else if (grows) {
            next_spans_.back().end = piece.begin + span.end;
        } else if (step.behavior != Behavior::removed || !span.matched) {
            next_spans_.push_back({piece.begin + span.begin, piece.begin + span.end, false});
        }
    }
    const auto begin = next_spans_.begin() + static_cast<std::ptrdiff_t>(first);
    if (backwards) {
        std::reverse(begin, next_spans_.end());
    }
    next_spans_.erase(
        std::remove_if(begin, next_spans_.end(), [](const Span& s) { return s.begin == s.end; }),
        next_spans_.end());
}

// Writes the text anew, piece by piece, with `write(out, piece, index)`.
template <typename Write>
void Splitter::rewrite(Write write) {
    newest_ = 1 - newest_;
    std::string& out = changed_[newest_];
    CHECK(text_.empty() || text_.data() != out.data());  // it is read while `out` is written
    out.clear();
    for (std::size_t i = 0; i < spans_.size(); ++i) {
        Span& span = spans_[i];
        const std::size_t begin = out.size();
        write(out, text_.substr(span.begin, span.end - span.begin), i);
        span = {begin, out.size(), false};
    }
    text_ = out;
}

void Splitter::change(const SplitStep& step, bool at_start) {
    if (step.kind == SplitStep::Kind::prefix_blank) {
        rewrite([](std::string& out, std::string_view piece, std::size_t) {
            if (!piece.starts_with(' ')) {
                out += ' ';
            }
            out += piece;
        });
        return;
    }
    if (step.kind == SplitStep::Kind::letters) {
        rewrite([](std::string& out, std::string_view piece, std::size_t) {
            append_letters(out, piece);
        });
        return;
    }
    rewrite([&](std::string& out, std::string_view piece, std::size_t index) {
        const bool wanted = step.prefix == SplitStep::Prefix::always ||
                            (step.prefix == SplitStep::Prefix::first && at_start && index == 0);
        if (wanted && !piece.starts_with(' ') && !piece.starts_with(step.mark)) {
            out += step.mark;
        }
        for (std::size_t at = 0; at < piece.size(); ++at) {
            if (piece[at] == ' ') {
                out += step.mark;
            } else {
                out += piece[at];
            }
        }
    });
}

void Splitter::letters_to_bytes() {
    rewrite([](std::string& out, std::string_view piece, std::size_t) {
        CHECK(append_bytes_of_letters(out, piece));
    });
}

}  // namespace driftless
