/// KeepAliveScanner: how long a server says its connection may be used, from the bytes of a
/// response head as they come: `Keep-Alive: timeout=5, max=100` (RFC 2068, 19.7.1.1).
///
/// Owned by the ResponseParser. It allocates nothing and judges nothing: what a limit means for a
/// connection is the replay's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/http/field_scanner.hpp"

namespace driftless {

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

    static constexpr std::size_t value_bytes_max = FieldScanner::value_bytes_max;

  private:
    FieldScanner field_{"keep-alive:"};
    KeepAliveLimits limits_;
};

}  // namespace driftless
