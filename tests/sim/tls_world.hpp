/// TlsWorld: the TLS of a simulated run: everybody's papers, the contexts of both sides, OpenSSL's
/// randomness, and how long its arithmetic takes. TlsServer: the server's end of one connection.
/// The run owns the world and the driver its servers; neither has a socket. Only one world at a
/// time: randomness is the process's own.
#pragma once

#include "engine/replay/settings.hpp"
#include "proto/core/hash.hpp"
#include "tests/sim/weather.hpp"

namespace driftless::sim {

class TlsWorld {
  public:
    /// Same seed: the same bytes, whatever process this is.
    TlsWorld(std::uint64_t seed, const TlsWeather& weather, std::uint32_t targets);
    ~TlsWorld();
    TlsWorld(const TlsWorld&) = delete;
    TlsWorld& operator=(const TlsWorld&) = delete;

    /// Where the client goes to; those with TLS know who they want to meet.
    std::vector<Endpoint> endpoints();
    /// Whether TLS is spoken there.
    static bool is_secure(const Address& address) { return address.length > 0; }

    const TlsWeather& weather() const { return weather_; }
    bool chance(double probability) { return dice_.uniform() < probability; }
    std::uint64_t below(std::uint64_t bound) { return dice_.below(bound); }

    /// The clock that the client's arithmetic moves on; outlives the world's use.
    void set_clock(Instant& clock) { clock_ = &clock; }
    /// A message or a record has cost so much at most.
    void let_pass(Duration most);

    const TlsContext& right() const { return right_; }
    const TlsContext& wrong() const { return wrong_; }
    /// Tickets given so far are worth nothing.
    void forget_tickets();

    std::uint64_t handshakes() const;  ///< completed, by the client
    std::uint64_t resumed() const;

  private:
    TlsWeather weather_;
    std::uint32_t targets_;
    Random dice_;
    Instant* clock_ = nullptr;
    TlsContext client_;
    TlsContext right_;
    TlsContext wrong_;
    std::vector<std::unique_ptr<TlsPeer>> peers_;  ///< [targets] null: plain
};

class TlsServer {
  public:
    explicit TlsServer(TlsWorld& world);

    /// Records, or bytes of a handshake, to plain bytes.
    std::string receive(std::string_view bytes);
    /// What TLS itself has to say.
    std::string take_output();
    /// Plain bytes to records, with what goes in front of them; empty where nothing can be said.
    std::string seal(std::string_view plain);
    /// A ticket, or new keys; empty where it has none to give.
    std::string murmur();
    /// A close_notify; empty where nothing can be said.
    std::string say_goodbye();

    bool stands() const { return stream_.state() == TlsStream::State::open; }
    /// It says and reads nothing more.
    bool over() const;
    /// It could not read what came; not that the client has said so.
    bool misread() const;

  private:
    enum class Manner : std::uint8_t { proper, no_tls, alert, hang_up, deaf };
    static Manner manner_of(TlsWorld& world);

    TlsWorld& world_;
    const Manner manner_;
    TlsStream stream_;
    std::string words_;  ///< that are no TLS
    bool over_ = false;
    std::array<char, record_bytes_max> plain_{};
};

}  // namespace driftless::sim
