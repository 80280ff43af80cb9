/// KeepAliveScanner: what a server says of how long its connection may be used, from the bytes of a
/// response head as they come: `Keep-Alive: timeout=5, max=100` (RFC 2068, 19.7.1.1).
///
/// Owned by the ResponseParser. It keeps the value of that one field, up to `value_bytes_max`, and
/// nothing else; it allocates nothing and judges nothing: what a limit means for a connection is
/// the replay's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace driftless {

/// Unknown where the server did not say it, or not as a number.
struct KeepAliveLimits {
    std::optional<std::uint32_t> timeout_s;  ///< an idle connection is closed after so long
    std::optional<std::uint32_t> max;        ///< answers, in all or still to come: servers differ
    bool operator==(const KeepAliveLimits&) const = default;
};

/// Names are case-insensitive, values may be quoted; the smallest of several counts, and numbers
/// beyond 32 bits count as the largest.
class KeepAliveScanner {
  public:
    /// Ready for the next head.
    void reset() { *this = KeepAliveScanner(); }
    /// The next bytes of a head, its status line included.
    void feed(std::string_view head);
    /// Of all fields of that name whose lines are complete.
    const KeepAliveLimits& limits() const { return limits_; }

    /// The longest that servers send is below 40; a parameter that goes on beyond is left out.
    static constexpr std::size_t value_bytes_max = 96;

  private:
    enum class Place : std::uint8_t { name, value, elsewhere };
    void take(char byte);
    void end_line();

    Place place_ = Place::elsewhere;  ///< the status line is no field
    std::size_t matched_ = 0;         ///< bytes of the name that this line begins with
    std::size_t value_bytes_ = 0;
    bool cut_ = false;  ///< the value is longer than what is kept of it
    char value_[value_bytes_max] = {};
    KeepAliveLimits limits_;
};

}  // namespace driftless
