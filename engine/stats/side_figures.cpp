#include "engine/stats/side_figures.hpp"

namespace driftless {

namespace {

std::uint64_t count_of(const std::optional<std::int64_t>& tokens) {
    return tokens.value_or(0) > 0 ? static_cast<std::uint64_t>(*tokens) : 0;
}

}  // namespace

void BySide::add(const Record& record) {
    if (record.side == Side::none || record.phase == Phase::warmup) {
        return;
    }
    add_one(record.side == Side::a ? a_ : b_, record);
    add_pair(record);
}

void BySide::add_one(One& one, const Record& record) {
    OneSideFigures& figures = one.figures;
    ++figures.requests;
    if (figures.url.empty()) {
        figures.url = record.url;
    }
    figures.completed += record.outcome == Outcome::ok ? 1 : 0;
    figures.failed += is_failure(record.outcome) && !record.censored ? 1 : 0;
    if (counts_ttft(record.outcome) && record.ttft_ns) {
        one.ttft.add(static_cast<double>(*record.ttft_ns));
    }
    if (record.outcome == Outcome::ok && record.tpot_ns) {
        one.tpot.add(*record.tpot_ns);
    }
    if (record.outcome == Outcome::ok && record.e2e_ns) {
        one.e2e.add(static_cast<double>(*record.e2e_ns));
    }
    if (record.drift_ns && !is_wish(record.late_cause)) {
        one.drift.add(static_cast<double>(*record.drift_ns));
    }
    if (record.cached_tokens) {
        ++figures.cache_rows;
        figures.cache_rows_unforetold += record.expected_cached_tokens ? 0 : 1;
        figures.expected_cached_tokens += count_of(record.expected_cached_tokens);
        figures.cached_tokens += count_of(record.cached_tokens);
    }
}

void BySide::add_pair(const Record& record) {
    Half own;
    own.fired_ns = record.fired_ns.value_or(0);
    if (counts_ttft(record.outcome) && record.fired_ns) {
        own.ttft_ns = record.ttft_ns;
    }
    const auto [other, is_first] = waiting_.try_emplace(record.row, own);
    if (is_first) {
        return;
    }
    const Half& a = record.side == Side::a ? own : other->second;
    const Half& b = record.side == Side::a ? other->second : own;
    if (a.ttft_ns && b.ttft_ns) {
        const auto difference = static_cast<double>(*b.ttft_ns - *a.ttft_ns);
        differences_.add(difference);
        (a.fired_ns <= b.fired_ns ? a_first_ : b_first_).add(difference);
    } else {
        ++unpaired_;
    }
    waiting_.erase(other);
}

std::optional<SideFigures> BySide::figures() const {
    if (a_.figures.requests + b_.figures.requests == 0) {
        return std::nullopt;
    }
    const auto of = [](const One& one) {
        OneSideFigures figures = one.figures;
        figures.ttft = one.ttft.distribution();
        figures.tpot = one.tpot.distribution();
        figures.e2e = one.e2e.distribution();
        figures.drift = one.drift.distribution();
        return figures;
    };
    SideFigures sides{of(a_), of(b_), {}};
    sides.pairs = {differences_.distribution(), a_first_.distribution(), b_first_.distribution(),
                   unpaired_ + waiting_.size()};
    return sides;
}

}  // namespace driftless
