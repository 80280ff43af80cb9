#include "engine/record/row_outcome.hpp"

#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The outcome of a status, or ok where the status is 200.
Outcome outcome_of_status(int status) {
    if (status == 200) {
        return Outcome::ok;
    }
    if (status == 429) {
        return Outcome::http_429;
    }
    switch (status / 100) {
        case 2:
            return Outcome::bad_content;
        case 3:
            return Outcome::http_3xx;
        case 4:
            return Outcome::http_4xx;
        case 5:
            return Outcome::http_5xx;
        default:
            return Outcome::bad_http;
    }
}

/// The outcome of a whole answer, by its length.
Outcome outcome_of_length(const Record& record, const AssemblerConfig& config) {
    if (config.output != OutputRule::exact || !counts_output(record) || !record.output_length) {
        return Outcome::ok;
    }
    const std::int64_t asked = *record.output_length;
    return *record.output_tokens < asked   ? Outcome::short_output
           : *record.output_tokens > asked ? Outcome::long_output
                                           : Outcome::ok;
}

/// The outcome of a stream whose framing is complete.
Outcome outcome_of_stream(const Record& record, const RowState& state, const EndInfo& end,
                          const AssemblerConfig& config) {
    CHECK(state.body == BodyKind::stream && end.outcome == Outcome::ok);
    const AnswerState& answer = state.answer;
    const bool lost = lost_bytes(state, end);
    // More tokens than events may come were not asked for.
    if (answer.over_limit ||
        std::cmp_greater(record.output_tokens.value_or(0), limits_of(state, config).events_max)) {
        return Outcome::limit_exceeded;
    }
    if (answer.bad_seen && !lost) {
        return Outcome::bad_event;
    }
    if (answer.error_seen) {
        return Outcome::stream_error;
    }
    const bool has_mark =
        record.side == Side::b ? config.against_has_end_mark : config.has_end_mark;
    const bool needs_mark = end.close_delimited || (has_mark && !answer.is_whole);
    if (needs_mark && !answer.is_ended() && !lost) {
        return Outcome::truncated;
    }
    // Text may be held back to the end (half a character) or be none (a special token): what the
    // server counted was made.
    if (!answer.has_tokens && record.output_tokens.value_or(0) <= 0 && !lost) {
        return Outcome::no_tokens;
    }
    return lost ? Outcome::ok : outcome_of_length(record, config);
}

}  // namespace

bool lost_bytes(const RowState& state, const EndInfo& end) {
    return state.lost_payload || end.entries_dropped > 0;
}

AnswerLimits limits_of(const RowState& state, const AssemblerConfig& config) {
    const TraceRow& row = config.trace->rows[state.due.row];
    return answer_limits(prompt_tokens_of(*config.trace, row), asked_tokens(state.due, row),
                         config.output, config.dialect->repeats_text);
}

Outcome outcome_of(const Record& record, const RowState& state, const EndInfo& end,
                   const AssemblerConfig& config) {
    if (end.outcome != Outcome::ok) {
        return end.outcome;
    }
    const bool lost = lost_bytes(state, end);
    if (state.status == 0) {
        return lost ? Outcome::ok : Outcome::bad_http;
    }
    const Outcome by_status = outcome_of_status(state.status);
    if (by_status != Outcome::ok) {
        return by_status;
    }
    const bool untold = state.body == BodyKind::unknown ||
                        (end.entries_dropped > 0 && state.body != BodyKind::encoded);
    if (untold && state.body != BodyKind::stream && lost) {
        return Outcome::ok;  // its head, or where it began, found the ring full: who knows
    }
    if (state.body == BodyKind::untold && state.content_type.empty()) {
        return Outcome::no_tokens;  // an empty body
    }
    if (state.body != BodyKind::stream) {
        return Outcome::bad_content;
    }
    return outcome_of_stream(record, state, end, config);
}

}  // namespace driftless
