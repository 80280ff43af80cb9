#include "tests/e2e/receiver/wire.hpp"

#include <linux/filter.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace receiver {

Wire::~Wire() {
    if (tls_ != nullptr) {
        SSL_shutdown(tls_);  // says close_notify, waits for nothing
        SSL_free(tls_);
    }
    close(socket_);
}

bool Wire::secure(SSL_CTX* context) {
    tls_ = SSL_new(context);
    return tls_ != nullptr && SSL_set_fd(tls_, socket_) == 1 && SSL_accept(tls_) == 1;
}

bool Wire::lose(unsigned per_mille) {
    const auto chance = static_cast<std::uint32_t>(UINT64_C(0x100000000) * per_mille / 1000);
    const auto random = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM);
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12),  // TCP's data offset, in words, in the high half
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 2, 0),  // nothing behind the head: passes
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, random),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, chance, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    return setsockopt(socket_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

Received Wire::read(char* out, std::size_t bytes_max) {
    if (tls_ == nullptr) {
        return receive(socket_, out, bytes_max);
    }
    Received received;
    received.arrival_ns = monotonic_ns();
    if (SSL_pending(tls_) == 0) {
        char first = 0;
        received = receive(socket_, &first, 1, MSG_PEEK);
        if (received.bytes <= 0) {
            return received;
        }
    } else {
        received.from_kernel = true;  // of a record whose packet has been stamped
    }
    received.bytes = SSL_read(tls_, out, static_cast<int>(bytes_max));
    return received;
}

bool Wire::write(std::string_view bytes) {
    if (tls_ != nullptr) {
        return bytes.empty() || SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) > 0;
    }
    while (!bytes.empty()) {
        const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        written_ += static_cast<std::uint64_t>(sent);
    }
    return true;
}

std::uint64_t Wire::written() const {
    return tls_ != nullptr ? BIO_number_written(SSL_get_wbio(tls_)) : written_;
}

std::int64_t Wire::left_ns(std::uint64_t end) {
    read_departures(socket_, departures_);
    std::int64_t left = 0;
    for (const Departure& one : departures_) {  // a part that was sent again has a later one, too
        const bool covers = one.last_byte + std::uint64_t{1} >= end;
        left = covers && one.left_ns > 0 && (left == 0 || one.left_ns < left) ? one.left_ns : left;
    }
    return left;
}

bool Wire::wait(int timeout_ms) {
    if (tls_ != nullptr && SSL_pending(tls_) > 0) {
        return true;
    }
    const std::int64_t until = monotonic_ns() + timeout_ms * INT64_C(1'000'000);
    while (true) {  // stamps of what was sent wake it, too
        read_departures(socket_, departures_);
        const std::int64_t left_ms = (until - monotonic_ns()) / 1'000'000;
        pollfd asked{socket_, POLLIN, 0};
        const int found = poll(
            &asked, 1, timeout_ms < 0 ? -1 : static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
        if (found <= 0 || (asked.revents & (POLLIN | POLLHUP)) != 0) {
            return found == 1;
        }
    }
}

SSL_CTX* tls_context(const char* certificate, const char* key) {
    SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
    if (context == nullptr || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        return nullptr;
    }
    return context;
}

}  // namespace receiver
