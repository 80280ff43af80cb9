/// Record: what is known about one row at the end, and how it ended: closed lists; before it the
/// tokens that a server adds around every prompt. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"

namespace driftless {

// Overhead: the tokens that a server adds around every prompt. Plain values.

/// H = pre + post tokens, as the preflight found or `--overhead` says.
struct Overhead {
    std::uint32_t pre = 0;
    std::uint32_t post = 0;
    bool operator==(const Overhead&) const = default;
};

// Record: what is known about one row at the end, and how it ended: closed lists. Plain values.

// How a row ended, why it was late, and where its token count comes from: closed lists, with the
// names that records have. Values and names only; the assembler and the engine decide.

/// One enum for every end that a row can have (design, section 5). Every row has exactly one.
enum class Outcome : std::uint8_t {
    ok,                  ///< framing complete, tokens came, no error
    short_output,        ///< ok, but ended before the asked length under `--output exact`
    long_output,         ///< ok, but longer than the asked length under `--output exact`
    client_failed,       ///< our own lack: descriptors, ports, memory, buffers
    connect_failed,      ///< refused, unreachable, or reset before a connection stood
    tls_failed,          ///< handshake or certificate
    send_failed,         ///< the connection broke while the request was being sent
    timeout_connect,     ///< `--timeout-connect`
    timeout_first_byte,  ///< `--timeout-first-byte`: no response byte in time
    timeout_idle,        ///< `--timeout-idle`: silence inside a response
    timeout_total,       ///< `--timeout-total`
    http_3xx,            ///< a redirect; never followed
    http_4xx,            ///< status 400..499 but 429
    http_429,            ///< too many requests
    http_5xx,            ///< status 500..599
    bad_content,         ///< a 200 that is no stream of the API, or is encoded
    stream_error,        ///< an error object inside a 200, or a finish that is a failure
    truncated,           ///< closed, reset or ended before the response was complete
    bad_http,            ///< the answer is no HTTP/1.1 response
    bad_event,           ///< an event that is no JSON or not of the API
    limit_exceeded,      ///< more bytes, events or tokens than the limits allow
    no_tokens,           ///< complete, without error; no token seen, none counted
    abandoned,           ///< given up by its client, by plan (`--abandon`); not a failure
    cancelled,           ///< in flight when the user ended the run
    interrupted,         ///< in flight, for all we know, when an earlier segment of this run died
    not_sent,            ///< never fired
};
template <>
inline constexpr auto closed_list<Outcome> =
    name_list("ok", "short_output", "long_output", "client_failed", "connect_failed", "tls_failed",
              "send_failed", "timeout_connect", "timeout_first_byte", "timeout_idle",
              "timeout_total", "http_3xx", "http_4xx", "http_429", "http_5xx", "bad_content",
              "stream_error", "truncated", "bad_http", "bad_event", "limit_exceeded", "no_tokens",
              "abandoned", "cancelled", "interrupted", "not_sent");
inline constexpr unsigned outcome_count = closed_list<Outcome>.size();
static_assert(static_cast<unsigned>(Outcome::not_sent) + 1 == outcome_count);

/// Whether the answer came whole, of whatever length: ok, short_output or long_output.
constexpr bool is_whole(Outcome outcome) {
    return outcome <= Outcome::long_output;
}
/// Whether it counts as a failure: no whole answer came, and the client did not give it up by plan.
constexpr bool is_failure(Outcome outcome) {
    return !is_whole(outcome) && outcome != Outcome::abandoned;
}
/// Whether a clock or the user of this client ended it: it would have gone on.
constexpr bool is_ended_here(Outcome outcome) {
    return outcome == Outcome::timeout_connect || outcome == Outcome::timeout_first_byte ||
           outcome == Outcome::timeout_idle || outcome == Outcome::timeout_total ||
           outcome == Outcome::abandoned || outcome == Outcome::cancelled;
}
/// Whether that, or a broken connection, ended it, and no answer did.
constexpr bool is_cut_off(Outcome outcome) {
    return is_ended_here(outcome) || outcome == Outcome::truncated ||
           outcome == Outcome::send_failed;
}
/// Whether its TTFT counts, where a first token came: what the client did later changes nothing.
constexpr bool counts_ttft(Outcome outcome) {
    return outcome == Outcome::ok || outcome == Outcome::abandoned;
}

/// Why a row was fired later than its due instant.
enum class LateCause : std::uint8_t {
    none,      ///< within what the loop counts as on time
    wake,      ///< the thread woke late, or was taken off its core
    guard,     ///< other work (receive, prepare) still ran
    prepare,   ///< its bytes were not ready
    lane,      ///< no connection was ready
    inflight,  ///< held back by `--max-inflight`
    budget,    ///< held back by `--budget-input` or `--budget-output`
    limit,     ///< held back by a limit of this host, which nobody asked for
    writer,    ///< held back by our own writer: no room to account for one more row
    burst,     ///< rows that were due before it, or with it, still left
};
template <>
inline constexpr auto closed_list<LateCause> = std::to_array<const char*>(
    {"none", "wake", "guard", "prepare", "lane", "inflight", "budget", "limit", "writer", "burst"});
inline constexpr unsigned late_cause_count = closed_list<LateCause>.size();
static_assert(static_cast<unsigned>(LateCause::burst) + 1 == late_cause_count);

/// The user asked for it: such rows are in no figure of our own lateness.
constexpr bool is_wish(LateCause cause) {
    return cause == LateCause::inflight || cause == LateCause::budget;
}

/// What the connection of a row was to it when it left.
enum class ConnectionState : std::uint8_t {
    fresh,   ///< no row had used it
    reused,  ///< others had
    sticky,  ///< `--connection sticky`: that of its session
    moved,   ///< `--connection sticky`: another one, for that of its session was busy, or gone
};
template <>
inline constexpr auto closed_list<ConnectionState> =
    name_list("fresh", "reused", "sticky", "moved");

/// What the row was sent for. The figures are of `profile`.
enum class Phase : std::uint8_t {
    warmup,   ///< before the measurement
    profile,  ///< it is measured
    drain,    ///< after it
};
template <>
inline constexpr auto closed_list<Phase> = name_list("warmup", "profile", "drain");
inline constexpr unsigned phase_count = closed_list<Phase>.size();

/// Which of the two servers of a dual-fire run a request is for; each row goes to both.
enum class Side : std::uint8_t {
    none,  ///< the run has no sides
    a,     ///< `--url`
    b,     ///< `--against`
};
template <>
inline constexpr auto closed_list<Side> = name_list("none", "a", "b");
template <>
inline constexpr bool first_is_null<Side> = true;
inline constexpr unsigned side_count = closed_list<Side>.size();

/// Where `output_tokens` comes from, best first.
enum class TokensSource : std::uint8_t {
    usage,       ///< the server's final usage
    continuous,  ///< usage on the chunks of a stream that had no final one
    ids,         ///< token ids on the chunks
    chunks,      ///< number of token-bearing chunks: a lower bound
};
template <>
inline constexpr auto closed_list<TokensSource> = name_list("usage", "continuous", "ids", "chunks");
inline constexpr unsigned tokens_source_count = closed_list<TokensSource>.size();

// Record: what is known about one row at the end. One row, one record, always. A plain value: the
// writer assembles it (engine/record), JSONL carries it, the summary is fed with it; it computes
// nothing.
//
// All stamps are ns from time 0 of the run (negative before it); unknown is nullopt and written as
// null, never 0. The key of every field in `requests.jsonl` is its name here.

class JsonDocument;

/// Version of the record's keys. Later work adds keys and raises it; it never renames. Which key
/// came with which: record_lines.hpp. Besides, 5 has the late cause `writer`; 6 `limit`, and the
/// outcomes `long_output` and `client_failed`; 8 `error` of rows not sent; 10 the phase `warmup`;
/// 12 the outcome `abandoned`; 15 `engine` in client.jsonl; 16 the late cause `burst`.
/// `driftless merge` adds `shard` at the end of each line; no run writes it.
inline constexpr int record_schema = 17;

using OptionalNs = std::optional<std::int64_t>;

/// Reasons in `tainted`: why the row says less about the server than the others.
inline constexpr std::string_view taint_payload_dropped = "payload_dropped";  ///< our ring was full
inline constexpr std::string_view taint_entries_dropped = "entries_dropped";
inline constexpr std::string_view taint_late = "late";  ///< sent later than the host's floor allows
/// A byte of its answer may have waited too long.
inline constexpr std::string_view taint_read_late = "read_late";
/// On the wire later after its fire than the limit.
inline constexpr std::string_view taint_wire_late = "wire_late";
/// A part of its request waited for us, behind the first.
inline constexpr std::string_view taint_sent_late = "sent_late";
/// Its connection had ended, and it was sent again: later than `fired_ns` says.
inline constexpr std::string_view taint_retried = "retried";

/// A limit of this host, which the user did not ask for, held it back.
inline constexpr std::string_view taint_limit = "limit";
inline constexpr std::string_view taint_client_failed = "client_failed";  ///< its outcome
/// A part of the request was lost on the way: it arrived late.
inline constexpr std::string_view taint_retransmitted = "retransmitted";
/// Bytes of its answer were there before the request had left: they answer something else.
inline constexpr std::string_view taint_answered_early = "answered_early";
/// A client that is never late might have seen another end: it was read on behind a limit
/// (`--timeout-..`, `--abandon`, the run's end) that may have passed before its bytes came; or it
/// was cut off after so much had waited here that its server may have had to wait.
inline constexpr std::string_view taint_end_unsure = "end_unsure";
/// A row that is given up later than this, behind its time to wait, is `end_unsure`.
inline constexpr std::int64_t abandoned_late_max_ns = 1'000'000;

/// A field of the answer's head that the user wants to see.
struct RecordedHeader {
    std::string name;                  ///< as the user spells it
    std::optional<std::string> value;  ///< at most 256 bytes, keys masked; null: the head has none
};

struct Record {
    std::uint32_t row = 0;      ///< index in file order
    std::uint32_t request = 0;  ///< number of the sending, from 0 over all segments of the run
    std::uint32_t pass = 0;     ///< how often the trace had been gone through before
    Phase phase = Phase::profile;
    std::uint32_t attempt = 0;  ///< how often it was sent before in this pass, and failed
    Side side = Side::none;     ///< of the two servers of dual fire; none is written as null
    std::optional<std::uint32_t> user;
    std::optional<std::string> session;
    std::optional<std::string> tree;  ///< the root session; of a session without one, itself
    std::optional<std::uint32_t> turn;
    std::string kept;           ///< JSON object text, or empty: null
    std::uint32_t segment = 0;  ///< 0: until the run was killed; one more with each `--resume`
    std::optional<std::uint32_t> shard;  ///< of a merged run alone: whose record it is

