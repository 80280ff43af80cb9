#include "engine/record/fill_record.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/plan/answer_limits.hpp"
#include "engine/record/origin.hpp"
#include "engine/record/row_outcome.hpp"
#include "engine/tls/failure.hpp"
#include "proto/core/check.hpp"
#include "proto/http/response.hpp"
#include "proto/http/trace_context.hpp"
#include "proto/record/masked.hpp"

namespace driftless {

namespace {

OptionalNs from_zero(std::int64_t stamp_ns, std::int64_t time_zero_ns) {
    return stamp_ns == no_stamp ? OptionalNs() : OptionalNs(stamp_ns - time_zero_ns);
}

OptionalNs difference(OptionalNs later, OptionalNs earlier) {
    return later.has_value() && earlier.has_value() ? OptionalNs(*later - *earlier) : OptionalNs();
}

std::optional<std::int64_t> known(std::int64_t count) {
    return count < 0 ? std::optional<std::int64_t>() : count;
}

std::string kernel_message(int sys_errno) {
    const char* name = strerrorname_np(sys_errno);
    const char* text = strerrordesc_np(sys_errno);
    return std::string(name != nullptr ? name : "errno") + ": " +
           (text != nullptr ? text : std::to_string(sys_errno));
}

/// Which limit it was, and how high it is.
std::string limit_message(const Record& record, const RowState& state, const EndInfo& end,
                          const AssemblerConfig& config) {
    CHECK(record.outcome == Outcome::limit_exceeded);
    const AnswerLimits limits = limits_of(state, config);
    if (end.outcome == Outcome::limit_exceeded) {
        switch (static_cast<AnswerLimit>(end.sys_errno)) {
            case AnswerLimit::events:
                return "the answer had more events than its limit of " +
                       std::to_string(limits.events_max);
            case AnswerLimit::bytes:
                return "the answer had more bytes than its limit of " +
                       std::to_string(limits.bytes_max);
            case AnswerLimit::head:
                return "the answer's head or trailers had more than " +
                       std::to_string(response_head_bytes_max) + " bytes or " +
                       std::to_string(response_headers_max) + " fields";
        }
    }
    if (!state.answer.over_limit) {
        return std::to_string(record.output_tokens.value_or(0)) +
               " tokens were counted, over the limit of " + std::to_string(limits.events_max);
    }
    return state.answer.chunks() >= chunks_per_row_max
               ? "the answer had more chunks than the limit of " +
                     std::to_string(chunks_per_row_max)
               : "an event of the answer had more bytes than its limit of " +
                     std::to_string(limits.event_bytes_max);
}

/// What the server said, else what TLS or the kernel said; empty where nobody said anything.
std::string message_of(const Record& record, const RowState& state, const EndInfo& end,
                       const AssemblerConfig& config, JsonDocument& document) {
    CHECK(!is_whole(record.outcome));
    if (record.outcome == Outcome::limit_exceeded) {
        return limit_message(record, state, end, config);
    }
    std::string text = state.answer.error;
    if (state.body == BodyKind::encoded) {
        text = state.encoding;
    } else if (state.body != BodyKind::stream && state.body != BodyKind::unknown) {
        text = error_message_of(document, state.pending, message_bytes_max);
        if (text.empty() && state.body != BodyKind::message) {
            text = "content-type: " +
                   (state.content_type.empty() ? "none, and an empty body" : state.content_type);
        }
    }
    if (text.empty() && record.outcome == Outcome::truncated && end.outcome == Outcome::ok) {
        text = "the answer ended without a finish reason, a usage or an end marker";
    } else if (text.empty() && end.outcome == Outcome::tls_failed) {
        text = describe(static_cast<TlsFailure>(end.sys_errno));
    } else if (text.empty() && end.sys_errno != 0 && end.outcome != Outcome::not_sent) {
        text = kernel_message(end.sys_errno);
    }
    const bool is_alert = end.outcome == Outcome::bad_http && is_of_tls_port(state.head);
    if (is_alert || is_of_tls_port(text)) {
        text.erase(text.find_last_not_of(" \r\n") + 1);
        text += (text.empty() ? "the answer is a TLS alert" : "") +
                std::string("; use https:// in --url");
    }
    return text;
}

void fill_sending(Record& record, const RowState& state, const AssemblerConfig& config,
                  std::int64_t time_zero_ns) {
    record.armed_ns = from_zero(state.armed_ns, time_zero_ns);
    if (state.fired_ns == no_stamp) {
        return;
    }
    record.fired_ns = state.fired_ns - time_zero_ns;
    record.drift_ns = *record.fired_ns - record.due_ns;
    if (state.fired.submit_ns != FiredInfo::not_taken) {
        record.submit_ns = state.fired.submit_ns;
    }
    record.wire_ns = from_zero(state.wire_ns, time_zero_ns);
    record.sent_ns = from_zero(state.sent_ns, time_zero_ns);
    record.connect_ns = state.fired.connect_ns - time_zero_ns;
    record.held_ns = state.fired.held_ns;
    record.inflight = state.fired.inflight;
    record.late_cause = state.fired.late_cause;
    record.connection = state.lane;
    record.reused = state.fired.reused;
    record.connection_state = state.fired.connection;
    record.connection_age_ns = *record.fired_ns - *record.connect_ns;
    if (!config.trace_run_id.empty()) {
        record.trace_id = trace_id_text(trace_context_of(
            config.trace_run_id, sending_number(record.row, record.pass, record.side)));
    }
    if (state.fired.target < config.urls.size()) {
        record.url = config.urls[state.fired.target];
    }
}

/// Best source first. Of an answer that lost a part in the event ring no count is known: what was
/// lost may have corrected what was read.
void fill_token_counts(Record& record, const RowState& state, bool lost) {
    const AnswerState& answer = state.answer;
    if (lost) {
        return;
    }
    record.prompt_tokens = known(answer.prompt_tokens);
    if (record.prompt_tokens && record.input_length) {
        record.prompt_tokens_off =
            *record.prompt_tokens - static_cast<std::int64_t>(*record.input_length);
    }
    record.cached_tokens = known(answer.cached_tokens);
    if (state.body != BodyKind::stream) {
        return;
    }
    const bool has_chunks = answer.chunks() > 0;
    if (answer.is_counted()) {
        record.output_tokens = answer.completion_tokens;
        record.tokens_source =
            answer.usage_is_final ? TokensSource::usage : TokensSource::continuous;
    } else if (has_chunks && answer.ids_on_all) {
        record.output_tokens = answer.ids_sum;
        record.tokens_source = TokensSource::ids;
    } else if (!answer.is_whole) {
        record.output_tokens = static_cast<std::int64_t>(answer.chunks());
        record.tokens_source = TokensSource::chunks;
    }
    CHECK(record.tokens_source.has_value() == record.output_tokens.has_value());
}

/// Moves the arrays into the record; the record's old ones go back to be reused.
void fill_chunks(Record& record, RowState& state, bool lost) {
    std::swap(record.chunk_ns, state.answer.chunk_stamps);
    std::swap(record.chunk_tokens, state.answer.chunk_tokens);
    state.answer.close_kinds();
    std::swap(record.chunk_kinds, state.answer.chunk_kinds);
    const std::size_t count = record.chunk_ns.size();
    const std::int64_t fired_ns = state.fired_ns == no_stamp ? 0 : state.fired_ns;
    for (std::int64_t& stamp : record.chunk_ns) {
        stamp -= fired_ns;
    }
    if (record.chunk_tokens.size() == count && !lost) {
        record.chunk_tokens_known = true;
    } else if (record.tokens_source == TokensSource::usage &&
               record.output_tokens == static_cast<std::int64_t>(count)) {
        record.chunk_tokens.assign(count, 1);
        record.chunk_tokens_known = true;
    } else {
        record.chunk_tokens.clear();
    }
    CHECK(record.chunk_tokens.size() == (record.chunk_tokens_known ? count : 0));
}

void fill_answer(Record& record, const RowState& state, const EndInfo& end,
                 std::int64_t time_zero_ns) {
    const AnswerState& answer = state.answer;
    record.headers_ns = from_zero(state.headers_ns, time_zero_ns);
    record.first_byte_ns = from_zero(state.first_byte_ns, time_zero_ns);
    record.first_token_ns = from_zero(answer.first_token_ns, time_zero_ns);
    record.first_content_ns = from_zero(answer.first_content_ns, time_zero_ns);
    record.last_token_ns = from_zero(answer.last_token_ns, time_zero_ns);
    record.first_event_ns = from_zero(answer.first_event_ns, time_zero_ns);
    record.finish_event_ns = from_zero(answer.finish_event_ns, time_zero_ns);
    record.usage_event_ns = from_zero(answer.usage_event_ns, time_zero_ns);
    record.error_event_ns = from_zero(answer.error_event_ns, time_zero_ns);
    record.end_marker_ns = from_zero(answer.end_marker_ns, time_zero_ns);
    CHECK(!record.first_token_ns || record.last_token_ns);
    record.ttft_ns = difference(record.first_token_ns, record.fired_ns);
    record.ttft_due_ns = difference(record.first_token_ns, record.due_ns);
    record.e2e_ns = difference(record.last_token_ns, record.fired_ns);
    const bool lost = lost_bytes(state, end);
    fill_token_counts(record, state, lost);
    // Tokens that came at one instant, in one chunk or one read, tell nothing of the time between.
    if (counts_output(record) && *record.output_tokens > 1 && record.first_token_ns &&
        record.first_token_ns != record.last_token_ns) {
        record.tpot_ns = static_cast<double>(*record.last_token_ns - *record.first_token_ns) /
                         static_cast<double>(*record.output_tokens - 1);
    }
    if (state.body == BodyKind::stream && !lost) {
        record.output_digest = answer.digest.value();
    }
    record.coalesced_chunks = answer.coalesced_chunks;
}

void fill_texts(Record& record, const RowState& state, const EndInfo& end,
                const AssemblerConfig& config, JsonDocument& document) {
    const AnswerState& answer = state.answer;
    const bool has_head = end.entries_dropped == 0;  // else a piece of it may be among them
    const std::string_view request_id = has_head ? state.request_id : std::string_view{};
    const std::string_view id = answer.response_id.empty() ? request_id : answer.response_id;
    if (!id.empty()) {
        record.response_id = masked(id, config.secrets, id_bytes_max);
    }
    if (has_head && !state.headers.empty()) {
        record.headers = state.headers;
    }
    const std::string worker = answer.worker();
    if (masked(worker, config.secrets, worker.size()) == worker) {  // else it is no JSON any more
        record.worker = worker;
    }
    if (!answer.finish_reason.empty() && !lost_bytes(state, end)) {
        record.finish_reason = masked(answer.finish_reason, config.secrets, id_bytes_max);
    }
    if (!is_whole(record.outcome)) {
        const std::string text = masked(message_of(record, state, end, config, document),
                                        config.secrets, error_bytes_max);
        if (!text.empty()) {
            record.error = text;
        }
    }
}

/// Where the run decides the order: of requests that have left.
void fill_forecast(Record& record, const RowState& state, const AssemblerConfig& config) {
    const TraceRow& row = config.trace->rows[state.due.row];
    if (state.expected && config.trace->foretells_hits(row)) {
        record.expected_cached_tokens = state.expected->tokens;
        record.expected_cached_server = state.expected->server;
    }
}

/// An empty record that keeps the memory of the arrays.
void clear(Record& record) {
    std::vector<std::int64_t> stamps = std::move(record.chunk_ns);
    std::vector<std::int32_t> tokens = std::move(record.chunk_tokens);
    record = Record{};
    stamps.clear();
    tokens.clear();
    record.chunk_ns = std::move(stamps);
    record.chunk_tokens = std::move(tokens);
    CHECK(record.chunk_ns.empty() && record.chunk_tokens.empty() && record.tainted.empty());
}

}  // namespace

void fill_record(Record& record, RowState& state, const Event& end, const AssemblerConfig& config,
                 std::int64_t time_zero_ns, JsonDocument& document) {
    CHECK(end.kind == EventKind::end);
    clear(record);
    fill_origin(record, state.due, state.number, config);
    fill_forecast(record, state, config);
    fill_sending(record, state, config, time_zero_ns);
    fill_answer(record, state, end.end, time_zero_ns);
    record.outcome = outcome_of(record, state, end.end, config);
    fill_chunks(record, state, lost_bytes(state, end.end));
    CHECK(state.answer.chunks() == 0);  // they are the record's now
    record.has_chunks = config.chunks && record.fired_ns.has_value();
    if (end.end.outcome == Outcome::ok) {
        record.done_ns = end.stamp_ns - time_zero_ns;
    }
    if (end.end.outcome != Outcome::not_sent) {
        record.ended_ns = from_zero(end.stamp_ns, time_zero_ns);
        record.censored = (end.flags & event_censored) != 0;
    }
    if (state.status != 0) {
        record.status = state.status;
    }
    fill_texts(record, state, end.end, config, document);
    record.stale_retries = end.end.stale_retries;
    record.bytes_sent = end.end.bytes_sent;
    record.bytes_received = end.end.bytes_received;
    if (end.waited_ns != Event::no_wait && end.end.outcome == Outcome::not_sent) {
        record.held_ns = end.waited_ns;
        record.late_cause = static_cast<LateCause>(end.end.sys_errno);
    } else if (end.waited_ns != Event::no_wait) {
        record.receive_delay_ns = end.waited_ns;
    }
    if (end.end.retransmits != retransmits_unknown) {
        record.retransmits = end.end.retransmits;
    }
    add_taints(
        record,
        {end.end.entries_dropped > 0, state.lost_payload, state.accept_ns, state.request_waited_ns,
         end.end.request_lost, (end.flags & event_answered_early) != 0},
        config.limits, state.due.rank);
}

}  // namespace driftless
