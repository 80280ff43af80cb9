/// SimDriver: the other side of the seam. Virtual time, a seed, and a world that is as unkind as
/// the seed says: completions in random order, receives split anywhere, short sends, resets,
/// refused and hanging connects, late timers. The servers behind it are MockCores, the same code
/// that the bundled mock serves over sockets.
///
/// Same seed, same calls: the same completions at the same virtual instants. Bytes that are handed
/// to a handler live in a buffer of their own, so that a sanitizer sees whoever keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cmd/mock/core.hpp"
#include "engine/io/driver.hpp"
#include "proto/core/hash.hpp"

namespace driftless::sim {

/// How unkind the world is. Probabilities are per occasion.
struct Weather {
    double refuse_connect = 0;
    double hang_connect = 0;   ///< never answers: only a cancel ends it
    double reset = 0;          ///< per piece of bytes that arrives at the client
    double inline_send = 0.5;  ///< a send completes before its submission returns, as most do
    double short_send = 0;     ///< the kernel accepts a part only
    double late_wake = 0;      ///< a sleep ends up to 5 ms late
    double split = 0.5;        ///< a piece on its way is cut in two, again and again
    Duration latency_max = microseconds(200);  ///< one way, per piece

    // Kernel stamps.
    bool stamps = true;     ///< the kernel has them at all
    double lose_stamp = 0;  ///< per transmit stamp
    double late_stamp = 0;  ///< per transmit stamp: it comes up to 200 ms late
    double wrong_key = 0;   ///< per transmit stamp: it names another byte
    double step_clock = 0;  ///< per turn: CLOCK_REALTIME jumps by up to a second, either way
};

class SimDriver final : public Driver {
  public:
    SimDriver(std::uint64_t seed, const Weather& weather, const mock::CoreOptions& server);
    ~SimDriver() override;

    Instant now() override;
    Result<Socket> open_socket(const Address& address) override;
    Result<Socket> listen(const Address& address, int backlog) override;
    Result<Address> local_address(Socket socket) override;
    void shutdown(Socket socket) override;
    void close(Socket socket) override;
    void submit(Op& op) override;
    void flush() override;
    TurnResult turn(const Turn& turn) override;
    StampSupport switch_on_stamps(Socket socket) override;
    bool stamps_waiting(Instant now) override;
    std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first) override;
    ClockSample sample_clock() override;
    std::uint32_t in_flight() const override { return static_cast<std::uint32_t>(ops_.size()); }
    const DriverCounters& counters() const override { return counters_; }

    /// Bytes that clients received in all, and open sockets: for the laws.
    std::uint64_t bytes_delivered() const { return bytes_delivered_; }
    std::size_t sockets_open() const { return sockets_open_; }

  private:
    struct Piece {
        std::string bytes;
        bool end = false;
        bool reset = false;
        std::int64_t realtime_ns = 0;  ///< kernel's receive stamp
    };
    /// A connection, both of its ends.
    struct Connection {
        bool client_open = false;
        bool connected = false;
        bool shut = false;          ///< the client shut it down, or it was reset
        bool client_ended = false;  ///< the end was delivered to the client's receive
        std::uint32_t receive = 0;  ///< operation number of the armed receive, 0: none
        std::vector<Piece> inbox;   ///< arrived, not received yet
        Instant to_server;          ///< the latest arrival in each direction: order is kept
        Instant to_client;
        mock::MockConnection* server = nullptr;
        std::uint64_t deadline_version = 0;
        bool stamped = false;
        std::uint32_t bytes_sent = 0;  ///< since stamps were switched on
    };
    struct Pending {
        Op* op = nullptr;
        bool cancelled = false;
    };
    /// Something that happens at an instant.
    struct Happening {
        enum class Kind : std::uint8_t { connect, sent, to_server, to_client, deadline } kind;
        int connection = -1;
        std::uint32_t op = 0;
        std::int32_t result = 0;
        std::uint64_t version = 0;
        Piece piece;
    };
    struct Visible {
        std::uint32_t op = 0;
        std::int32_t result = 0;
        bool more = false;
        std::string bytes;
        std::int64_t realtime_ns = 0;
    };
    /// A transmit stamp on its way, or the end of an operation on stamps.
    struct Stamp {
        std::uint32_t op = 0;
        std::int32_t result = 0;
        bool more = false;
        std::uint32_t key = 0;
        std::int64_t realtime_ns = 0;
        Instant ready;
    };

    Duration latency();
    bool chance(double probability);
    void at(Instant when, Happening happening);
    void happen_until(Instant until);
    void happen(Happening& happening);
    void connect_happens(const Happening& happening);
    void server_receives(Connection& connection, int number, const Piece& piece);
    void server_turn(Connection& connection, int number);
    void deliver_to_client(int number, std::string bytes, bool end, bool reset);
    void feed_receive(Connection& connection);
    void start(Op& op, std::uint32_t number);
    void start_send(Op& op, std::uint32_t number);
    void start_taken();
    void stamp_sent(Connection& connection, const Op& op, std::size_t size);
    void cancel_stamps(Op& op, std::uint32_t number);
    void hand_over(const Stamp& stamp);
    std::int64_t realtime_ns() const { return now_.ns + realtime_ahead_ns_; }
    std::int64_t to_monotonic_ns(std::int64_t realtime_ns) const;
    void cancel(Op& target);
    void hand_over(Visible& visible, TurnResult& result);
    void wake_servers();
    void drop_server(Connection& connection);
    Instant next_happening() const;

    Random random_;
    Weather weather_;
    mock::MockCore core_;
    Instant now_;
    std::map<std::pair<std::int64_t, std::uint64_t>, Happening> happenings_;
    std::uint64_t happenings_made_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::map<std::uint32_t, Pending> ops_;
    std::uint32_t ops_made_ = 0;
    std::vector<std::uint32_t> taken_;  ///< sends that no flush has let go yet
    std::vector<Stamp> stamps_;
    std::int64_t realtime_ahead_ns_ = 1'700'000'000'000'000'000;
    ClockSample clock_;  ///< as last sampled
    std::vector<Visible> visible_;
    std::uint32_t batch_ = 0;
    Instant stamp_;
    DriverCounters counters_;
    std::uint64_t bytes_delivered_ = 0;
    std::size_t sockets_open_ = 0;
};

}  // namespace driftless::sim
