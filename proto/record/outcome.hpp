/// How a row ended, why it was late, and where its token count comes from: closed lists, with the
/// names that records have. Values and names only; the assembler and the engine decide.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace driftless {

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
inline constexpr unsigned outcome_count = 26;

const char* name_of(Outcome outcome);
/// Whether the answer came whole, of whatever length: ok, short_output or long_output.
constexpr bool is_whole(Outcome outcome) {
    return outcome <= Outcome::long_output;
}
/// Whether it counts as a failure: no whole answer came, and the client did not give it up by plan.
constexpr bool is_failure(Outcome outcome) {
    return !is_whole(outcome) && outcome != Outcome::abandoned;
}
/// Whether its TTFT counts, where a first token came: what the client did later changes nothing.
constexpr bool counts_ttft(Outcome outcome) {
    return outcome == Outcome::ok || outcome == Outcome::abandoned;
}
std::optional<Outcome> outcome_from_name(std::string_view name);

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
inline constexpr unsigned late_cause_count = 10;

/// The user asked for it: such rows are in no figure of our own lateness.
constexpr bool is_wish(LateCause cause) {
    return cause == LateCause::inflight || cause == LateCause::budget;
}

const char* name_of(LateCause cause);
std::optional<LateCause> late_cause_from_name(std::string_view name);

/// What the connection of a row was to it when it left.
enum class ConnectionState : std::uint8_t {
    fresh,   ///< no row had used it
    reused,  ///< others had
    sticky,  ///< `--connection sticky`: that of its session
    moved,   ///< `--connection sticky`: another one, for that of its session was busy, or gone
};
inline constexpr unsigned connection_state_count = 4;

const char* name_of(ConnectionState state);
std::optional<ConnectionState> connection_state_from_name(std::string_view name);

/// What the row was sent for. The figures are of `profile`.
enum class Phase : std::uint8_t {
    warmup,   ///< before the measurement
    profile,  ///< it is measured
    drain,    ///< after it
};
inline constexpr unsigned phase_count = 3;

const char* name_of(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

/// Which of the two servers of a dual-fire run a request is for; each row goes to both.
enum class Side : std::uint8_t {
    none,  ///< the run has no sides
    a,     ///< `--url`
    b,     ///< `--against`
};
inline constexpr unsigned side_count = 3;

/// "a" or "b"; "none" for Side::none, which files have as null.
const char* name_of(Side side);
/// "a" or "b".
std::optional<Side> side_from_name(std::string_view name);

/// Where `output_tokens` comes from, best first.
enum class TokensSource : std::uint8_t {
    usage,       ///< the server's final usage
    continuous,  ///< usage on the chunks of a stream that had no final one
    ids,         ///< token ids on the chunks
    chunks,      ///< number of token-bearing chunks: a lower bound
};
inline constexpr unsigned tokens_source_count = 4;

const char* name_of(TokensSource source);
std::optional<TokensSource> tokens_source_from_name(std::string_view name);

}  // namespace driftless
