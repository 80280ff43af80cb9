#include "engine/io/tls.hpp"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "proto/core/text.hpp"

namespace driftless {

/// `made`, unless there is none: the handler of `new` may end the process.
static void* made_or_ended(void* made) {
    if (const std::new_handler handler = std::get_new_handler(); made == nullptr && handler) {
        handler();
    }
    return made;
}

static void* take_memory(std::size_t bytes, const char*, int) {
    return made_or_ended(std::malloc(bytes));
}

static void* grow_memory(void* memory, std::size_t bytes, const char*, int) {
    if (bytes == 0) {
        std::free(memory);
        return nullptr;
    }
    return made_or_ended(std::realloc(memory, bytes));
}

static void free_memory(void* memory, const char*, int) {
    std::free(memory);
}

void end_tls_without_memory() {
    (void)CRYPTO_set_mem_functions(&take_memory, &grow_memory, &free_memory);
}

static const char* certificate_remedy(long verdict) {
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

static const char* reason_remedy(int reason) {
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

std::string authorities_elsewhere(const std::string& root, const char* own_file,
                                  const char* own_folder) {
    const auto holds_something = [&root](const char* place) {
        std::error_code lack;  // not there, or not for us to read
        const bool is_empty = std::filesystem::is_empty(root + place, lack);
        return !lack && !is_empty;
    };
    if (holds_something(own_file) || holds_something(own_folder)) {
        return "";
    }
    constexpr const char* places[] = {
        "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch
        "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL up to 9, older Fedora
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL, Fedora
        "/etc/ssl/ca-bundle.pem",                             // openSUSE
        "/etc/ssl/cert.pem",                                  // Alpine
    };
    const auto found = std::find_if(std::begin(places), std::end(places), holds_something);
    return found == std::end(places) ? "" : root + *found;
}

/// Those of SSL_CERT_FILE and SSL_CERT_DIR, else this host's. A file that OpenSSL cannot read is
/// left out, as OpenSSL leaves out its own.
static bool trust_this_host(SSL_CTX* context) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) {
        return false;
    }
    if (std::getenv(X509_get_default_cert_file_env()) == nullptr &&
        std::getenv(X509_get_default_cert_dir_env()) == nullptr) {
        const std::string file =
            authorities_elsewhere("", X509_get_default_cert_file(), X509_get_default_cert_dir());
        (void)(file.empty() || SSL_CTX_load_verify_file(context, file.c_str()) == 1);
        ERR_clear_error();
    }
    return true;
}

// ALPN's wire form: a length, then the name (RFC 7301, 3.1).
static constexpr unsigned char http_1_1[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// The newest ticket is as good as any; a server that lets a ticket be used once falls back to a
/// full handshake by itself.
static int keep_session(SSL* ssl, SSL_SESSION* session) {
    static_cast<TlsPeer*>(SSL_get_app_data(ssl))->keep(session);
    return 1;  // the reference is ours now
}

/// A server agrees to http/1.1 where the client offers it, and says nothing where it offers others.
static int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                           const unsigned char* offered, unsigned int offered_size, void*) {
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, size, http_1_1, sizeof(http_1_1), offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX* make(const SSL_METHOD* method) {
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
static const char* wanted_of(const std::string& flag) {
    return flag == "--ca"                           ? "name a PEM file with certificates"
           : flag == "--key" || flag == "--tls-key" ? "name a PEM file with the key, without a "
                                                      "pass phrase"
                                                    : "name a PEM file with the certificate";
}

/// "--ca /x/y.pem: No such file or directory; ..", by OpenSSL's first reason.
static Error wrong_file(const char* flag, const std::string& file, std::string& why) {
    const unsigned long first = ERR_peek_error();
    const char* reason = ERR_SYSTEM_ERROR(first) ? strerrordesc_np(ERR_GET_REASON(first))
                                                 : ERR_reason_error_string(first);
    why = std::string(flag) + " " + file + ": " +
          (reason != nullptr ? reason : "cannot be read as PEM") + "; " + wanted_of(flag);
    ERR_clear_error();
    return {ErrorCode::invalid, 0, "read a PEM file"};
}

static Result<void> load_certificate(SSL_CTX* context, const char* flag,
                                     const std::string& cert_file, const char* key_flag,
                                     const std::string& key_file, std::string& why) {
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
static int no_pass_phrase(char*, int, int, void*) {
    return 0;
}

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
                            ? trust_this_host(context)
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

/// The first of OpenSSL's reasons that is one of TLS: what its ciphers say comes before it, and
/// says less. Empties the list.
static unsigned long first_reason() {
    unsigned long reason = 0;
    for (unsigned long next = ERR_get_error(); next != 0; next = ERR_get_error()) {
        const bool better = ERR_GET_LIB(reason) != ERR_LIB_SSL && ERR_GET_LIB(next) == ERR_LIB_SSL;
        reason = reason == 0 || better ? next : reason;
    }
    return reason;
}

/// A BIO over the stream's own bytes: what was received is read in place, and records are written
/// where `seal` wants them. OpenSSL's memory BIO would copy both, and grow.
struct TlsWires {
    static TlsStream& stream_of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* out, std::size_t size, std::size_t* count) {
        TlsStream& stream = stream_of(bio);
        const std::string_view taken = std::string_view(stream.taken_).substr(stream.taken_at_);
        const std::string_view from = taken.empty() ? stream.fed_ : taken;
        BIO_clear_retry_flags(bio);
        *count = std::min(size, from.size());
        if (*count == 0) {
            BIO_set_retry_read(bio);
            return 0;
        }
        std::memcpy(out, from.data(), *count);
        if (taken.empty()) {
            stream.fed_.remove_prefix(*count);
        } else {
            stream.taken_at_ += *count;
        }
        return 1;
    }

    static int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) {
        TlsStream& stream = stream_of(bio);
        BIO_clear_retry_flags(bio);
        *count = size;
        if (stream.sealed_ == nullptr) {
            stream.output_.append(bytes, size);
            return 1;
        }
        CHECK(size <= stream.sealed_room_ - stream.sealed_bytes_);  // tls.hpp: it is enough
        std::memcpy(stream.sealed_ + stream.sealed_bytes_, bytes, size);
        stream.sealed_bytes_ += size;
        return 1;
    }

    static long control(BIO*, int command, long, void*) {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    /// Made once, never freed: as long as the program.
    static const BIO_METHOD* method() {
        static BIO_METHOD* const made = [] {
            BIO_METHOD* wires = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wires");
            CHECK(wires != nullptr);
            (void)BIO_meth_set_read_ex(wires, &TlsWires::read);
            (void)BIO_meth_set_write_ex(wires, &TlsWires::write);
            (void)BIO_meth_set_ctrl(wires, &TlsWires::control);
            return wires;
        }();
        return made;
    }
};

void TlsStream::open(ssl_st* ssl) {
    CHECK(ssl_ == nullptr && ssl != nullptr);
    ssl_ = ssl;
    BIO* bio = BIO_new(TlsWires::method());
    CHECK(bio != nullptr);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
    state_ = State::handshake;
    failure_ = 0;
}

void TlsStream::connect(TlsPeer& peer) {
    open(SSL_new(peer.context().raw()));
    peer_ = &peer;
    SSL_set_app_data(ssl_, &peer);
    if (peer.is_address()) {
        CHECK(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), peer.name().c_str()) == 1);
    } else {
        SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        CHECK(SSL_set1_host(ssl_, peer.name().c_str()) == 1);
        (void)SSL_set_tlsext_host_name(ssl_, peer.name().c_str());
    }
    if (peer.session() != nullptr) {
        (void)SSL_set_session(ssl_, peer.session());
    }
    SSL_set_connect_state(ssl_);
}

void TlsStream::accept(const TlsContext& context) {
    open(SSL_new(context.raw()));
    SSL_set_accept_state(ssl_);
}

void TlsStream::close() {
    if (ssl_ != nullptr) {
        SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(ssl_);
        ssl_ = nullptr;
    }
    peer_ = nullptr;
    state_ = State::none;
    taken_.clear();
    taken_at_ = 0;
    fed_ = {};
    output_.clear();
}

void TlsStream::take(std::string_view received) {
    if (taken_.size() + received.size() > handshake_bytes_max) {
        state_ = State::failed;
        failure_ = static_cast<TlsFailure>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_EXCESSIVE_MESSAGE_SIZE));
        return;
    }
    taken_.append(received);
}

