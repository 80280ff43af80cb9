#include "engine/tls/stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/tls/records.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// The first of OpenSSL's reasons that is one of TLS: what its ciphers say comes before it, and
/// says less. Empties the list.
unsigned long first_reason() {
    unsigned long reason = 0;
    for (unsigned long next = ERR_get_error(); next != 0; next = ERR_get_error()) {
        const bool better = ERR_GET_LIB(reason) != ERR_LIB_SSL && ERR_GET_LIB(next) == ERR_LIB_SSL;
        reason = reason == 0 || better ? next : reason;
    }
    return reason;
}

}  // namespace

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
        CHECK(size <= stream.sealed_room_ - stream.sealed_bytes_);  // records.hpp: it is enough
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

std::string TlsStream::take_output() {
    return std::exchange(output_, std::string());
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
