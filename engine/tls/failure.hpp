/// TlsFailure: why a handshake or a record failed, as one number that fits an event: OpenSSL's
/// packed reason, or, with the top bit set, its verdict on a certificate (X509_V_ERR_...). A plain
/// value; 0 is none. The words are OpenSSL's own, and are made only where somebody reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

using TlsFailure = std::uint32_t;

/// The verdict on a certificate, among the failures.
inline constexpr TlsFailure certificate_failure = 0x8000'0000u;

/// OpenSSL's words, then the remedy where there is one: "certificate verify failed: certificate has
/// expired; renew it, or accept it with --insecure". Never a secret: OpenSSL's words are fixed.
std::string describe(TlsFailure failure);

/// Whether this is what a port that speaks TLS says to plain HTTP: a TLS alert, or the words of
/// nginx, Go or Apache.
bool is_of_tls_port(std::string_view answer);

}  // namespace driftless
