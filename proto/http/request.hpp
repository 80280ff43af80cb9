/// Requests of HTTP/1.1: the Url that says where they go, and their heads as bytes, with the fields
/// that differ from row to row. Pure values: no name is resolved here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

/// Url: where a server is, as people type it, and how paths are joined to it.
struct Url {
    bool unix_socket = false;  ///< `unix:PATH`: `host` is the socket's path
    bool tls = false;          ///< `https://`
    std::string host;          ///< name or literal; IPv6 without its brackets
    std::uint16_t port = 80;
    std::string path;  ///< base path: empty, or begins with '/' and does not end with one
};

/// Reads `http://host:port/base/path`, `https://`, the same without scheme, `[::1]:8000`,
/// `unix:PATH`. Queries, fragments and credentials are refused: nothing is dropped silently.
/// Errors: invalid, out_of_range (the port); `doing` says what is wrong and the remedy.
Result<Url> parse_url(std::string_view text);

/// Reads `HOST:PORT`, `[ADDRESS]:PORT` or `unix:PATH`: where connections go to, in place of
/// the URL's host. Neither scheme nor path, and the port is not left to be guessed. Errors as
/// `parse_url`.
Result<Url> parse_place(std::string_view text);

/// True where the text can be in a request line: neither blank nor control byte.
bool is_request_target(std::string_view text);

/// True where the text can only be meant as a URL: it has a scheme (`--endpoint` takes both).
bool looks_like_url(std::string_view text);

/// `http://host:port/base/path`, `https://` or `unix:PATH`, without anything that `parse_url`
/// refuses.
std::string to_text(const Url& url);

/// A place as `parse_place` reads it, the port always there.
std::string place_text(const Url& place);

/// Value of the Host header: the port only where it is not the scheme's (80, 443); "localhost" for
/// a Unix socket.
std::string host_header(const Url& url);

/// `base` followed by `path` (which begins with '/'), where what both share is written once:
/// "/v1" and "/v1/models" give "/v1/models"; "/proxy/v1/chat/completions" and itself as path give
/// itself. Only whole segments are shared.
std::string join_path(std::string_view base, std::string_view path);

/// What is before the API in a base path: "/proxy/v1" with "/v1/models" gives "/proxy". Other
/// endpoints of the same server are joined to it.
std::string root_path(std::string_view base, std::string_view api_path);

// HTTP/1.1 request heads as bytes, with the fields that differ from row to row. Pure values.

/// One header field. Neither part holds CR, LF or NUL (checked where it enters: `parse_header`).
struct Header {
    std::string name;
    std::string value;
};

/// Reads `Name: value` or `Name=value` (whichever of ':' and '=' comes first, as users of other
/// tools type both). Errors: invalid, for an empty or illegal name, a control byte in the value, or
/// a field that is ours to decide: Content-Length, Transfer-Encoding, TE, Accept-Encoding, Expect.
Result<Header> parse_header(std::string_view text);

/// What every request of a run shares.
struct RequestHeadSpec {
    std::string method = "POST";
    std::string target;           ///< path and query, beginning with '/'
    std::string host;             ///< value of Host, port included where it is not the default
    std::vector<Header> headers;  ///< Host, Content-Type and X-Request-Id among them replace ours
};

/// What a request is sent for, and which one it is: its X-Request-Id says it.
struct RequestName {
    enum class Kind : char { row = '8', row_of_side_b = '9', probe = 'a' };
    Kind kind = Kind::row;
    std::uint64_t number = 0;  ///< of the row in its file; of the probe
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
};

inline constexpr std::size_t request_id_bytes = 36;

/// The id of a request: a UUID of version 8 (RFC 9562, 5.8), because some servers validate it
/// (llama-cpp-python's answers 400 to any other text).
///   RRRRRRRR-PPPP-8PPP-KAAA-NNNNNNNNNNNN
/// R is the run's id, P the pass, K the kind, A the attempt, N the number; all but R and K are
/// decimal digits, so that a row is found by its number. Passes above 9,999,999 go on before the
/// last nine digits of N. `out` has room for `request_id_bytes`; `run_id`: eight hex digits.
void write_request_id(char* out, std::string_view run_id, const RequestName& name);
std::string request_id_of(std::string_view run_id, const RequestName& name);

