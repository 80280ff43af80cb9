#include "proto/run/record.hpp"

#include <array>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

// Each table stands in the order of its enum.
constexpr std::array<const char*, outcome_count> outcome_names = {
    "ok",
    "short_output",
    "long_output",
    "client_failed",
    "connect_failed",
    "tls_failed",
    "send_failed",
    "timeout_connect",
    "timeout_first_byte",
    "timeout_idle",
    "timeout_total",
    "http_3xx",
    "http_4xx",
    "http_429",
    "http_5xx",
    "bad_content",
    "stream_error",
    "truncated",
    "bad_http",
    "bad_event",
    "limit_exceeded",
    "no_tokens",
    "abandoned",
    "cancelled",
    "interrupted",
    "not_sent",
};
constexpr std::array<const char*, late_cause_count> late_cause_names = {
    "none", "wake", "guard", "prepare", "lane", "inflight", "budget", "limit", "writer", "burst",
};
constexpr std::array<const char*, tokens_source_count> tokens_source_names = {
    "usage",
    "continuous",
    "ids",
    "chunks",
};
constexpr std::array<const char*, connection_state_count> connection_state_names = {
    "fresh",
    "reused",
    "sticky",
    "moved",
};
constexpr std::array<const char*, phase_count> phase_names = {
    "warmup",
    "profile",
    "drain",
};
constexpr std::array<const char*, side_count> side_names = {"none", "a", "b"};
static_assert(static_cast<unsigned>(Phase::drain) + 1 == phase_count);
static_assert(static_cast<unsigned>(Outcome::not_sent) + 1 == outcome_count);
static_assert(static_cast<unsigned>(LateCause::burst) + 1 == late_cause_count);
static_assert(static_cast<unsigned>(TokensSource::chunks) + 1 == tokens_source_count);
static_assert(static_cast<unsigned>(Side::b) + 1 == side_count);
static_assert(static_cast<unsigned>(ConnectionState::moved) + 1 == connection_state_count);

template <typename Enum, std::size_t count>
const char* name_in(const std::array<const char*, count>& names, Enum value) {
    const auto index = static_cast<std::size_t>(value);
    CHECK(index < count);
    return names[index];
}

