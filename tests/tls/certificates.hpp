/// Certificates that tests make for themselves: an authority, and what it signs, as PEM files that
/// live in memory for as long as the process. They cost less than a millisecond each.
#pragma once

#include <string>
#include <vector>

namespace driftless {

struct PemFiles {
    std::string cert;
    std::string key;
};

struct CertificateSpec {
    std::string subject;
    std::vector<std::string> names;  ///< "DNS:host", "IP:127.0.0.1"; empty: an authority
    long days_from = -1;             ///< validity from today on
    long days_to = 30;
    bool even = false;  ///< Ed25519, whose signatures are all of one length; else EC P-256
};

/// Signed by `authority`, or by itself where that is null. Aborts where OpenSSL fails.
PemFiles make_certificate(const CertificateSpec& spec, const PemFiles* authority);

}  // namespace driftless