/// The parts of a head that do not change from request to request, made once; per request only the
/// id, the length and its own fields are filled in. `write` allocates nothing.
class RequestHead {
  public:
    explicit RequestHead(const RequestHeadSpec& spec);

    /// Upper bound of the bytes that `write` needs for ids and further fields of at most so many.
    std::size_t bytes_max(std::size_t id_bytes_max, std::size_t fields_bytes_max = 0) const;

    /// Writes the whole head, blank line included, to `out` (room for `bytes_max`); returns its
    /// size. POST, PUT and PATCH have Content-Length and Content-Type: application/json, others
    /// neither; X-Request-Id goes with all whose `request_id` is not empty. `fields` are whole
    /// lines of this request alone, line ends included, already held to be legal.
    std::size_t write(char* out, std::string_view request_id, std::uint64_t body_bytes,
                      std::string_view fields = {}) const;

  private:
    std::string fixed_;
    bool has_body_;
    bool has_own_id_;  ///< the spec's headers hold an X-Request-Id
};

// FieldTemplate: a header field whose value has placeholders that each row of a trace fills. Pure
// values; where a row's session or columns come from is not known here.

/// What a placeholder stands for.
enum class Placeholder : std::uint8_t {
    none,     ///< text as it stands
    row,      ///< {row}: index in file order
    session,  ///< {session}
    tree,     ///< {tree}: the session at the root of the row's tree
    parent,   ///< {parent}: the session that spawned the row's own
    turn,     ///< {turn}
    pass,     ///< {pass}: how often the trace had been gone through before
    user,     ///< {user}: who sends the row
    kept,     ///< {kept.NAME}: a column that `--keep` carries
};

/// A piece of a value: literal text, or a placeholder.
struct TemplatePiece {
    Placeholder placeholder = Placeholder::none;
    std::string text;  ///< none: the text; kept: the column's name
};

struct FieldTemplate {
    std::string name;
    std::vector<TemplatePiece> pieces;
    const char* flag = "--header";  ///< that has brought it, for messages

    /// No placeholder: `literal()` is the value of every row.
    bool is_literal() const;
    std::string literal() const;
};

/// "row", "kept.NAME": as it is between the braces.
std::string to_text(const TemplatePiece& piece);

/// Takes a value apart. `{NAME}` of letters, digits, '_', '-' and '.', and `{kept.}` with whatever
/// name, are placeholders; `{{NAME}}` is the text `{NAME}`; other braces are text, as in JSON.
/// Where a placeholder is none of those, or has blanks around its name or no brace behind it,
/// `unknown` is what is behind its brace.
FieldTemplate parse_field_template(const Header& header, std::string& unknown);

/// TraceContext: the name by which a request's spans are found in a tracing backend (W3C Trace
/// Context, level 1, version 00). Pure values; who sends it and who keeps it is decided elsewhere.
struct TraceContext {
    std::uint64_t trace_high = 0;
    std::uint64_t trace_low = 0;
    std::uint64_t span = 0;  ///< of the request itself: the parent of the server's spans
};

/// The context of one row of one run: always the same, different from that of every other row of
/// the run, and never zero (which would be invalid).
TraceContext trace_context_of(std::string_view run_id, std::uint64_t row);

/// 32 hex digits in lower case, as backends show it.
std::string trace_id_text(const TraceContext& context);

/// "traceparent: 00-", 32 digits, "-", 16 digits, "-01" and the line's end.
inline constexpr std::size_t traceparent_bytes = 16 + 32 + 1 + 16 + 3 + 2;

/// Writes the field, sampled flag set, line end included; returns the end.
char* write_traceparent(char* out, const TraceContext& context);

}  // namespace driftless