    std::string url;  ///< empty where nothing left and there are several: null
    std::string api;
    std::optional<std::string> model;         ///< that was asked for; keys masked
    std::optional<std::uint32_t> connection;  ///< lane number; null when nothing left
    bool reused = false;                      ///< an earlier exchange had used the connection
    std::optional<ConnectionState> connection_state;  ///< null when nothing left
    OptionalNs connection_age_ns;                     ///< fired_ns - connect_ns
    std::uint32_t stale_retries = 0;

    std::int64_t due_ns = 0;
    OptionalNs parent_end_ns;  ///< the last row that it waited for had ended, or left; null: none
    /// It was fired before a turn before it had ended (row_state.hpp); null: not known, or none.
    std::optional<bool> overtaken;
    OptionalNs armed_ns;
    OptionalNs fired_ns;
    OptionalNs drift_ns;  ///< fired_ns - due_ns
    std::int64_t held_ns = 0;
    LateCause late_cause = LateCause::none;
    std::vector<std::string> tainted;  ///< reasons; empty is written as null

    OptionalNs connect_ns;
    OptionalNs submit_ns;  ///< how long the call took that handed the first bytes to the kernel
    OptionalNs wire_ns;
    OptionalNs sent_ns;
    OptionalNs headers_ns;
    OptionalNs first_byte_ns;
    OptionalNs first_token_ns;
    OptionalNs first_content_ns;
    OptionalNs last_token_ns;
    OptionalNs first_event_ns;  ///< first event of the API, be it a role or a token; no usage alone
    OptionalNs finish_event_ns;  ///< the one that named the finish reason
    OptionalNs usage_event_ns;   ///< the last one that held usage and nothing else
    OptionalNs error_event_ns;   ///< first error object in the stream
    OptionalNs end_marker_ns;    ///< `[DONE]`, where the API has it
    OptionalNs done_ns;
    OptionalNs ended_ns;    ///< complete or given up, whatever the outcome
    bool censored = false;  ///< `cancelled` because the time of the run was over, by plan

