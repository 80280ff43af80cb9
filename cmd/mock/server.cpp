#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/mock/mock.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/tls.hpp"
#include "proto/core/errors.hpp"

namespace driftless::mock {

/// SecureWire: the server's side of TLS on one connection of the mock: received bytes to plain
/// ones, answers to records. Owned by the connection; it has no socket.
class SecureWire {
  public:
    explicit SecureWire(const TlsContext& context) : plain_(record_bytes_max, '\0') {
        stream_.accept(context);
    }

    /// Received bytes; valid until `next_plain` gives nothing.
    void receive(std::string_view records);
    /// Plain bytes of the next record; empty: no more are here.
    std::string_view next_plain() { return stream_.read(plain_.data(), plain_.size()); }
    /// The client has said that it is done, or cannot be understood.
    bool over() const {
        return stream_.state() == TlsStream::State::ended ||
               stream_.state() == TlsStream::State::failed;
    }

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

/// Between two writes: well below the second after which a line must be readable.
static constexpr auto pause = std::chrono::milliseconds(500);

Result<std::unique_ptr<LogWriter>> LogWriter::open(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
        return error_from_errno(errno, "open the log");
    }
    return std::unique_ptr<LogWriter>(new LogWriter(file));
}

LogWriter::LogWriter(std::FILE* file) : file_(file), thread_(&LogWriter::run, this) {}

LogWriter::~LogWriter() {
    (void)finish();
    (void)std::fclose(file_);
}

void LogWriter::push(RequestLog&& entry) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(entry));
}

int LogWriter::finish() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    return failed_errno_;
}

/// The writing thread: takes what has come, writes it, pauses; once more when told to stop.
void LogWriter::run() {
    std::vector<RequestLog> entries;
    for (bool last = false; !last;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, pause, [this] { return stopping_; });
            last = stopping_;
            entries.swap(waiting_);
        }
        write(entries);
        entries.clear();
    }
}

void LogWriter::write(const std::vector<RequestLog>& entries) {
    constexpr std::size_t text_bytes = std::size_t{1} << 20;
    text_.clear();
    for (const RequestLog& entry : entries) {
        append_log_line(text_, entry);
        if (text_.size() >= text_bytes) {
            (void)std::fwrite(text_.data(), 1, text_.size(), file_);
            text_.clear();
        }
    }
    (void)std::fwrite(text_.data(), 1, text_.size(), file_);
    if ((std::fflush(file_) != 0 || std::ferror(file_) != 0) && failed_errno_ == 0) {
        failed_errno_ = errno != 0 ? errno : EIO;
    }
}

void SecureWire::receive(std::string_view records) {
    if (stream_.state() == TlsStream::State::handshake) {
        stream_.take(records);
        stream_.step();
    } else {
        stream_.feed(records);
    }
}

void SecureWire::seal(std::string& answer) {
    records_.resize(answer.size() + seal_room(answer.size()));
    std::size_t used = 0;
    std::string_view rest = answer;
    while (!rest.empty()) {  // ends: every record takes some
        const std::string_view plain = rest.substr(0, record_bytes_max);
        used += stream_.seal(plain, records_.data() + used, records_.size() - used);
        rest.remove_prefix(plain.size());
    }
    answer.assign(records_, 0, used);
}

/// Sends of one batch. A send costs 3 to 5 us on loopback, most of it the receiver's side of TCP:
/// the last of four is stamped at most 20 us early, and an enter of 0.4 us is shared by four.
static constexpr std::size_t sends_per_batch = 4;
/// Completions of one turn: with buffers of 16 KiB, counting their words takes about 100 us.
static constexpr std::uint32_t completions_per_turn = 8;
/// Hybrid waiting spins from here on: more than a wake from sleep takes on an idle core.
static constexpr Duration spin_margin = microseconds(60);
/// A sleep ends at least this often, for a signal that came between the look and the sleep.
static constexpr Duration sleep_max = milliseconds(100);
/// Accepting pauses that long when descriptors run out.
static constexpr Duration accept_pause = milliseconds(10);
/// Ending connections may take that long; afterwards the kernel has them.
static constexpr Duration end_max = seconds(2);

