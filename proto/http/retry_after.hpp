/// RetryAfterScanner: when a server says that a request may come again, from the bytes of a
/// response head as they come: `Retry-After: 3` (RFC 9110, 10.2.3). Owned by the ResponseParser; it
/// allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/http/field_scanner.hpp"

namespace driftless {

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