    OptionalNs ttft_ns;             ///< first_token_ns - fired_ns
    OptionalNs ttft_due_ns;         ///< first_token_ns - due_ns
    std::optional<double> tpot_ns;  ///< (last - first token) / (output_tokens - 1)
    OptionalNs e2e_ns;              ///< last_token_ns - fired_ns
    /// The client read the first and the last token at most so late: they had come up to so long
    /// before their stamps. Null: not known.
    OptionalNs first_late_ns;
    OptionalNs last_late_ns;

    bool has_chunks = true;              ///< false under `--chunks none`: both arrays null
    std::vector<std::int64_t> chunk_ns;  ///< [chunks] stamp - fired_ns
    /// [chunks]; written as null where `!chunk_tokens_known`
    std::vector<std::int32_t> chunk_tokens;
    bool chunk_tokens_known = false;
    /// [chunks] at most so late each was read; written as null where `!chunks_late_known`
    std::vector<std::int64_t> chunk_late_ns;
    bool chunks_late_known = false;
    /// What each chunk held, as runs: "r2c40" is 2 of reasoning, then 40 of content; `t` is tool
    /// text, `e` a token without text, `u` unknown. Empty where there is no chunk: null.
    std::string chunk_kinds;

    std::optional<std::uint32_t> input_length;  ///< null: recorded in words, of unknown length
    std::optional<std::int64_t> prompt_tokens;
    std::optional<std::int64_t> prompt_tokens_off;  ///< prompt_tokens - input_length
    std::optional<std::uint32_t>
        live_turns;  ///< answers of this run in its prompt; null: the trace's
    /// Tokens that such a prompt lacked of its recorded length, and was filled up with; below 0: so
    /// many too many. Null: not known, or it could not be filled up.
    std::optional<std::int64_t> padded_tokens;
    std::optional<std::int64_t> expected_cached_tokens;  ///< null: in words; or unsent (users)
    std::optional<std::int64_t> expected_cached_server;  ///< the same in the server's own blocks
    std::optional<std::int64_t> cached_tokens;
    std::optional<std::uint32_t> output_length;  ///< null: not recorded
    std::optional<std::int64_t> output_tokens;
    std::optional<TokensSource> tokens_source;