static OpSpec multishot(OpKind kind, Socket socket) {
    OpSpec spec;
    spec.kind = kind;
    spec.socket = socket;
    return spec;
}

static OpSpec cancel_of(Op& target) {
    OpSpec spec;
    spec.kind = OpKind::cancel;
    spec.target = &target;
    return spec;
}

struct MockServer::Connection {
    MockServer* server = nullptr;
    MockConnection* core = nullptr;
    Socket socket;
    Op receive;
    Op send;
    Op cancel;
    Timer due;
    std::string out;                  ///< what is being sent; untouched while the kernel has it
    std::unique_ptr<SecureWire> tls;  ///< null: plain
    bool leaving = false;             ///< no more is read or produced
    bool reset = false;               ///< the end is a reset
};

MockServer::MockServer(Driver& driver, MockCore& core, LogWriter* log, const ServerOptions& options)
    : driver_(driver), core_(core), log_(log), options_(options), timers_(connections_max + 2) {
    accept_.handler = &on_accept;
    cancel_accept_.handler = &on_accept_cancelled;
    accept_again_.handler = &on_accept_again;
    step_.handler = &on_step;
    accept_.owner = cancel_accept_.owner = accept_again_.owner = step_.owner = this;
}

MockServer::~MockServer() = default;

Result<Address> MockServer::listen(const Address& address) {
    const Result<Socket> socket = driver_.listen(address, static_cast<int>(options_.backlog));
    if (!socket) {
        return socket.error();
    }
    listening_ = socket.value();
    accept_.spec = multishot(OpKind::accept, listening_);
    driver_.submit(accept_);
    return driver_.local_address(listening_);
}

void MockServer::on_accept(Op& op, const Completion& completion) {
    MockServer& server = *static_cast<MockServer*>(op.owner);
    if (completion.result >= 0) {
        server.open({completion.result}, completion.stamp);
    } else if (!server.ending_) {
        server.timers_.set(server.accept_again_, completion.stamp + accept_pause);
    }
}

void MockServer::on_accept_again(Timer& timer, Instant) {
    MockServer& server = *static_cast<MockServer*>(timer.owner);
    if (!server.ending_ && !server.accept_.in_flight()) {
        server.driver_.submit(server.accept_);
    }
}

void MockServer::open(Socket socket, Instant now) {
    if (free_.empty() && connections_.size() == connections_max) {
        ++turned_away_;
        driver_.close(socket);
        return;
    }
    if (free_.empty()) {
        connections_.push_back(std::make_unique<Connection>());
        Connection& made = *connections_.back();
        made.server = this;
        made.receive.handler = &on_receive;
        made.send.handler = &on_sent;
        made.cancel.handler = &on_cancelled;
        made.due.handler = &on_due;
        made.receive.owner = made.send.owner = made.cancel.owner = made.due.owner = &made;
        free_.push_back(&made);
    }
    Connection& connection = *free_.back();
    free_.pop_back();
    connection.socket = socket;
    connection.leaving = connection.reset = false;
    connection.cancel.spec.target = nullptr;
    connection.core = &core_.open(now);
    connection.core->host = &connection;
    if (options_.tls != nullptr) {
        connection.tls = std::make_unique<SecureWire>(*options_.tls);
    }
    attend(connection);
    if (!connection.leaving) {
        connection.receive.spec = multishot(OpKind::receive, socket);
        driver_.submit(connection.receive);
    }
}

void MockServer::on_receive(Op& op, const Completion& completion) {
    Connection& connection = *static_cast<Connection*>(op.owner);
    MockServer& server = *connection.server;
    if (completion.result > 0 && !connection.leaving) {
        server.take(connection, completion);
        server.attend(connection);
        server.attend_woken();
    }
    if (!completion.more) {  // the peer has left, or we ended it
        server.leave(connection, connection.reset);
    }
}

