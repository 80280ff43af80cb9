/// KeyedHash: HMAC-SHA-256 (RFC 2104, FIPS 180-4) under a secret, by OpenSSL.
///
/// Who does not know the secret can neither compute a value nor test a guess of what it was made
/// from. Owns OpenSSL's state, which holds the secret and wipes it. For what is made before time 0:
/// below a microsecond a value of a hundred bytes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {

class KeyedHash {
  public:
    using Value = std::array<unsigned char, 32>;

    /// Error: unsupported, where the library has no HMAC or no SHA-256.
    static Result<KeyedHash> create(std::string_view secret);

    KeyedHash(KeyedHash&&) noexcept;
    ~KeyedHash();

    /// The value of some bytes.
    Value of(std::span<const unsigned char> bytes);

  private:
    struct State;
    explicit KeyedHash(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Overwrites a secret that is no longer needed, in a way that no compiler leaves out.
void wipe(std::string& secret);

}  // namespace driftless
