#include "engine/tls/failure.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>

#include "proto/core/letter_case.hpp"

namespace driftless {

namespace {

const char* certificate_remedy(long verdict) {
    switch (verdict) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "; use the certificate's name in --url, or accept it with --insecure";
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "; renew it, check this host's clock, or accept it with --insecure";
        default:
            return "; name its authority with --ca FILE, or accept it with --insecure";
    }
}

const char* reason_remedy(int reason) {
    switch (reason) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
            return "; check that the server speaks TLS on this port, or use http:// in --url";
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            return "; the server closed the connection: see its log, or use http:// in --url if it "
                   "speaks plain http";
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
            return "; if the server asks for a client certificate, give --cert and --key";
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
            return "; driftless speaks TLS 1.2 and 1.3";
        default:
            return "";
    }
}

}  // namespace

bool is_of_tls_port(std::string_view answer) {
    if (answer.starts_with("\x15\x03")) {  // RFC 8446, 5.1: content type alert, version 3.x
        return true;
    }
    const std::string said = lower(answer);
    constexpr std::string_view words[] = {"plain http request was sent to https",
                                          "http request to an https", "plain http to an ssl"};
    return std::any_of(std::begin(words), std::end(words),
                       [&said](std::string_view one) { return said.find(one) != said.npos; });
}

std::string describe(TlsFailure failure) {
    if (failure == 0) {
        return "";
    }
    if ((failure & certificate_failure) != 0) {
        const long verdict = static_cast<long>(failure & ~certificate_failure);
        return std::string("certificate verify failed: ") + X509_verify_cert_error_string(verdict) +
               certificate_remedy(verdict);
    }
    const char* words = ERR_reason_error_string(failure);
    const int reason = ERR_GET_REASON(failure);
    return (reason == SSL_R_WRONG_VERSION_NUMBER ? "the answer is not TLS (wrong version number)"
            : words != nullptr                   ? words
                                                 : "TLS failed") +
           std::string(reason_remedy(reason));
}

}  // namespace driftless