template <typename Enum, std::size_t count>
std::optional<Enum> find_in(const std::array<const char*, count>& names, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
        if (name == names[i]) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

const char* name_of(Outcome outcome) {
    return name_in(outcome_names, outcome);
}
const char* name_of(LateCause cause) {
    return name_in(late_cause_names, cause);
}
const char* name_of(ConnectionState state) {
    return name_in(connection_state_names, state);
}
const char* name_of(Phase phase) {
    return name_in(phase_names, phase);
}
const char* name_of(Side side) {
    return name_in(side_names, side);
}
const char* name_of(TokensSource source) {
    return name_in(tokens_source_names, source);
}

std::optional<Outcome> outcome_from_name(std::string_view name) {
    return find_in<Outcome>(outcome_names, name);
}
std::optional<LateCause> late_cause_from_name(std::string_view name) {
    return find_in<LateCause>(late_cause_names, name);
}
std::optional<ConnectionState> connection_state_from_name(std::string_view name) {
    return find_in<ConnectionState>(connection_state_names, name);
}
std::optional<Phase> phase_from_name(std::string_view name) {
    return find_in<Phase>(phase_names, name);
}
std::optional<Side> side_from_name(std::string_view name) {
    const std::optional<Side> side = find_in<Side>(side_names, name);
    return side == Side::none ? std::nullopt : side;
}
std::optional<TokensSource> tokens_source_from_name(std::string_view name) {
    return find_in<TokensSource>(tokens_source_names, name);
}

namespace {

constexpr unsigned digest_digits = 16;

// One overload for each type that a field has. nullopt and empty are null.

void write(JsonWriter& json, std::int64_t value) {
    json.integer(value);
}
void write(JsonWriter& json, std::uint64_t value) {
    json.unsigned_integer(value);
}
void write(JsonWriter& json, std::uint32_t value) {
    json.unsigned_integer(value);
}
void write(JsonWriter& json, int value) {
    json.integer(value);
}
void write(JsonWriter& json, bool value) {
    json.boolean(value);
}
void write(JsonWriter& json, double value) {
    json.number(value);
}
void write(JsonWriter& json, const std::string& value) {
    json.string(value);
}
void write(JsonWriter& json, TokensSource value) {
    json.string(name_of(value));
}
void write(JsonWriter& json, ConnectionState value) {
    json.string(name_of(value));
}

template <typename T>
void write_field(JsonWriter& json, std::string_view key, const T& value) {
    json.key(key);
    write(json, value);
}
template <typename T>
void write_field(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
    json.key(key);
    if (value.has_value()) {
        write(json, *value);
    } else {
        json.null();
    }
}
template <typename T>
void write_array(JsonWriter& json, std::string_view key, bool known, const std::vector<T>& values) {
    json.key(key);
    if (!known) {
        json.null();
        return;
    }
    json.begin_array();
    for (const T& value : values) {
        write(json, value);
    }
    json.end_array();
}

void write_digest(JsonWriter& json, std::string_view key, std::optional<std::uint64_t> digest) {
    json.key(key);
    if (!digest.has_value()) {
        json.null();
        return;
    }
    char text[digest_digits];
    for (unsigned i = 0; i < digest_digits; ++i) {
        text[i] = "0123456789abcdef"[(*digest >> (60 - 4 * i)) & 15];
    }
    json.string({text, digest_digits});
}

void write_headers(JsonWriter& json, const std::vector<RecordedHeader>& headers) {
    json.key("headers").begin_object();
    for (const RecordedHeader& header : headers) {
        write_field(json, header.name, header.value);
    }
    json.end_object();
}

void write_origin(JsonWriter& json, const Record& record) {
    write_field(json, "row", record.row);
    write_field(json, "request", record.request);
    write_field(json, "pass", record.pass);
    json.key("phase").string(name_of(record.phase));
    write_field(json, "attempt", record.attempt);
    json.key("side");
    record.side == Side::none ? json.null() : json.string(name_of(record.side));
    write_field(json, "user", record.user);
    write_field(json, "session", record.session);
    write_field(json, "tree", record.tree);
    write_field(json, "turn", record.turn);
    json.key("kept").raw(record.kept.empty() ? std::string_view("null") : record.kept);
    write_field(json, "segment", record.segment);
    write_optional_text(json, "url", record.url);
    write_field(json, "api", record.api);
    write_field(json, "model", record.model);
    write_field(json, "connection", record.connection);
    json.key("reused").boolean(record.reused);
    write_field(json, "connection_state", record.connection_state);
    write_field(json, "connection_age_ns", record.connection_age_ns);
    write_field(json, "stale_retries", record.stale_retries);
}

void write_times(JsonWriter& json, const Record& record) {
    write_field(json, "due_ns", record.due_ns);
    write_field(json, "parent_end_ns", record.parent_end_ns);
    write_field(json, "overtaken", record.overtaken);
    write_field(json, "armed_ns", record.armed_ns);
    write_field(json, "fired_ns", record.fired_ns);
    write_field(json, "drift_ns", record.drift_ns);
    write_field(json, "held_ns", record.held_ns);
    json.key("late_cause").string(name_of(record.late_cause));
    write_array(json, "tainted", !record.tainted.empty(), record.tainted);
    write_field(json, "connect_ns", record.connect_ns);
    write_field(json, "submit_ns", record.submit_ns);
    write_field(json, "wire_ns", record.wire_ns);
    write_field(json, "sent_ns", record.sent_ns);
    write_field(json, "headers_ns", record.headers_ns);
    write_field(json, "first_byte_ns", record.first_byte_ns);
    write_field(json, "first_token_ns", record.first_token_ns);
    write_field(json, "first_content_ns", record.first_content_ns);
    write_field(json, "last_token_ns", record.last_token_ns);
    write_field(json, "first_event_ns", record.first_event_ns);
    write_field(json, "finish_event_ns", record.finish_event_ns);
    write_field(json, "usage_event_ns", record.usage_event_ns);
    write_field(json, "error_event_ns", record.error_event_ns);
    write_field(json, "end_marker_ns", record.end_marker_ns);
    write_field(json, "done_ns", record.done_ns);
    write_field(json, "ended_ns", record.ended_ns);
    json.key("censored").boolean(record.censored);
    write_field(json, "ttft_ns", record.ttft_ns);
    write_field(json, "ttft_due_ns", record.ttft_due_ns);
    write_field(json, "tpot_ns", record.tpot_ns);
    write_field(json, "e2e_ns", record.e2e_ns);
}

void write_tokens(JsonWriter& json, const Record& record) {
    write_array(json, "chunk_ns", record.has_chunks, record.chunk_ns);
    write_array(json, "chunk_tokens", record.has_chunks && record.chunk_tokens_known,
                record.chunk_tokens);
    json.key("chunk_kinds");
    record.has_chunks && !record.chunk_kinds.empty() ? json.string(record.chunk_kinds)
                                                     : json.null();
    write_field(json, "input_length", record.input_length);
    write_field(json, "prompt_tokens", record.prompt_tokens);
    write_field(json, "prompt_tokens_off", record.prompt_tokens_off);
    write_field(json, "live_turns", record.live_turns);
    write_field(json, "padded_tokens", record.padded_tokens);
    write_field(json, "expected_cached_tokens", record.expected_cached_tokens);
    write_field(json, "expected_cached_server", record.expected_cached_server);
    write_field(json, "cached_tokens", record.cached_tokens);
    write_field(json, "output_length", record.output_length);
    write_field(json, "output_tokens", record.output_tokens);
    write_field(json, "tokens_source", record.tokens_source);
}

void write_end(JsonWriter& json, const Record& record) {
    json.key("outcome").string(name_of(record.outcome));
    write_field(json, "status", record.status);
    write_field(json, "error", record.error);
    write_field(json, "finish_reason", record.finish_reason);
    write_field(json, "response_id", record.response_id);
    write_field(json, "trace_id", record.trace_id);
    write_headers(json, record.headers);
    json.key("worker").raw(record.worker.empty() ? std::string_view("null") : record.worker);
    write_field(json, "inflight", record.inflight);
    write_digest(json, "output_digest", record.output_digest);
    write_field(json, "bytes_sent", record.bytes_sent);
    write_field(json, "bytes_received", record.bytes_received);
    write_field(json, "coalesced_chunks", record.coalesced_chunks);
    write_field(json, "receive_delay_ns", record.receive_delay_ns);
    write_field(json, "retransmits", record.retransmits);
    write_field(json, "wire_delay_bound_ns", record.wire_delay_bound_ns);
    write_field(json, "request_delay_ns", record.request_delay_ns);
    if (record.shard) {
        write_field(json, "shard", record.shard);
    }
}

}  // namespace

void append_jsonl(std::string& out, const Record& record) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    json.begin_object();
    write_origin(json, record);
    write_times(json, record);
    write_tokens(json, record);
    write_end(json, record);
    json.end_object();
    escape_unprintable_json(out, begin);
    out += '\n';
}

}  // namespace driftless
