#include "tests/tls/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/mman.h>

#include <cstdio>

#include "proto/core/errors.hpp"

namespace driftless {
namespace {

void add_extension(X509* certificate, int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    CHECK(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/// The path of a file that has no name outside this process.
std::string file_in_memory() {
    const int fd = ::memfd_create("pem", 0);
    CHECK(fd >= 0);
    return "/proc/self/fd/" + std::to_string(fd);
}

FILE* open_file(const std::string& path, const char* mode) {
    FILE* file = std::fopen(path.c_str(), mode);
    CHECK(file != nullptr);
    return file;
}

void set_name(X509_NAME* name, const std::string& text) {
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1,
                                     0) == 1);
}

std::string dns_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ",") + name;
    }
    return text;
}

/// Ed25519 hashes by itself.
const EVP_MD* hash_for(const EVP_PKEY* key) {
    return EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
}

void sign(X509* certificate, EVP_PKEY* own_key, const PemFiles* authority) {
    if (authority == nullptr) {
        CHECK(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1);
        CHECK(X509_sign(certificate, own_key, hash_for(own_key)) > 0);
        return;
    }
    FILE* file = open_file(authority->cert, "r");
    X509* issuer = PEM_read_X509(file, nullptr, nullptr, nullptr);
    (void)std::fclose(file);
    file = open_file(authority->key, "r");
    EVP_PKEY* key = PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
    (void)std::fclose(file);
    CHECK(issuer != nullptr && key != nullptr);
    CHECK(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
    CHECK(X509_sign(certificate, key, hash_for(key)) > 0);
    X509_free(issuer);
    EVP_PKEY_free(key);
}

}  // namespace

PemFiles make_certificate(const CertificateSpec& spec, const PemFiles* authority) {
    static long serial = 1;
    constexpr long day = 24 * 60 * 60;
    EVP_PKEY* key =
        spec.even ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519") : EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    CHECK(key != nullptr && certificate != nullptr);
    (void)X509_set_version(certificate, X509_VERSION_3);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), spec.days_from * day);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), spec.days_to * day);
    set_name(X509_get_subject_name(certificate), spec.subject);
    CHECK(X509_set_pubkey(certificate, key) == 1);
    if (spec.names.empty()) {
        add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    } else {
        add_extension(certificate, NID_subject_alt_name, dns_names(spec.names));
    }
    sign(certificate, key, authority);

    const PemFiles files{file_in_memory(), file_in_memory()};
    FILE* file = open_file(files.cert, "w");
    CHECK(PEM_write_X509(file, certificate) == 1);
    (void)std::fclose(file);
    file = open_file(files.key, "w");
    CHECK(PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    (void)std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

}  // namespace driftless
