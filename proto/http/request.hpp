/// HTTP/1.1 request heads as bytes. Pure values; no socket, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
