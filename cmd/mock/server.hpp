/// MockServer: the mock's core on real sockets, on one thread.
///
/// Accepts and receives are multishot; every connection has one timer, set to its core's next
/// deadline, and one send in flight at most: what becomes due meanwhile waits for it, as it would
/// in any server. Tokens that are due together leave in batches of a few sends, so that the stamp
/// that the core takes before each batch stays close to each of its sends.
///
/// Owns the sockets of the driver that it is given; it needs one with real file descriptors.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/mock/core.hpp"
#include "cmd/mock/log_writer.hpp"
#include "engine/io/driver.hpp"
#include "engine/time/timers.hpp"
#include "engine/tls/context.hpp"

namespace driftless::mock {

/// Open connections; more are accepted and closed at once, and counted. 10,000 users need more of
/// them: a turn that is released by an answer leaves beside the connection of that one.
inline constexpr std::uint32_t connections_max = 16'384;
/// Operations in flight: receive, send and cancel for each connection, accept and its cancel.
inline constexpr std::uint32_t server_ops_max = 3 * connections_max + 2;

enum class WaitMode : std::uint8_t {
    spin,    ///< never sleeps
    hybrid,  ///< sleeps until shortly before the next deadline, then spins
    sleep,   ///< sleeps; wakes as late as the kernel does
};

struct ServerOptions {
    WaitMode wait = WaitMode::hybrid;
    std::uint32_t backlog = 4096;
    std::uint64_t requests_max = 0;   ///< stop after that many completion requests; 0: never
    const TlsContext* tls = nullptr;  ///< speak TLS; outlives the server
};

class MockServer {
  public:
    /// `log` may be nullptr. All three outlive the server.
    MockServer(Driver& driver, MockCore& core, LogWriter* log, const ServerOptions& options);
    ~MockServer();
    MockServer(const MockServer&) = delete;
    MockServer& operator=(const MockServer&) = delete;

    /// Listens and begins to accept; gives the address in use. Errors: those of Driver::listen.
    Result<Address> listen(const Address& address);

    /// Serves until `stop` is set (by a signal handler) or `requests_max` is reached, then ends all
    /// connections and their operations.
    void run(const volatile std::sig_atomic_t& stop);

    std::uint64_t turned_away() const { return turned_away_; }

  private:
    struct Connection;

    static void on_accept(Op& op, const Completion& completion);
    static void on_receive(Op& op, const Completion& completion);
    static void on_sent(Op& op, const Completion& completion);
    static void on_cancelled(Op& op, const Completion& completion);
    static void on_accept_cancelled(Op& op, const Completion& completion);
    static void on_due(Timer& timer, Instant now);
    static void on_accept_again(Timer& timer, Instant now);
    static void on_step(Timer& timer, Instant now);

    void open(Socket socket, Instant now);
    void send(Connection& connection, std::string_view bytes);
    void take(Connection& connection, const Completion& completion);
    bool send_own(Connection& connection);
    void produce(Connection& connection);
    void attend(Connection& connection);
    void attend_woken();
    void await_step();
    void leave(Connection& connection, bool reset);
    void release_if_done(Connection& connection);
    void collect_log();
    void turn();
    bool finished() const;
    void end_all();

    Driver& driver_;
    MockCore& core_;
    LogWriter* log_;
    ServerOptions options_;
    Timers timers_;
    Socket listening_;
    Op accept_;
    Op cancel_accept_;
    Timer accept_again_;
    Timer step_;  ///< of the core's batch: one for all that are in it
    bool ending_ = false;
    std::uint32_t sends_in_flight_ = 0;
    std::uint64_t turned_away_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> free_;
};

}  // namespace driftless::mock