void TlsStream::fail_closed() {
    constexpr char alert = 21;  // the type of a record that is not encrypted
    if (state_ == State::handshake && taken_.starts_with(alert)) {
        step();
    }
    std::array<char, 1024> plain;
    while (!read(plain.data(), plain.size()).empty()) {  // ends: no more bytes come
    }
    if (state_ == State::failed) {
        return;
    }
    state_ = State::failed;
    failure_ =
        static_cast<TlsFailure>(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_EOF_WHILE_READING));
}

// What OpenSSL says beside "call again".
void TlsStream::note_result(int result) {
    const int kind = SSL_get_error(ssl_, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        return;
    }
    if (kind == SSL_ERROR_ZERO_RETURN) {
        state_ = State::ended;
        return;
    }
    state_ = State::failed;
    const unsigned long reason = first_reason();
    const long verdict = SSL_get_verify_result(ssl_);
    if (ERR_GET_REASON(reason) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        failure_ = certificate_failure | static_cast<TlsFailure>(verdict);
    } else {
        failure_ =
            static_cast<TlsFailure>(reason != 0 ? reason & ~certificate_failure
                                                : ERR_PACK(ERR_LIB_SSL, 0, ERR_R_INTERNAL_ERROR));
    }
}

void TlsStream::finish_handshake() {
    state_ = State::open;
    if (peer_ != nullptr) {
        peer_->handshakes += 1;
        peer_->resumed += SSL_session_reused(ssl_) == 1 ? 1 : 0;
        peer_->version = SSL_get_version(ssl_);
        peer_->cipher = SSL_get_cipher_name(ssl_);
    }
}

