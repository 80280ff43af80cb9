#include <charconv>
#include <type_traits>
#include <utility>

#include "proto/json/document.hpp"
#include "proto/record/parsed_record.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

constexpr unsigned digest_digits = 16;

/// Reads the fields of one object and keeps the first error. Each read costs a look-up among some
/// fifty keys, which nobody waits for.
class Fields {
  public:
    explicit Fields(JsonValue root) : root_(root) {}

    bool failed() const { return failed_; }
    const Error& error() const { return error_; }

    JsonValue get(const char* key) {
        const JsonValue value = root_.find(key);
        if (!value.present()) {
            fail(ErrorCode::missing, key);
        }
        return value;
    }

    template <typename T>
    void read(const char* key, T& out) {
        const JsonValue value = get(key);
        if (value.present()) {
            take(key, value, out);
        }
    }
    template <typename T>
    void read(const char* key, std::optional<T>& out) {
        const JsonValue value = get(key);
        if (value.present() && !value.is(JsonType::null)) {
            take(key, value, out.emplace());
        }
    }
    /// A key that came with a later schema than 1: not present where a line does not have it.
    JsonValue get_later(const char* key) const { return root_.find(key); }
    /// The same for what may be null: null where a line does not have it.
    template <typename T>
    void read_later(const char* key, std::optional<T>& out) {
        const JsonValue value = root_.find(key);
        if (value.present() && !value.is(JsonType::null)) {
            take(key, value, out.emplace());
        }
    }
    /// The same for a field that is never null: it keeps what it holds.
    template <typename T>
    void read_later(const char* key, T& out) {
        const JsonValue value = root_.find(key);
        if (value.present()) {
            take(key, value, out);
        }
    }
    /// False where the array is null.
    template <typename T>
    bool read_array(const char* key, std::vector<T>& out) {
        const JsonValue value = get(key);
        if (!value.present() || value.is(JsonType::null)) {
            return false;
        }
        if (!value.is(JsonType::array)) {
            fail(ErrorCode::bad_json, key);
        }
        out.reserve(value.size());
        for (JsonValue item = value.first(); item.present(); item = item.next()) {
            take(key, item, out.emplace_back());
        }
        return true;
    }
    void fail(ErrorCode code, const char* key) {
        if (!failed_) {
            failed_ = true;
            error_ = {code, 0, key};
        }
    }

  private:
    template <typename T>
    void take(const char* key, JsonValue value, T& out) {
        if constexpr (std::is_same_v<T, std::string>) {
            keep(key, value.as_string(), out);
        } else if constexpr (std::is_same_v<T, bool>) {
            keep(key, value.as_bool(), out);
        } else if constexpr (std::is_same_v<T, double>) {
            keep(key, value.as_double(), out);
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
            keep_number(key, value, value.as_u64(), out);
        } else {
            keep_number(key, value, value.as_i64(), out);
        }
    }
    template <typename From, typename T>
    void keep(const char* key, const std::optional<From>& from, T& out) {
        if (from.has_value()) {
            out = T(*from);
        } else {
            fail(ErrorCode::bad_json, key);
        }
    }
    template <typename From, typename T>
    void keep_number(const char* key, JsonValue value, const std::optional<From>& from, T& out) {
        const bool fits = from.has_value() && std::in_range<T>(*from);
        if (fits) {
            out = static_cast<T>(*from);
        } else {
            fail(value.is(JsonType::number) ? ErrorCode::out_of_range : ErrorCode::bad_json, key);
        }
    }

    JsonValue root_;
    Error error_;
    bool failed_ = false;
};

template <typename Enum>
void read_name(Fields& fields, const char* key, std::optional<Enum> (*from)(std::string_view),
               Enum& out) {
    std::string name;
    fields.read(key, name);
    const std::optional<Enum> value = from(name);
    if (value.has_value()) {
        out = *value;
    } else {
        fields.fail(ErrorCode::out_of_range, key);
    }
}

