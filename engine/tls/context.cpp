#include "engine/tls/context.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

// ALPN's wire form: a length, then the name (RFC 7301, 3.1).
constexpr unsigned char http_1_1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// The newest ticket is as good as any; a server that lets a ticket be used once falls back to a
/// full handshake by itself.
int keep_session(SSL* ssl, SSL_SESSION* session) {
    static_cast<TlsPeer*>(SSL_get_app_data(ssl))->keep(session);
    return 1;  // the reference is ours now
}

/// A server agrees to http/1.1 where the client offers it, and says nothing where it offers others.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, size, http_1_1, sizeof(http_1_1), offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

SSL_CTX* make(const SSL_METHOD* method) {
    SSL_CTX* context = SSL_CTX_new(method);
    CHECK(context != nullptr);
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // One call of ours, one record: what a configuration file may say of sizes does not hold.
    (void)SSL_CTX_set_block_padding(context, 0);
    SSL_CTX_set_read_ahead(context, 1);
    return context;
}

/// What the file of a flag must hold; OpenSSL's own words for its lack name no remedy.
const char* wanted_of(const std::string& flag) {
    return flag == "--ca"                           ? "name a PEM file with certificates"
           : flag == "--key" || flag == "--tls-key" ? "name a PEM file with the key, without a "
                                                      "pass phrase"
                                                    : "name a PEM file with the certificate";
}

/// "--ca /x/y.pem: No such file or directory; ..", by OpenSSL's first reason.
Error wrong_file(const char* flag, const std::string& file, std::string& why) {
    const unsigned long first = ERR_peek_error();
    const char* reason = ERR_SYSTEM_ERROR(first) ? strerrordesc_np(ERR_GET_REASON(first))
                                                 : ERR_reason_error_string(first);
    why = std::string(flag) + " " + file + ": " +
          (reason != nullptr ? reason : "cannot be read as PEM") + "; " + wanted_of(flag);
    ERR_clear_error();
    return {ErrorCode::invalid, 0, "read a PEM file"};
}

Result<void> load_certificate(SSL_CTX* context, const char* flag, const std::string& cert_file,
                              const char* key_flag, const std::string& key_file, std::string& why) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, cert_file.c_str()) != 1) {
        return wrong_file(flag, cert_file, why);
    }
    const std::string& key = key_file.empty() ? cert_file : key_file;
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
        if (key_file.empty()) {  // OpenSSL says "unsupported" of a file without a key
            ERR_clear_error();
            why = std::string(flag) + " " + cert_file +
                  ": has no private key that can be read without a pass phrase; give " + key_flag +
                  " FILE";
            return Error{ErrorCode::invalid, 0, "read a PEM file"};
        }
        return wrong_file(key_flag, key, why);
    }
    return {};
}

/// A key behind a pass phrase would be asked for on the terminal, in the middle of a script.
int no_pass_phrase(char*, int, int, void*) {
    return 0;
}

}  // namespace

Result<TlsContext> TlsContext::client(const TlsClientOptions& options, std::string& why) {
    TlsContext made(make(TLS_client_method()));
    SSL_CTX* context = made.context_;
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    CHECK(SSL_CTX_set_alpn_protos(context, http_1_1, sizeof(http_1_1)) == 0);
    SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    (void)SSL_CTX_set_session_cache_mode(context,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    ERR_clear_error();
    const bool trusts = options.ca_file.empty()
                            ? SSL_CTX_set_default_verify_paths(context) == 1
                            : SSL_CTX_load_verify_file(context, options.ca_file.c_str()) == 1;
    if (!trusts) {
        return wrong_file("--ca", options.ca_file, why);
    }
    if (!options.cert_file.empty()) {
        const Result<void> loaded =
            load_certificate(context, "--cert", options.cert_file, "--key", options.key_file, why);
        if (!loaded) {
            return loaded.error();
        }
    }
    return made;
}

Result<TlsContext> TlsContext::server(const TlsServerOptions& options, std::string& why) {
    TlsContext made(make(TLS_server_method()));
    SSL_CTX_set_default_passwd_cb(made.context_, no_pass_phrase);
    SSL_CTX_set_alpn_select_cb(made.context_, choose_protocol, nullptr);
    const Result<void> loaded = load_certificate(made.context_, "--tls-cert", options.cert_file,
                                                 "--tls-key", options.key_file, why);
    if (!loaded) {
        return loaded.error();
    }
    return made;
}

TlsContext::TlsContext(TlsContext&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)) {}

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
}

TlsPeer::TlsPeer(const TlsContext& context, std::string name)
    : context_(context), name_(std::move(name)) {
    unsigned char scratch[16];
    is_address_ = ::inet_pton(AF_INET, name_.c_str(), scratch) == 1 ||
                  ::inet_pton(AF_INET6, name_.c_str(), scratch) == 1;
    if (!is_address_ && name_.ends_with('.')) {
        name_.pop_back();  // "host." is the same host, and no certificate has the dot
    }
}

TlsPeer::~TlsPeer() {
    SSL_SESSION_free(session_);
}

void TlsPeer::keep(ssl_session_st* session) {
    SSL_SESSION_free(session_);
    session_ = session;
}

}  // namespace driftless
