/// TlsStream: the TLS of one connection, as bytes in and bytes out. It has no socket: whoever has
/// one hands received bytes in, and sends what comes out, in this order.
///
///     none --connect, accept--> handshake --step--> open --read--> ended
///                                    \________________\___________> failed
///
/// Immovable, owned by a connection; reusable after `close`. OpenSSL allocates in `connect`,
/// `accept`, `step` and where a ticket comes, never in `seal` or for the plain bytes of `read`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/tls/context.hpp"
#include "engine/tls/failure.hpp"

struct bio_st;
struct ssl_st;

namespace driftless {

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
    /// The connection ended inside the handshake.
    void fail_closed();

    /// Received bytes of an open stream, to be read until `read` gives nothing; they are referred
    /// to, not copied, until then.
    void feed(std::string_view received) { fed_ = received; }
    /// Plain bytes of one record at most, in `buffer`; empty where more must come, or where the
    /// stream has ended or failed. Tickets and key updates are taken on the way.
    std::string_view read(char* buffer, std::size_t size);

    /// One record of `plain` (at most `record_bytes_max`) at `out`; returns its size, 0 where the
    /// stream has failed. `out` may lie before `plain` and reach into it (records.hpp). Records
    /// leave in the order in which they were made, or the peer cannot read them.
    std::size_t seal(std::string_view plain, char* out, std::size_t room);
    /// Makes a close_notify. No record is sealed after it.
    void say_goodbye();

    /// Bytes of its own that the stream wants to have sent (handshake, alerts); the caller keeps
    /// them until they are sent.
    bool has_output() const { return !output_.empty(); }
    std::string take_output();

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
