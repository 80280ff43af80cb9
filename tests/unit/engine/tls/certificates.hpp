/// Certificates that tests make for themselves: an authority, and what it signs, as PEM files in
/// the scratch folder of the test. EC P-256, which costs less than a millisecond.
#pragma once

#include <string>
#include <vector>

namespace driftless {

struct PemFiles {
    std::string cert;
    std::string key;
};

struct CertificateSpec {
    std::string file;                ///< "NAME" gives NAME.pem and NAME.key
    std::vector<std::string> names;  ///< "DNS:host", "IP:127.0.0.1"; empty: an authority
    long days_from = -1;             ///< validity from today on
    long days_to = 30;
};

/// Signed by `authority`, or by itself where that is null. Aborts where OpenSSL fails.
PemFiles make_certificate(const CertificateSpec& spec, const PemFiles* authority);

}  // namespace driftless
