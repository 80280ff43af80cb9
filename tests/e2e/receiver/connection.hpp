/// One connection of the receiver: blocking reads, blocking writes, one thread.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace receiver {

/// How the receiver behaves; the same for all connections.
struct Behaviour {
    std::int64_t first_ns = 20'000'000;   ///< from the request's last byte to the first token
    std::int64_t between_ns = 5'000'000;  ///< between tokens
    std::int64_t overhead = 0;            ///< tokens added to the words of a text prompt
    int status = 200;                     ///< another one: every request is answered with it
    int idle_ms = -1;          ///< a connection that asks nothing for so long is closed; -1: never
    bool probes_only = false;  ///< rows get `status`, probes are answered
    std::int64_t per_write = 1;   ///< tokens that share one write
    unsigned lost_per_mille = 0;  ///< of the packets that carry bytes to us, dropped by chance
    bool announce = false;        ///< says "row" on the screen when the first row arrives
    std::int64_t read_mb_s = 0;   ///< reads no faster than so many MB/s; 0: as fast as it can
    SSL_CTX* tls = nullptr;       ///< null: plain
};

/// The log: one line of JSON per request, written when its answer is over.
class Log {
  public:
    explicit Log(std::FILE* file) : file_(file) {}
    void write(const std::string& line);

  private:
    std::mutex mutex_;
    std::FILE* file_;
};

/// Serves requests until the peer closes; closes the socket.
void serve(int socket, const Behaviour& behaviour, Log& log);

}  // namespace receiver
