/// SecureWire: the server's side of TLS on one connection of the mock: received bytes to plain
/// ones, answers to records. Owned by the connection; it has no socket.
#pragma once

#include <string>
#include <string_view>

#include "engine/tls/stream.hpp"

namespace driftless::mock {

class SecureWire {
  public:
    explicit SecureWire(const TlsContext& context);

    /// Received bytes; valid until `next_plain` gives nothing.
    void receive(std::string_view records);
    /// Plain bytes of the next record; empty: no more are here.
    std::string_view next_plain();
    /// The client has said that it is done, or cannot be understood.
    bool over() const;

    /// Turns an answer into records, in place; empty where the connection is over.
    void seal(std::string& answer);
    /// Bytes of TLS itself that want to be sent: a handshake, an alert.
    std::string take_output() { return stream_.take_output(); }
    bool has_output() const { return stream_.has_output(); }
    void say_goodbye() { stream_.say_goodbye(); }

  private:
    TlsStream stream_;
    std::string plain_;
    std::string records_;
};

}  // namespace driftless::mock
