#include "cmd/report/steady_run.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

template <typename Value>
void add_known(Sample& sample, const std::optional<Value>& value) {
    if (value) {
        sample.add(static_cast<double>(*value));
    }
}

/// Output tokens of which the stamps lie in [begin, end): by chunk where their tokens are known,
/// else each chunk has an equal part of the answer's.
double tokens_within(const Record& record, std::int64_t begin, std::int64_t end) {
    if (!record.fired_ns || record.chunk_ns.empty()) {
        const bool inside =
            record.last_token_ns && *record.last_token_ns >= begin && *record.last_token_ns < end;
        return inside ? static_cast<double>(record.output_tokens.value_or(0)) : 0;
    }
    const double each = static_cast<double>(record.output_tokens.value_or(0)) /
                        static_cast<double>(record.chunk_ns.size());
    double tokens = 0;
    for (std::size_t i = 0; i < record.chunk_ns.size(); ++i) {
        const std::int64_t at = *record.fired_ns + record.chunk_ns[i];
        if (at >= begin && at < end) {
            tokens += record.chunk_tokens_known ? record.chunk_tokens[i] : each;
        }
    }
    return tokens;
}

}  // namespace

bool SteadyRun::Side::cuts(const Answer& answer) const {
    if (!answer.is_whole) {
        return false;
    }
    const std::int64_t ended = answer.ended_ns.value_or(std::numeric_limits<std::int64_t>::max());
    const bool is_inside = holds(answer.fired_ns) && holds(ended);
    const bool is_outside = ended < begin_ns || answer.fired_ns >= end_ns;
    return !is_inside && !is_outside;
}

/// But for the tokens of what it cuts.
void SteadyRun::Side::add(const Answer& answer) {
    const bool ended = answer.ended_ns && holds(*answer.ended_ns);
    answered += ended && answer.is_whole ? 1 : 0;
    if (!holds(answer.fired_ns)) {
        return;
    }
    ++requests;
    if (answer.has_ttft) {
        add_known(ttft, answer.ttft_ns);
        add_known(ttft_due, answer.ttft_due_ns);
    }
    if (answer.is_ok) {
        add_known(tpot, answer.tpot_ns);
        add_known(e2e, answer.e2e_ns);
    }
}

SteadySide SteadyRun::Side::figures() const {
    SteadySide side;
    side.requests = requests;
    side.seconds = in_s(end_ns - begin_ns);
    side.requests_per_s = ratio(static_cast<double>(answered), side.seconds);
    side.tokens_per_s = is_counted ? std::optional(ratio(tokens, side.seconds)) : std::nullopt;
    side.ttft = ttft.distribution();
    side.ttft_due = ttft_due.distribution();
    side.tpot = tpot.distribution();
    side.e2e = e2e.distribution();
    return side;
}

void SteadyRun::add(const Record& record) {
    const std::uint32_t place = added_++;
    if (record.phase != Phase::profile || !record.fired_ns) {
        return;
    }
    Answer answer;
    answer.place = place;
    answer.is_ok = record.outcome == Outcome::ok;
    answer.is_whole = is_whole(record.outcome);
    answer.has_ttft = counts_ttft(record.outcome);
    answer.fired_ns = *record.fired_ns;
    answer.ended_ns = record.ended_ns;
    answer.ttft_ns = record.ttft_ns;
    answer.ttft_due_ns = record.ttft_due_ns;
    answer.tpot_ns = record.tpot_ns;
    answer.e2e_ns = record.e2e_ns;
    if (counts_output(record)) {
        answer.tokens = static_cast<double>(*record.output_tokens);
    }
    answers_.push_back(answer);
}

std::vector<std::uint32_t> SteadyRun::find() {
    std::vector<SteadyRow> rows;
    for (const Answer& one : answers_) {
        if (one.ended_ns) {
            rows.push_back({one.fired_ns, *one.ended_ns, one.ttft_ns});
        }
    }
    state_ = find_steady_state(std::move(rows));
    whole_.begin_ns = state_.first_ns;
    whole_.end_ns = state_.last_ns + 1;
    window_.begin_ns = state_.begin_ns;
    window_.end_ns = state_.end_ns;
    std::vector<std::uint32_t> again;
    for (const Answer& one : answers_) {
        const bool is_cut = whole_.cuts(one) || window_.cuts(one);
        for (Side* side : {&whole_, &window_}) {
            side->add(one);
            const bool is_of_it = one.is_whole && (side->cuts(one) || side->holds(one.fired_ns));
            side->is_counted = side->is_counted && (!is_of_it || one.tokens);
            side->tokens += is_of_it && !is_cut ? one.tokens.value_or(0) : 0;
        }
        if (is_cut) {
            again.push_back(one.place);
        }
    }
    return again;
}

void SteadyRun::add_again(const Record& record) {
    for (Side* side : {&whole_, &window_}) {
        side->tokens += tokens_within(record, side->begin_ns, side->end_ns);
    }
}

SteadyReading SteadyRun::reading() const {
    return {state_, whole_.figures(), window_.figures()};
}

}  // namespace driftless