/// Hands what came to the core, as it is or out of its records.
void MockServer::take(Connection& connection, const Completion& completion) {
    if (connection.tls == nullptr) {
        connection.core->receive(completion.bytes, completion.stamp);
        return;
    }
    connection.tls->receive(completion.bytes);
    for (;;) {  // bounded: each round takes a record out of what was received
        const std::string_view plain = connection.tls->next_plain();
        if (plain.empty()) {
            break;
        }
        connection.core->receive(plain, completion.stamp);
    }
    (void)send_own(connection);
    if (connection.tls->over()) {
        leave(connection, false);
    }
}

/// Sends what TLS itself has to say, unless a send is in flight: its completion asks again.
bool MockServer::send_own(Connection& connection) {
    if (connection.tls == nullptr || !connection.tls->has_output() || connection.send.in_flight()) {
        return false;
    }
    connection.out = connection.tls->take_output();
    send(connection, connection.out);
    return true;
}

void MockServer::on_sent(Op& op, const Completion& completion) {
    Connection& connection = *static_cast<Connection*>(op.owner);
    MockServer& server = *connection.server;
    --server.sends_in_flight_;
    if (completion.result < 0) {
        server.leave(connection, connection.reset);
        return;
    }
    const std::size_t sent = static_cast<std::size_t>(completion.result);
    if (sent < op.spec.bytes.size() && !connection.leaving) {
        server.send(connection, op.spec.bytes.substr(sent));
    } else if (connection.leaving) {
        server.release_if_done(connection);
    } else if (!server.send_own(connection)) {
        server.attend(connection);
    }
}

void MockServer::on_cancelled(Op& op, const Completion&) {
    Connection& connection = *static_cast<Connection*>(op.owner);
    connection.server->release_if_done(connection);
}

void MockServer::on_accept_cancelled(Op&, const Completion&) {}

void MockServer::on_due(Timer& timer, Instant) {
    Connection& connection = *static_cast<Connection*>(timer.owner);
    connection.server->produce(connection);
}

void MockServer::send(Connection& connection, std::string_view bytes) {
    connection.send.spec.kind = OpKind::send;
    connection.send.spec.socket = connection.socket;
    connection.send.spec.bytes = bytes;
    ++sends_in_flight_;
    driver_.submit(connection.send);
}

void MockServer::produce(Connection& connection) {
    if (connection.send.in_flight()) {
        return;  // an alert goes first; its completion asks again
    }
    connection.out.clear();
    connection.core->produce(driver_.now(), connection.out);  // the stamp of these tokens
    if (!connection.out.empty() && connection.tls != nullptr) {
        connection.tls->seal(connection.out);
    }
    if (!connection.out.empty()) {
        send(connection, connection.out);
    }
    attend(connection);
    attend_woken();
}

/// Does what the core wants next, unless a send is in flight: its completion asks again.
void MockServer::attend(Connection& connection) {
    if (connection.leaving || connection.send.in_flight()) {
        return;
    }
    const Instant deadline = connection.core->next_deadline();
    if (deadline < never) {
        timers_.set(connection.due, deadline);
        return;
    }
    timers_.clear(connection.due);
    const MockConnection::Action action = connection.core->next_action();
    if (action != MockConnection::Action::keep) {
        leave(connection, action == MockConnection::Action::reset);
    }
}

void MockServer::attend_woken() {
    while (MockConnection* woken = core_.next_woken()) {  // each waits for a slot once
        attend(*static_cast<Connection*>(woken->host));
    }
    await_step();
    collect_log();
}

void MockServer::await_step() {
    const Instant deadline = ending_ ? never : core_.next_deadline();
    if (deadline == never) {
        timers_.clear(step_);
    } else if (!step_.set() || step_.at() != deadline) {
        timers_.set(step_, deadline);
    }
}