void TlsStream::step() {
    CHECK(state_ == State::handshake || state_ == State::failed);
    if (state_ == State::failed) {
        return;
    }
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) {
        finish_handshake();
    } else {
        note_result(result);
        if (state_ == State::ended) {  // close_notify before anything was agreed on
            fail_closed();
        }
    }
    taken_.erase(0, taken_at_);
    taken_at_ = 0;
}

std::string_view TlsStream::read(char* buffer, std::size_t size) {
    if (state_ != State::open) {
        return {};
    }
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_, buffer, size, &count);
    if (taken_at_ == taken_.size()) {
        taken_.clear();
        taken_at_ = 0;
    }
    if (result != 1) {
        note_result(result);
        fed_ = {};
        return {};
    }
    return {buffer, count};
}

std::size_t TlsStream::seal(std::string_view plain, char* out, std::size_t room) {
    CHECK(!plain.empty() && plain.size() <= record_bytes_max);
    if (state_ != State::open && state_ != State::ended) {
        return 0;
    }
    ERR_clear_error();
    sealed_ = out;
    sealed_bytes_ = 0;
    sealed_room_ = room;
    std::size_t count = 0;
    const int result = SSL_write_ex(ssl_, plain.data(), plain.size(), &count);
    sealed_ = nullptr;
    if (result != 1) {
        note_result(result);
        return 0;
    }
    CHECK(count == plain.size());
    return sealed_bytes_;
}

void TlsStream::say_goodbye() {
    if (state_ == State::open || state_ == State::ended) {
        ERR_clear_error();
        (void)SSL_shutdown(ssl_);
    }
}

}  // namespace driftless