void read_connection_state(Fields& fields, Record& record) {
    const JsonValue value = fields.get_later("connection_state");
    if (!value.present() || value.is(JsonType::null)) {
        return;
    }
    const std::optional<std::string_view> name = value.as_string();
    record.connection_state = name ? connection_state_from_name(*name) : std::nullopt;
    if (!record.connection_state) {
        fields.fail(ErrorCode::out_of_range, "connection_state");
    }
}

/// It came with schema 8: `profile` where a line does not have it.
void read_phase(Fields& fields, Record& record) {
    const JsonValue value = fields.get_later("phase");
    if (!value.present()) {
        return;
    }
    const std::optional<Phase> phase = phase_from_name(value.as_string().value_or(""));
    record.phase = phase.value_or(Phase::profile);
    if (!phase) {
        fields.fail(ErrorCode::out_of_range, "phase");
    }
}

/// It came with schema 14: none where a line does not have it.
void read_side(Fields& fields, Record& record) {
    const JsonValue value = fields.get_later("side");
    if (!value.present() || value.is(JsonType::null)) {
        return;
    }
    const std::optional<Side> side = side_from_name(value.as_string().value_or(""));
    record.side = side.value_or(Side::none);
    if (!side) {
        fields.fail(ErrorCode::out_of_range, "side");
    }
}

void read_digest(Fields& fields, Record& record) {
    std::optional<std::string> text;
    fields.read("output_digest", text);
    if (!text.has_value()) {
        return;
    }
    std::uint64_t digest = 0;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, digest, 16);
    if (text->size() != digest_digits || error != std::errc() || stop != end) {
        fields.fail(ErrorCode::out_of_range, "output_digest");
    }
    record.output_digest = digest;
}

/// They came with schema 5: none where a line does not have them.
void read_headers(Fields& fields, JsonValue headers, Record& record) {
    if (headers.present() && !headers.is(JsonType::object)) {
        fields.fail(ErrorCode::bad_json, "headers");
        return;
    }
    for (JsonValue field = headers.first(); field.present(); field = field.next()) {
        RecordedHeader& header = record.headers.emplace_back();
        header.name = field.key();
        header.value = field.as_string();
        if (!header.value && !field.is(JsonType::null)) {
            fields.fail(ErrorCode::bad_json, "headers");
        }
    }
}

/// An object is kept as its text.
void read_object(Fields& fields, const char* key, const JsonValue& value, std::string& out) {
    if (value.is(JsonType::object)) {
        out = value.raw();
    } else if (value.present() && !value.is(JsonType::null)) {
        fields.fail(ErrorCode::bad_json, key);
    }
}

void read_origin(Fields& fields, Record& record) {
    fields.read("row", record.row);
    fields.read_later("request", record.request);
    fields.read_later("pass", record.pass);
    read_phase(fields, record);
    fields.read_later("attempt", record.attempt);
    read_side(fields, record);
    fields.read_later("user", record.user);
    fields.read("session", record.session);
    fields.read_later("tree", record.tree);
    fields.read("turn", record.turn);
    read_object(fields, "kept", fields.get("kept"), record.kept);
    fields.read_later("segment", record.segment);
    std::optional<std::string> url;
    fields.read("url", url);
    record.url = url.value_or("");
    fields.read("api", record.api);
    fields.read_later("model", record.model);
    fields.read("connection", record.connection);
    fields.read("reused", record.reused);
    read_connection_state(fields, record);
    fields.read_later("connection_age_ns", record.connection_age_ns);
    fields.read("stale_retries", record.stale_retries);
}

