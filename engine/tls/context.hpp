/// TlsContext: what all TLS connections of one side share: versions, trust, own certificate.
/// TlsPeer: one server that is spoken to: its name, and the session that its next connection takes
/// up. Both are made before time 0 and outlive every TlsStream that was begun with them. They touch
/// files while they are made (a system's store also at a handshake) and never a socket.
#pragma once

#include <cstdint>
#include <string>

#include "proto/core/result.hpp"

// OpenSSL's own names; its headers stay in this room.
struct ssl_ctx_st;
struct ssl_session_st;

namespace driftless {

struct TlsClientOptions {
    bool verify = true;     ///< chain and host name
    std::string ca_file;    ///< PEM, instead of the system's store; empty: that
    std::string cert_file;  ///< PEM chain of a client certificate; empty: none
    std::string key_file;   ///< its key; empty: in `cert_file`
};

struct TlsServerOptions {
    std::string cert_file;  ///< PEM chain
    std::string key_file;   ///< empty: in `cert_file`
};

class TlsContext {
  public:
    /// TLS 1.2 and 1.3, ALPN http/1.1 and nothing else, no renegotiation. Errors: invalid, with
    /// `why` naming the flag, the file and OpenSSL's reason.
    static Result<TlsContext> client(const TlsClientOptions& options, std::string& why);
    static Result<TlsContext> server(const TlsServerOptions& options, std::string& why);

    TlsContext(TlsContext&& other) noexcept;
    ~TlsContext();

    ssl_ctx_st* raw() const { return context_; }

  private:
    explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

    ssl_ctx_st* context_ = nullptr;
};

class TlsPeer {
  public:
    /// `name`: host name or address literal, as typed; it must be in the certificate.
    TlsPeer(const TlsContext& context, std::string name);
    ~TlsPeer();
    TlsPeer(const TlsPeer&) = delete;
    TlsPeer& operator=(const TlsPeer&) = delete;

    const TlsContext& context() const { return context_; }
    const std::string& name() const { return name_; }
    /// IPv4 or IPv6 literal: verified as an address, and never sent as a server name (RFC 6066, 3).
    bool is_address() const { return is_address_; }

    /// The newest session that the server gave, or nullptr.
    ssl_session_st* session() const { return session_; }
    void keep(ssl_session_st* session);

    // What came of it so far; told by the streams.
    std::uint64_t handshakes = 0;
    std::uint64_t resumed = 0;
    std::string version;  ///< "TLSv1.3", of the latest handshake
    std::string cipher;   ///< "TLS_AES_256_GCM_SHA384"

  private:
    const TlsContext& context_;
    std::string name_;
    bool is_address_ = false;
    ssl_session_st* session_ = nullptr;
};

}  // namespace driftless
