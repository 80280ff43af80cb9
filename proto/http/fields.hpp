/// Header fields of responses: inside a head that was collected, or scanned from its bytes as they
/// come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/core/text.hpp"

namespace driftless {

// Header fields inside a head that was collected as bytes. Pure functions over views.

/// Walks the header fields of a head (status or request line included or not): the value of the
/// first field of that name (case-insensitive, blanks trimmed), or nullptr data where there is
/// none. A field with an empty value gives an empty view with data.
std::string_view header_value(std::string_view head, std::string_view name);

/// How the body is encoded apart from chunks, as a message says it ("content-encoding: gzip");
/// empty: not at all. No encoding is decoded here.
std::string body_encoding(std::string_view head);

/// Whether a Content-Type is that of server-sent events, whatever its parameters.
bool is_event_stream(std::string_view content_type);

/// True for what may name a field (RFC 9110, 5.6.2: a token) and for what may be its value (5.5,
/// without the blanks around it: no control byte but the tab; bytes above ASCII pass).
bool is_header_name(std::string_view text);
bool is_header_value(std::string_view text);

/// FieldScanner: the values of one field of a response head, from its bytes as they come.
///
/// Owned by the ResponseParser. It keeps the value of that one field, up to `value_bytes_max`, and
/// nothing else; it allocates nothing.
class FieldScanner {
  public:
    /// `field_begin`: the name in lower case and the colon; outlives the scanner.
    explicit constexpr FieldScanner(std::string_view field_begin) : field_begin_(field_begin) {}

    /// Ready for the next head.
    void reset() { *this = FieldScanner(field_begin_); }
    /// The next bytes of a head, its status line included. Calls `take(value, cut)` at the end of
    /// each line of that field; `cut`: the value is longer than what is kept of it.
    template <class Take>
    void feed(std::string_view head, Take take) {
        while (!head.empty()) {
            if (place_ == Place::elsewhere) {
                const std::size_t end = head.find('\n');
                if (end == std::string_view::npos) {
                    return;
                }
                head.remove_prefix(end);
            }
            if (head.front() == '\n' && place_ == Place::value) {
                take(std::string_view(value_, value_bytes_), cut_);
            }
            step(head.front());
            head.remove_prefix(1);
        }
    }

    /// The longest that servers send is below 40.
    static constexpr std::size_t value_bytes_max = 96;

  private:
    enum class Place : std::uint8_t { name, value, elsewhere };

    void step(char byte) {
        if (byte == '\n') {
            place_ = Place::name;
            matched_ = value_bytes_ = 0;
            cut_ = false;
        } else if (place_ == Place::name) {
            place_ = lower(byte) == field_begin_[matched_] ? Place::name : Place::elsewhere;
            if (++matched_ == field_begin_.size() && place_ == Place::name) {
                place_ = Place::value;
            }
        } else if (place_ == Place::value && byte != '\r') {
            cut_ = value_bytes_ == value_bytes_max;
            if (!cut_) {
                value_[value_bytes_++] = byte;
            }
        }
    }

    std::string_view field_begin_;
    Place place_ = Place::elsewhere;  ///< the status line is no field
    std::size_t matched_ = 0;         ///< bytes of the name that this line begins with
    std::size_t value_bytes_ = 0;
    bool cut_ = false;
    char value_[value_bytes_max] = {};
};

// KeepAliveScanner: how long a server says its connection may be used, from the bytes of a
// response head as they come: `Keep-Alive: timeout=5, max=100` (RFC 2068, 19.7.1.1).
//
// Owned by the ResponseParser. It allocates nothing and judges nothing: what a limit means for a
// connection is the replay's business.

/// Unknown where the server did not say it, or not as a number.
struct KeepAliveLimits {
    std::optional<std::uint32_t> timeout_s;  ///< an idle connection is closed after so long
    std::optional<std::uint32_t> max;        ///< answers, in all or still to come: servers differ
    bool operator==(const KeepAliveLimits&) const = default;
};

/// Names are case-insensitive, values may be quoted; the smallest of several counts, and numbers
/// beyond 32 bits count as the largest. A parameter that goes on beyond what is kept is left out.
class KeepAliveScanner {
  public:
    /// Ready for the next head.
    void reset() { *this = KeepAliveScanner(); }
    /// The next bytes of a head, its status line included.
    void feed(std::string_view head);
    /// Of all fields of that name whose lines are complete.
    const KeepAliveLimits& limits() const { return limits_; }

  private:
    FieldScanner field_{"keep-alive:"};
    KeepAliveLimits limits_;
};

// RetryAfterScanner: when a server says that a request may come again, from the bytes of a
// response head as they come: `Retry-After: 3` (RFC 9110, 10.2.3). Owned by the ResponseParser; it
// allocates nothing.

/// Seconds only, whole or decimal, as engines and gateways send them; of several fields the last. A
/// date counts as absent, because it would need a clock; so does a value that is longer than the
/// part of it that is kept.
class RetryAfterScanner {
  public:
    void reset() { *this = RetryAfterScanner(); }
    void feed(std::string_view head);
    /// ns, at most an hour; nothing where it was not said.
    const std::optional<std::int64_t>& wait_ns() const { return wait_ns_; }

    static constexpr std::int64_t longest_ns = 3'600'000'000'000;

  private:
    FieldScanner field_{"retry-after:"};
    std::optional<std::int64_t> wait_ns_;
};

}  // namespace driftless
