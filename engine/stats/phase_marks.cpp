#include "engine/stats/phase_marks.hpp"

#include <algorithm>
#include <array>

#include "proto/core/hash.hpp"
#include "proto/core/letter_case.hpp"

namespace driftless {

namespace {

/// src/aiperf/common/scenario/context_overflow.py.
constexpr std::array<std::string_view, 4> overflow_words{
    "context length", "maximum context", "context_length_exceeded", "prompt is too long"};

bool holds_ignoring_case(std::string_view text, std::string_view part) {
    for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
        if (equal_ignoring_case(text.substr(at, part.size()), part)) {
            return true;
        }
    }
    return false;
}

void keep_last(OptionalNs& last, const OptionalNs& instant) {
    if (instant) {
        last = std::max(last.value_or(*instant), *instant);
    }
}

std::uint64_t tokens_of(std::int64_t count) {
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace

bool is_context_overflow(std::string_view error) {
    return std::any_of(
        overflow_words.begin(), overflow_words.end(),
        [error](std::string_view words) { return holds_ignoring_case(error, words); });
}

void PhaseMarks::add(const Record& record) {
    if (record.fired_ns) {
        add_first(record);
    }
    if (record.phase == Phase::warmup) {
        return;
    }
    keep_last(figures_.last_first_token_ns, record.first_token_ns);
    keep_last(figures_.last_token_ns, record.last_token_ns);
    figures_.context_overflows += record.error && is_context_overflow(*record.error) ? 1 : 0;
    if (record.user && record.fired_ns) {
        users_.resize(std::max<std::size_t>(users_.size(), *record.user + std::size_t{1}));
        users_[*record.user] = true;
    }
}

void PhaseMarks::add_first(const Record& record) {
    if (!record.tree) {
        return;
    }
    Digest key;
    key.add(*record.tree);
    key.add_u64(record.pass);
    if (record.user) {
        of_users_.resize(std::max<std::size_t>(of_users_.size(), *record.user + std::size_t{1}));
    }
    First& first = record.user ? of_users_[*record.user] : first_[key.value()];
    if (first.is_known && first.tree != key.value()) {
        add_tree(first, figures_.first_turns);
        first = {};
    }
    if (first.is_known && first.request <= record.request) {
        return;
    }
    first.is_known = true;
    first.tree = key.value();
    first.request = record.request;
    first.input = record.input_length.value_or(0);
    first.cached = record.cached_tokens;
    first.expected = record.expected_cached_server ? record.expected_cached_server
                                                   : record.expected_cached_tokens;
}

void PhaseMarks::add_tree(const First& first, FirstTurnFigures& turns) {
    turns.trees += first.is_known ? 1 : 0;
    if (first.cached) {
        ++turns.reported;
        turns.input_tokens += first.input;
        turns.cached_tokens += tokens_of(*first.cached);
        turns.expected_tokens += tokens_of(first.expected.value_or(0));
        turns.unforetold += first.expected ? 0 : 1;
    }
}

PhaseFigures PhaseMarks::figures() const {
    PhaseFigures figures = figures_;
    figures.users = static_cast<std::uint64_t>(std::count(users_.begin(), users_.end(), true));
    for (const First& first : of_users_) {
        add_tree(first, figures.first_turns);
    }
    for (const auto& [tree, first] : first_) {
        add_tree(first, figures.first_turns);
    }
    return figures;
}

}  // namespace driftless