    Outcome outcome = Outcome::not_sent;
    std::optional<int> status;
    /// At most 256 bytes, keys masked. Of `not_sent`: which row it waited for in vain; null where
    /// the run was stopped.
    std::optional<std::string> error;
    std::optional<std::string> finish_reason;
    std::optional<std::string> response_id;
    std::optional<std::string> trace_id;  ///< `--traceparent`; 32 hex digits
    std::vector<RecordedHeader> headers;  ///< `--record-header`, in its order
    std::string worker;  ///< JSON object text of what the gateway says of it, or empty: null

    std::optional<std::uint32_t> inflight;  ///< exchanges open at the fire, this one not counted
    std::optional<std::uint64_t> output_digest;  ///< written as 16 hex digits
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint32_t coalesced_chunks = 0;
    OptionalNs receive_delay_ns;
    std::optional<std::uint32_t> retransmits;  ///< segments sent again; null: unknown
    OptionalNs wire_delay_bound_ns;  ///< from the fire to the wire at most; null: nothing left
    OptionalNs
        request_delay_ns;  ///< parts of the request waited for us, in sum; null: nothing left
};

// The keys of a line in their order, since which schema, and their fields: the one list by which
// lines are written and read (record_lines.hpp). What they mean: record.schema.json.

/// Up to what orders records.
void walk_origin(auto& fields, auto& record) {
    fields.value("row", 1, record.row);
    fields.value("request", 8, record.request);
    fields.value("pass", 8, record.pass);
    fields.value("phase", 8, record.phase);
    fields.value("attempt", 10, record.attempt);
    fields.value("side", 14, record.side);
    fields.value("user", 8, record.user);
    fields.value("session", 1, record.session);
    fields.value("tree", 8, record.tree);
    fields.value("turn", 1, record.turn);
    fields.object("kept", 1, record.kept);
    fields.value("segment", 4, record.segment);
    fields.text("url", 1, record.url);
    fields.value("api", 1, record.api);
    fields.value("model", 6, record.model);
    fields.value("connection", 1, record.connection);
    fields.value("reused", 1, record.reused);
    fields.value("connection_state", 5, record.connection_state);
    fields.value("connection_age_ns", 5, record.connection_age_ns);
    fields.value("stale_retries", 1, record.stale_retries);
    fields.value("due_ns", 1, record.due_ns);
}

void walk_times(auto& fields, auto& record) {
    fields.value("parent_end_ns", 8, record.parent_end_ns);
    fields.value("overtaken", 9, record.overtaken);
    fields.value("armed_ns", 1, record.armed_ns);
    fields.value("fired_ns", 1, record.fired_ns);
    fields.value("drift_ns", 1, record.drift_ns);
    fields.value("held_ns", 1, record.held_ns);
    fields.value("late_cause", 1, record.late_cause);
    fields.texts("tainted", 1, record.tainted);
    fields.value("connect_ns", 1, record.connect_ns);
    fields.value("submit_ns", 3, record.submit_ns);
    fields.value("wire_ns", 1, record.wire_ns);
    fields.value("sent_ns", 1, record.sent_ns);
    fields.value("headers_ns", 1, record.headers_ns);
    fields.value("first_byte_ns", 1, record.first_byte_ns);
    fields.value("first_token_ns", 1, record.first_token_ns);
    fields.value("first_content_ns", 1, record.first_content_ns);
    fields.value("last_token_ns", 1, record.last_token_ns);
    fields.value("first_event_ns", 13, record.first_event_ns);
    fields.value("finish_event_ns", 13, record.finish_event_ns);
    fields.value("usage_event_ns", 13, record.usage_event_ns);
    fields.value("error_event_ns", 13, record.error_event_ns);
    fields.value("end_marker_ns", 13, record.end_marker_ns);
    fields.value("done_ns", 1, record.done_ns);
    fields.value("ended_ns", 2, record.ended_ns);
    fields.value("censored", 10, record.censored);
    fields.value("ttft_ns", 1, record.ttft_ns);
    fields.value("ttft_due_ns", 1, record.ttft_due_ns);
    fields.value("tpot_ns", 1, record.tpot_ns);
    fields.value("e2e_ns", 1, record.e2e_ns);
    fields.value("first_late_ns", 17, record.first_late_ns);
    fields.value("last_late_ns", 17, record.last_late_ns);
}

void walk_tokens(auto& fields, auto& record) {
    fields.chunks("chunk_ns", 1, record.chunk_ns, record.has_chunks);
    fields.chunks("chunk_tokens", 1, record.chunk_tokens, record.chunk_tokens_known);
    fields.chunks("chunk_late_ns", 17, record.chunk_late_ns, record.chunks_late_known);
    fields.chunks("chunk_kinds", 13, record.chunk_kinds);
    fields.value("input_length", 1, record.input_length);
    fields.value("prompt_tokens", 1, record.prompt_tokens);
    fields.value("prompt_tokens_off", 2, record.prompt_tokens_off);
    fields.value("live_turns", 11, record.live_turns);
    fields.value("padded_tokens", 11, record.padded_tokens);
    fields.value("expected_cached_tokens", 1, record.expected_cached_tokens);
    fields.value("expected_cached_server", 6, record.expected_cached_server);
    fields.value("cached_tokens", 1, record.cached_tokens);
    fields.value("output_length", 1, record.output_length);
    fields.value("output_tokens", 1, record.output_tokens);
    fields.value("tokens_source", 1, record.tokens_source);
}

void walk_end(auto& fields, auto& record) {
    fields.value("outcome", 1, record.outcome);
    fields.value("status", 1, record.status);
    fields.value("error", 1, record.error);
    fields.value("finish_reason", 1, record.finish_reason);
    fields.value("response_id", 1, record.response_id);
    fields.value("trace_id", 5, record.trace_id);
    fields.by_name("headers", 5, record.headers);
    fields.object("worker", 6, record.worker);
    fields.value("inflight", 1, record.inflight);
    fields.digest("output_digest", 1, record.output_digest);
    fields.value("bytes_sent", 1, record.bytes_sent);
    fields.value("bytes_received", 1, record.bytes_received);
    fields.value("coalesced_chunks", 1, record.coalesced_chunks);
    fields.value("receive_delay_ns", 1, record.receive_delay_ns);
    fields.value("retransmits", 6, record.retransmits);
    fields.value("wire_delay_bound_ns", 7, record.wire_delay_bound_ns);
    fields.value("request_delay_ns", 7, record.request_delay_ns);
    fields.if_known("shard", 1, record.shard);
}

bool has_taint(const Record& record, std::string_view reason);
/// The full event ring took a part of its answer: what stood there is lost in the client.
bool lost_in_client(const Record& record);
/// Its output tokens were counted. Chunks are only a lower bound: no TPOT and no rate follows.
inline bool counts_output(const Record& record) {
    return record.output_tokens && record.tokens_source != TokensSource::chunks;
}

/// Appends one line, newline included. Every line has every key, in the order above; `shard` is
/// its last one, where it is known.
void append_jsonl(std::string& out, const Record& record);

/// Reads a line back, with or without its newline. Unknown keys are ignored: they are from a later
/// schema. Keys that schema 1 did not have are null, or 0, if they are missing; so is a TPOT that
/// an older run made of chunks. Errors: bad_json
/// (not an object, or a value of another type), missing (a key), out_of_range (a number that its
/// field cannot hold).
Result<Record> read_record(JsonDocument& document, std::string_view line);

}  // namespace driftless