void read_times(Fields& fields, Record& record) {
    fields.read("due_ns", record.due_ns);
    fields.read_later("parent_end_ns", record.parent_end_ns);
    fields.read_later("overtaken", record.overtaken);
    fields.read("armed_ns", record.armed_ns);
    fields.read("fired_ns", record.fired_ns);
    fields.read("drift_ns", record.drift_ns);
    fields.read("held_ns", record.held_ns);
    read_name(fields, "late_cause", late_cause_from_name, record.late_cause);
    fields.read_array("tainted", record.tainted);
    fields.read("connect_ns", record.connect_ns);
    fields.read_later("submit_ns", record.submit_ns);
    fields.read("wire_ns", record.wire_ns);
    fields.read("sent_ns", record.sent_ns);
    fields.read("headers_ns", record.headers_ns);
    fields.read("first_byte_ns", record.first_byte_ns);
    fields.read("first_token_ns", record.first_token_ns);
    fields.read("first_content_ns", record.first_content_ns);
    fields.read("last_token_ns", record.last_token_ns);
    fields.read_later("first_event_ns", record.first_event_ns);
    fields.read_later("finish_event_ns", record.finish_event_ns);
    fields.read_later("usage_event_ns", record.usage_event_ns);
    fields.read_later("error_event_ns", record.error_event_ns);
    fields.read_later("end_marker_ns", record.end_marker_ns);
    fields.read("done_ns", record.done_ns);
    fields.read_later("ended_ns", record.ended_ns);
    fields.read_later("censored", record.censored);
    fields.read("ttft_ns", record.ttft_ns);
    fields.read("ttft_due_ns", record.ttft_due_ns);
    fields.read("tpot_ns", record.tpot_ns);
    fields.read("e2e_ns", record.e2e_ns);
}

void read_tokens(Fields& fields, RecordChunks chunks, Record& record) {
    if (chunks == RecordChunks::read) {
        record.has_chunks = fields.read_array("chunk_ns", record.chunk_ns);
        record.chunk_tokens_known = fields.read_array("chunk_tokens", record.chunk_tokens);
    }
    std::optional<std::string> kinds;
    fields.read_later("chunk_kinds", kinds);
    record.chunk_kinds = kinds.value_or("");
    fields.read("input_length", record.input_length);
    fields.read("prompt_tokens", record.prompt_tokens);
    fields.read_later("prompt_tokens_off", record.prompt_tokens_off);
    fields.read_later("live_turns", record.live_turns);
    fields.read_later("padded_tokens", record.padded_tokens);
    fields.read("expected_cached_tokens", record.expected_cached_tokens);
    fields.read_later("expected_cached_server", record.expected_cached_server);
    fields.read("cached_tokens", record.cached_tokens);
    fields.read("output_length", record.output_length);
    fields.read("output_tokens", record.output_tokens);
    const JsonValue source = fields.get("tokens_source");
    if (source.present() && !source.is(JsonType::null)) {
        read_name(fields, "tokens_source", tokens_source_from_name, record.tokens_source.emplace());
    }
}

void read_end(Fields& fields, Record& record) {
    read_name(fields, "outcome", outcome_from_name, record.outcome);
    fields.read("status", record.status);
    fields.read("error", record.error);
    fields.read("finish_reason", record.finish_reason);
    fields.read("response_id", record.response_id);
    fields.read_later("trace_id", record.trace_id);
    read_headers(fields, fields.get_later("headers"), record);
    read_object(fields, "worker", fields.get_later("worker"), record.worker);
    fields.read("inflight", record.inflight);
    read_digest(fields, record);
    fields.read("bytes_sent", record.bytes_sent);
    fields.read("bytes_received", record.bytes_received);
    fields.read("coalesced_chunks", record.coalesced_chunks);
    fields.read("receive_delay_ns", record.receive_delay_ns);
    fields.read_later("retransmits", record.retransmits);
    fields.read_later("wire_delay_bound_ns", record.wire_delay_bound_ns);
    fields.read_later("request_delay_ns", record.request_delay_ns);
}

}  // namespace

Result<Record> read_record(JsonDocument& document, std::string_view line) {
    const Result<JsonValue> root = document.parse(line);
    if (!root) {
        return Error{ErrorCode::bad_json, 0, "read a record"};
    }
    return record_of(root.value());
}

Result<Record> record_of(const JsonValue& line, RecordChunks chunks) {
    if (!line.is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read a record"};
    }
    Fields fields(line);
    Record record;
    read_origin(fields, record);
    read_times(fields, record);
    read_tokens(fields, chunks, record);
    read_end(fields, record);
    if (fields.failed()) {
        return fields.error();
    }
    return record;
}

}  // namespace driftless
