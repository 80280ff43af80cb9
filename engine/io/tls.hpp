/// TLS: contexts, streams without a socket, their records, and how a failure is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "proto/core/errors.hpp"

// OpenSSL's own names; its headers stay in this room.
struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace driftless {

// TlsFailure: why a handshake or a record failed, as one number that fits an event: OpenSSL's
// packed reason, or, with the top bit set, its verdict on a certificate (X509_V_ERR_...). A plain
// value; 0 is none. The words are OpenSSL's own, and are made only where they are shown.

using TlsFailure = std::uint32_t;

/// The verdict on a certificate, among the failures.
inline constexpr TlsFailure certificate_failure = 0x8000'0000u;

/// OpenSSL's words, then the remedy where there is one: "certificate verify failed: certificate has
/// expired; renew it, or accept it with --insecure". Never a secret: OpenSSL's words are fixed.
std::string describe(TlsFailure failure);

/// Whether this is what a port that speaks TLS says to plain HTTP: a TLS alert, or the words of
/// nginx, Go or Apache.
bool is_of_tls_port(std::string_view answer);

// Sizes of TLS records, for those who make room for them. Constants of RFC 8446, 5.2, and RFC
// 5246, 6.2.3; no state.

/// Plain bytes of one record at most.
inline constexpr std::size_t record_bytes_max = 16 * 1024;
/// What a record adds to them at most: 22 bytes in TLS 1.3; in TLS 1.2 with CBC a header of 5, an
/// IV and padding of 16 each, and a MAC of 48.
inline constexpr std::size_t record_overhead_max = 96;
/// The answer to a KeyUpdate, which goes in front of the next record that is made.
inline constexpr std::size_t key_update_bytes_max = 64;
/// The first record of a request holds its head and goes out at once: it is smaller than what a
/// fresh connection may send in one go (12 KiB, Exchanges::first_bytes_max).
inline constexpr std::size_t first_record_bytes =
    12 * 1024 - record_overhead_max - key_update_bytes_max;

/// Room in front of `bytes` plain bytes from which on their records may be written over them, one
/// record after the other: a record never reaches plain bytes that are not inside a record yet.
constexpr std::size_t seal_room(std::size_t bytes) {
    return (bytes / record_bytes_max + 2) * record_overhead_max + key_update_bytes_max;
}

// TlsContext: what all TLS connections of one side share: versions, trust, own certificate.
// TlsPeer: one server that is spoken to: its name, and the session that its next connection takes
// up. Both are made before time 0 and outlive every TlsStream that was begun with them. They touch
// files while they are made (a system's store also at a handshake) and never a socket.

/// From now on OpenSSL has the process end without memory as `new` does: by its handler. To be
/// called before OpenSSL is used.
void end_tls_without_memory();

/// The file of trusted authorities to take on a host of another distribution than the one OpenSSL
/// was built for: empty where OpenSSL's own file or folder holds something, or no usual place does.
/// `root` is before every path; empty: this host's.
std::string authorities_elsewhere(const std::string& root, const char* own_file,
                                  const char* own_folder);

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

// TlsStream: the TLS of one connection, as bytes in and bytes out. It has no socket: its owner
// hands received bytes in, and sends what comes out, in this order.
//
//     none --connect, accept--> handshake --step--> open --read--> ended
//                                    \________________\___________> failed
//
// Immovable, owned by a connection; reusable after `close`. OpenSSL allocates in `connect`,
// `accept`, `step` and where a ticket comes, never in `seal` or for the plain bytes of `read`.

class TlsStream {
  public:
    enum class State : std::uint8_t {
        none,
        handshake,
        open,
        ended,   ///< the peer said close_notify: nothing more comes
        failed,  ///< `failure` says why
    };

    TlsStream() = default;
    ~TlsStream() { close(); }
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    /// Begins as a client, with the peer's session where it has one; `step` makes the first bytes.
    /// The peer outlives the stream.
    void connect(TlsPeer& peer);
    /// Begins as a server.
    void accept(const TlsContext& context);
    /// Forgets everything. Sessions stay good (an SSL that is freed without this spoils its own).
    void close();

    State state() const { return state_; }
    ssl_st* raw() const { return ssl_; }  ///< for tests that play the other side
    TlsFailure failure() const { return failure_; }

    /// Keeps a copy of received bytes for the next `step`. Too many of them: failed.
    void take(std::string_view received);
    /// The handshake goes on with what was taken: up to 1 ms of arithmetic. What came behind it
    /// stays for `read`.
    void step();
    /// The connection ended inside the handshake, or before anything was asked. An alert among the
    /// bytes that were taken says why.
    void fail_closed();

    /// Received bytes of an open stream, to be read until `read` gives nothing; they are referred
    /// to, not copied, until then.
    void feed(std::string_view received) { fed_ = received; }
    /// Plain bytes of one record at most, in `buffer`; empty where more must come, or where the
    /// stream has ended or failed. Tickets and key updates are taken on the way.
    std::string_view read(char* buffer, std::size_t size);

    /// One record of `plain` (at most `record_bytes_max`) at `out`; returns its size, 0 where the
    /// stream has failed. `out` may lie before `plain` and reach into it. Records
    /// leave in the order in which they were made, or the peer cannot read them.
    std::size_t seal(std::string_view plain, char* out, std::size_t room);
    /// Makes a close_notify. No record is sealed after it.
    void say_goodbye();

    /// Bytes of its own that the stream wants to have sent (handshake, alerts); the caller keeps
    /// them until they are sent.
    bool has_output() const { return !output_.empty(); }
    std::string take_output() { return std::exchange(output_, std::string()); }

    /// Bytes that a handshake may take: OpenSSL allows a certificate list of 100 KiB.
    static constexpr std::size_t handshake_bytes_max = 256 * 1024;

  private:
    friend struct TlsWires;

    void open(ssl_st* ssl);
    void note_result(int result);
    void finish_handshake();

    ssl_st* ssl_ = nullptr;
    TlsPeer* peer_ = nullptr;
    State state_ = State::none;
    TlsFailure failure_ = 0;

    std::string taken_;  ///< bytes before `fed_`
    std::size_t taken_at_ = 0;
    std::string_view fed_;

    std::string output_;
    char* sealed_ = nullptr;  ///< where records go inside `seal`, instead of into `output_`
    std::size_t sealed_bytes_ = 0;
    std::size_t sealed_room_ = 0;
};

}  // namespace driftless
