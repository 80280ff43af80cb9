#include "engine/record/fill_record.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "engine/io/tls.hpp"
#include "engine/record/ring.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/http/parsers.hpp"
#include "proto/http/request.hpp"

namespace driftless {

/// A length of the trace; 0 is unknown.
static std::optional<std::uint32_t> length_of(std::uint32_t tokens) {
    return tokens == 0 ? std::nullopt : std::optional(tokens);
}

std::string waited_in_vain(std::uint32_t row, const char* why) {
    return "row " + std::to_string(row) + ", which it waited for, " + why;
}

void fill_origin(Record& record, const Due& due, std::uint32_t number,
                 const AssemblerConfig& config) {
    const TraceRow& row = config.trace->rows[due.row];
    record.row = row.index;
    record.request = number;
    record.pass = due.pass;
    record.phase = due.phase;
    record.attempt = due.attempt;
    record.side = due.side;
    if (due.user != Due::no_user) {
        record.user = config.place.number_of(due.user);
    }
    if (row.session != no_session && row.session < config.trace->sessions.size()) {
        record.session = config.trace->sessions[row.session];
        const std::uint32_t root = config.trees.empty() ? row.session : config.trees[row.session];
        record.tree = config.trace->sessions[root];
    }
    if (row.turn != 0) {
        record.turn = row.turn;
    }
    record.kept = config.trace->kept_of(row);
    record.segment = config.segment;
    record.api = config.dialect->name;
    if (config.row_models != nullptr) {
        record.model = masked(config.row_models->name_of(due.row), config.secrets, id_bytes_max);
    } else if (const std::string& model = due.side == Side::b ? config.against_model : config.model;
               !model.empty()) {
        record.model = model;
    }
    record.due_ns = due.due_ns;
    if (due.parent_end_ns != Due::no_parent) {
        record.parent_end_ns = due.parent_end_ns;
    }
    if (due.failed_row != Due::none_failed) {
        const char* const why =
            config.histories == nullptr ? nullptr : config.histories->why_ended(due.failed_row);
        record.error = waited_in_vain(config.trace->rows[due.failed_row].index,
                                      why == nullptr ? "failed" : why);
    }
    record.input_length = length_of(row.input_length);
    record.output_length = length_of(asked_tokens(due, row));
    if (config.trace->foretells_hits(row) && !config.forecast.in_run_order) {
        record.expected_cached_tokens =
            config.plan->rows[due.request % config.plan->rows.size()].expected_cached_tokens;
        const std::vector<std::uint32_t>& by_server =
            due.side == Side::b ? config.plan->against_cached : config.plan->server_cached;
        if (due.row < by_server.size()) {
            record.expected_cached_server = by_server[due.row];
        }
    }
    if (config.urls.size() == 1) {
        record.url = config.urls[0];
    } else if (due.side != Side::none) {
        record.url = config.urls[due.side == Side::b ? 1 : 0];
    }
    for (const std::string& name : config.record_headers) {
        record.headers.push_back({name, {}});
    }
}

/// The outcome of a status, or ok where the status is 200.
static Outcome outcome_of_status(int status) {
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
static Outcome outcome_of_length(const Record& record, const AssemblerConfig& config) {
    if (config.output != OutputRule::exact || !counts_output(record) || !record.output_length) {
        return Outcome::ok;
    }
    const std::int64_t asked = *record.output_length;
    return *record.output_tokens < asked   ? Outcome::short_output
           : *record.output_tokens > asked ? Outcome::long_output
                                           : Outcome::ok;
}

/// The outcome of a stream whose framing is complete.
static Outcome outcome_of_stream(const Record& record, const RowState& state, const EndInfo& end,
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

static OptionalNs from_zero(std::int64_t stamp_ns, std::int64_t time_zero_ns) {
    return stamp_ns == no_stamp ? OptionalNs() : OptionalNs(stamp_ns - time_zero_ns);
}

static OptionalNs difference(OptionalNs later, OptionalNs earlier) {
    return later.has_value() && earlier.has_value() ? OptionalNs(*later - *earlier) : OptionalNs();
}

static std::optional<std::int64_t> known(std::int64_t count) {
    return count < 0 ? std::optional<std::int64_t>() : count;
}

static std::string kernel_message(int sys_errno) {
    const char* name = strerrorname_np(sys_errno);
    const char* text = strerrordesc_np(sys_errno);
    return std::string(name != nullptr ? name : "errno") + ": " +
           (text != nullptr ? text : std::to_string(sys_errno));
}

/// Which limit it was, and how high it is.
static std::string limit_message(const Record& record, const RowState& state, const EndInfo& end,
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

/// What the server said, else what TLS or the kernel said; empty where nothing was said.
static std::string message_of(const Record& record, const RowState& state, const EndInfo& end,
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

static void fill_sending(Record& record, const RowState& state, const AssemblerConfig& config,
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
static void fill_token_counts(Record& record, const RowState& state, bool lost) {
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

/// How late the client may have read the tokens; nothing where the host slept meanwhile.
static void fill_lateness(Record& record, const AnswerState& answer, const Event& end) {
    record.chunks_late_known = (end.flags & event_host_slept) == 0;
    if (record.chunks_late_known && record.last_token_ns) {
        record.last_late_ns = answer.last_token_wait_ns;
    }
    if (record.chunks_late_known && !answer.chunk_waits.empty()) {
        record.first_late_ns = answer.chunk_waits.front();
    }
}

/// Moves the arrays into the record; the record's old ones go back to be reused.
static void fill_chunks(Record& record, RowState& state, bool lost) {
    std::swap(record.chunk_ns, state.answer.chunk_stamps);
    std::swap(record.chunk_late_ns, state.answer.chunk_waits);
    if (!record.chunks_late_known) {
        record.chunk_late_ns.clear();
    }
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

static void fill_answer(Record& record, const RowState& state, const EndInfo& end,
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

static void fill_texts(Record& record, const RowState& state, const EndInfo& end,
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
static void fill_forecast(Record& record, const RowState& state, const AssemblerConfig& config) {
    const TraceRow& row = config.trace->rows[state.due.row];
    if (state.expected && config.trace->foretells_hits(row)) {
        record.expected_cached_tokens = state.expected->tokens;
        record.expected_cached_server = state.expected->server;
    }
}

void fill_record(Record& record, RowState& state, const Event& end, const AssemblerConfig& config,
                 std::int64_t time_zero_ns, JsonDocument& document) {
    CHECK(end.kind == EventKind::end);
    renew(record, &Record::chunk_ns, &Record::chunk_late_ns, &Record::chunk_tokens);
    fill_origin(record, state.due, state.number, config);
    fill_forecast(record, state, config);
    fill_sending(record, state, config, time_zero_ns);
    fill_answer(record, state, end.end, time_zero_ns);
    fill_lateness(record, state.answer, end);
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
    add_taints(record,
               {end.end.entries_dropped > 0, state.lost_payload, state.accept_ns,
                state.request_waited_ns, end.end.request_lost,
                (end.flags & event_answered_early) != 0, (end.flags & event_end_unsure) != 0},
               config.limits, state.due.rank);
}

}  // namespace driftless
