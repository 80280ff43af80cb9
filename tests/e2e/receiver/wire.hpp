/// The bytes of one connection, plain or under TLS, and packets that are lost on the way to it.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/e2e/receiver/clock.hpp"

namespace receiver {

/// Owns the socket. Reads and writes block.
class Wire {
  public:
    explicit Wire(int socket) : socket_(socket) { stamp_departures(socket); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire();

    /// The server's side of a TLS handshake; false where it fails.
    bool secure(SSL_CTX* context);
    /// From now on each packet that brings bytes is dropped with this chance, as a network would:
    /// the peer's kernel has to send it again. Acknowledgements pass.
    bool lose(unsigned per_mille);

    /// Under TLS the stamp is that of the first packet that was unread, with its record's head.
    Received read(char* out, std::size_t bytes_max);
    bool write(std::string_view bytes);
    /// Bytes that were written to the socket so far, those of TLS with them.
    std::uint64_t written() const;
    /// When the first `end` of them had left for the wire; 0: the kernel has not said so.
    std::int64_t left_ns(std::uint64_t end);
    /// Waits for bytes; false after `timeout_ms` (-1: never).
    bool wait(int timeout_ms);

  private:
    int socket_;
    SSL* tls_ = nullptr;
    std::uint64_t written_ = 0;
    std::vector<Departure> departures_;
};

/// A context with these PEM files; null where one cannot be used.
SSL_CTX* tls_context(const char* certificate, const char* key);

}  // namespace receiver
