/// The command `driftless mock`: an inference server to rehearse against: its options, the core on
/// real sockets, and the file that its requests are logged to.
#pragma once

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/mock/core.hpp"
#include "cmd/mock/faults.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/tls.hpp"
#include "proto/core/errors.hpp"

namespace driftless::mock {

/// LogWriter: writes finished request logs to a file, on a thread of its own.
///
/// The serving thread hands entries over under a lock that is held for a moment; formatting and
/// writing happen elsewhere, at the latest half a second later. Every line in the file is whole.
/// Owned by the serving thread; destroying it writes what is left.
class LogWriter {
  public:
    /// Truncates the file. Errors: denied, not_found, io_failed.
    static Result<std::unique_ptr<LogWriter>> open(const std::string& path);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    void push(RequestLog&& entry);

    /// errno of the first write that failed, 0: none. Valid once `finish` has returned.
    int finish();

  private:
    explicit LogWriter(std::FILE* file);
    void run();
    void write(const std::vector<RequestLog>& entries);

    std::FILE* file_;
    int failed_errno_ = 0;
    std::string text_;  ///< scratch of the writing thread

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<RequestLog> waiting_;
    bool stopping_ = false;
    std::thread thread_;  // last: it uses all of the above
};

// MockServer: the mock's core on real sockets, on one thread.
//
// Accepts and receives are multishot; every connection has one timer, set to its core's next
// deadline, and one send in flight at most: what becomes due meanwhile waits for it, as it would
// in any server. Tokens that are due together leave in batches of a few sends, so that the stamp
// that the core takes before each batch stays close to each of its sends.
//
// Owns the sockets of the driver that it is given; it needs one with real file descriptors.

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

namespace driftless {

/// Serves until SIGINT or SIGTERM, or `--max-requests`. `argv[0]` is the command's name. Returns
/// the exit code: 0 done, 2 usage, 7 the host lacks or fails.
int run_mock(int argc, char** argv);

}  // namespace driftless

namespace driftless::mock {

// The command line of `driftless mock`, as plain values.

/// An address and a port, or the path of a Unix socket.
struct ListenAt {
    std::string host = "127.0.0.1";  ///< never a public address unless asked for
    std::uint16_t port = 8000;       ///< 0: any that is free
    std::string unix_path;           ///< instead of host and port, where not empty
};

struct MockOptions {
    ListenAt listen;
    CoreOptions core;
    ServerOptions server;
    std::string log_path;   ///< empty: no log
    TlsServerOptions tls;   ///< `cert_file` empty: plain HTTP
    std::string tokenizer;  ///< file; empty: words are tokens
    std::optional<std::uint32_t> cpu;
};

struct MockCommandLine : CommandLine {
    MockOptions options;
};

MockCommandLine parse_mock_options(const std::vector<std::string>& arguments);

}  // namespace driftless::mock