void MockServer::on_step(Timer& timer, Instant now) {
    MockServer& server = *static_cast<MockServer*>(timer.owner);
    server.core_.advance(now);
    server.attend_woken();
}

/// Ends a connection: in good order by shutting it down, or by a reset, without a shutdown, which
/// would say goodbye. What the kernel holds of it is cancelled.
void MockServer::leave(Connection& connection, bool reset) {
    if (!connection.leaving) {
        connection.leaving = true;
        connection.reset = reset;
        timers_.clear(connection.due);
        core_.close(*connection.core, driver_.now());
        connection.core = nullptr;
        if (!reset) {
            if (connection.tls != nullptr) {
                connection.tls->say_goodbye();
                (void)send_own(connection);  // what the socket takes at once
                (void)driver_.flush();
            }
            driver_.shutdown(connection.socket);
        }
        attend_woken();
    }
    release_if_done(connection);
}

void MockServer::release_if_done(Connection& connection) {
    const bool receives = connection.receive.in_flight();
    cancel_once(driver_, connection.cancel, receives ? connection.receive : connection.send);
    if (!connection.socket.open() || connection.receive.in_flight() ||
        connection.send.in_flight() || connection.cancel.in_flight()) {
        return;
    }
    if (connection.reset) {
        const linger at_once{.l_onoff = 1, .l_linger = 0};  // close sends RST, not FIN
        (void)::setsockopt(connection.socket.number, SOL_SOCKET, SO_LINGER, &at_once,
                           sizeof at_once);
    }
    driver_.close(connection.socket);
    connection.socket = {};
    connection.tls.reset();
    free_.push_back(&connection);
}

void MockServer::collect_log() {
    if (log_ == nullptr) {
        return;
    }
    RequestLog entry;
    while (core_.take_finished(entry)) {
        log_->push(std::move(entry));
    }
}

/// One round: tokens that are due, then the kernel, then a wait where nothing is near.
void MockServer::turn() {
    const Instant now = driver_.now();
    const bool busy = timers_.expire(now, sends_per_batch) > 0 || timers_.next() <= now;
    Turn turn;
    turn.completions_max = completions_per_turn;
    turn.until = std::min(timers_.next(), now + sleep_max);
    if (busy) {
        turn.wait = Wait::none;
    } else if (options_.wait == WaitMode::sleep) {
        turn.wait = Wait::sleep;
    } else {
        turn.until = turn.until - spin_margin;
        const bool near = options_.wait == WaitMode::spin || turn.until <= now;
        turn.wait = near ? Wait::spin : Wait::sleep;
    }
    (void)driver_.turn(turn);
}

/// Enough requests have ended, and nobody is owed a byte.
bool MockServer::finished() const {
    return options_.requests_max != 0 && core_.ended() >= options_.requests_max &&
           sends_in_flight_ == 0 && timers_.size() == 0;
}

void MockServer::run(const volatile std::sig_atomic_t& stop) {
    while (stop == 0 && !finished()) {  // the event loop
        turn();
    }
    end_all();
}

/// Ends every connection and waits for their operations, which the kernel may still be using.
void MockServer::end_all() {
    ending_ = true;
    timers_.clear(accept_again_);
    await_step();
    if (accept_.in_flight()) {
        cancel_accept_.spec = cancel_of(accept_);
        driver_.submit(cancel_accept_);
    }
    for (const std::unique_ptr<Connection>& connection : connections_) {
        if (connection->socket.open() && !connection->leaving) {
            leave(*connection, false);
        }
    }
    const Instant latest = driver_.now() + end_max;
    while (driver_.in_flight() > 0 && driver_.now() < latest) {
        Turn turn;
        turn.wait = Wait::sleep;
        turn.until = latest;
        (void)driver_.turn(turn);
    }
    if (listening_.open()) {
        driver_.close(listening_);
        listening_ = {};
    }
    collect_log();
}

}  // namespace driftless::mock
