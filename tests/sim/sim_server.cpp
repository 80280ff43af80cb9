// The server's end of a simulated connection: it receives, says what is due, and what it says
// travels back in pieces, until it or the weather ends it.

#include <algorithm>

#include "proto/core/errors.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr std::uint64_t cut_bytes_max = 8192;  // an answer or some of them
constexpr std::int64_t stall_ns = 2'000'000'000;
constexpr std::size_t buffer_bytes = 4096;
}  // namespace

void SimDriver::open_server(int number) {
    Connection& connection = connection_of(number);
    connection.cut = weather_.cut_at;
    if (strikes(connection, weather_.cut)) {
        connection.cut =
            Cut{random_.below(cut_bytes_max), static_cast<Cut::Kind>(random_.below(3))};
    }
    if (connection.secure) {
        open_tls(connection);
    }
    if (script_.answers != nullptr && strikes(connection, script_.share)) {
        connection.scripted = std::make_unique<ScriptedServer>(script_);
        scripted_turn(number);
    } else {
        connection.server = &core_.open(now_);
        connection.limit = said_limit();
        server_turn(number);
    }
}

/// In whole seconds, as it is told.
Duration SimDriver::said_limit() const {
    const mock::CoreOptions& server = core_.options();
    const std::int64_t said_s =
        server.announce_keep_alive ? server.keep_alive_timeout.ns / seconds(1).ns : 0;
    return bugs_.unsaid_limit ? DriverBugs::unsaid : seconds(said_s);
}

/// The client sends: has it waited for longer than it may? What was harmed on its way it has not
/// heard.
void SimDriver::watch_limit(Connection& connection) {
    const bool overdue = connection.limit.ns > 0 && !connection.harmed &&
                         connection.heard != never && now_ - connection.heard > connection.limit;
    overdue_sends_ += overdue ? 1 : 0;
    connection.overdue_at = overdue ? now_ : never;
    connection.heard = never;
}

void SimDriver::drop_server(Connection& connection) {
    if (connection.server != nullptr) {
        core_.close(*connection.server, now_);
        connection.server = nullptr;
    }
    connection.scripted.reset();
}

void SimDriver::server_receives(int number, std::string_view bytes) {
    Connection& connection = connection_of(number);
    ++connection.idle_version;
    connection.asked = true;
    if (connection.tls != nullptr) {
        tls_receives(number, bytes);
    } else if (connection.served()) {
        plain_receives(number, bytes);
    } else if (!connection.shut) {  // nobody listens any more
        connection.to_client = std::max(connection.to_client, now_) + latency();
        at(connection.to_client,
           {Happening::Kind::to_client, number, 0, 0, 0, Piece{{}, End::reset}});
    }
}

void SimDriver::plain_receives(int number, std::string_view bytes) {
    Connection& connection = connection_of(number);
    if (connection.server != nullptr) {
        connection.server->receive(bytes, now_);
        server_turn(number);
    } else if (connection.scripted != nullptr) {
        connection.scripted->receive(bytes);
        scripted_turn(number);
    }
}

// Sends what is due, does what the server wants done, and notes when it wants to go on.
void SimDriver::server_turn(int number) {
    Connection& connection = connection_of(number);
    if (connection.scripted != nullptr) {
        scripted_turn(number);
        return;
    }
    std::string out;
    // Ends: each produce moves the deadline on.
    while (connection.server != nullptr && connection.server->next_deadline() <= now_) {
        out.clear();
        connection.server->produce(now_, out);
        say(number, out, End::none);
    }
    if (connection.server != nullptr) {
        const Instant next = connection.server->next_deadline();
        const auto action = connection.server->next_action();
        if (next < never) {
            at(next, {Happening::Kind::deadline, number, 0, 0, ++connection.deadline_version, {}});
        } else if (action != mock::MockConnection::Action::keep) {
            const bool reset = action == mock::MockConnection::Action::reset;
            say(number, {}, reset ? End::reset : End::close);
        } else if (weather_.idle_close.ns > 0 && !connection.asked && !connection.spared) {
            at(now_ + weather_.idle_close,
               {Happening::Kind::idle, number, 0, 0, ++connection.idle_version, {}});
        }
    }
    wake_servers();
}

void SimDriver::scripted_turn(int number) {
    Connection& connection = connection_of(number);
    ScriptedServer& server = *connection.scripted;
    const std::optional<std::string_view> bytes = server.say();
    if (!bytes) {
        return;
    }
    if (server.row() && (scripted_rows_.empty() || scripted_rows_.back() != *server.row())) {
        scripted_rows_.push_back(*server.row());
    }
    const std::optional<Duration> pause = server.goes_on_after();
    say(number, *bytes, server.closes() ? End::close : End::none);
    if (connection.scripted != nullptr && pause) {
        // As with a full window: what has not arrived yet is not talked over.
        at(std::max(now_ + *pause, connection.to_client),
           {Happening::Kind::deadline, number, 0, 0, ++connection.deadline_version, {}});
    }
}

/// The server has had nothing to say or to read since the version was noted.
void SimDriver::close_idle(int number, std::uint64_t version) {
    Connection& connection = connection_of(number);
    if (connection.server != nullptr && version == connection.idle_version &&
        connection.server->next_deadline() == never) {
        say(number, {}, End::close);
        wake_servers();
    }
}

void SimDriver::wake_servers() {
    while (mock::MockConnection* woken = core_.next_woken()) {
        const auto found =
            std::find_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
                return connection != nullptr && connection->server == woken;
            });
        CHECK(found != connections_.end());
        const int number = static_cast<int>(found - connections_.begin());
        at(std::max(woken->next_deadline(), now_),
           {Happening::Kind::deadline, number, 0, 0, ++(*found)->deadline_version, {}});
    }
    await_step();
}

/// Notes when the servers' batch goes on.
void SimDriver::await_step() {
    const Instant deadline = core_.next_deadline();
    if (deadline < never && deadline != step_awaited_) {
        step_awaited_ = deadline;
        at(std::max(deadline, now_), {Happening::Kind::step, -1, 0, 0, 0, {}});
    }
}

/// How many of so many bytes the next piece carries: a receive buffer at most.
std::size_t SimDriver::next_cut(std::size_t bytes) {
    bytes = std::min(bytes, buffer_bytes);
    if (weather_.bytewise) {
        return std::min<std::size_t>(bytes, 1);
    }
    return bytes > 1 && chance(weather_.split) ? 1 + random_.below(bytes - 1) : bytes;
}

/// What a server says leaves as records where it has TLS. `close` is an end in good order.
void SimDriver::say(int number, std::string_view bytes, End end) {
    TlsServer* tls = connection_of(number).tls.get();
    if (tls == nullptr) {
        deliver_to_client(number, bytes, end);
        return;
    }
    std::string records = tls->seal(bytes);
    if (end == End::close && !tls_->chance(tls_->weather().no_goodbye)) {
        records += tls->say_goodbye();
    }
    deliver_to_client(number, records, end, bytes.empty());
}

void SimDriver::deliver_to_client(int number, std::string_view bytes, End end, bool own) {
    Connection& connection = connection_of(number);
    if (connection.server_ended || (bytes.empty() && end == End::none)) {
        return;
    }
    const std::optional<Cut>& cut = connection.cut;
    if (cut && connection.bytes_said + bytes.size() >= cut->bytes) {
        bytes = bytes.substr(0, cut->bytes - connection.bytes_said);
        end = cut->kind == Cut::Kind::reset   ? End::reset
              : cut->kind == Cut::Kind::close ? End::close
                                              : End::half_close;
    }
    const std::string harmed = corrupted(connection, bytes);
    bytes = harmed.empty() ? bytes : harmed;
    connection.bytes_said += bytes.size();
    connection.asked = false;
    do {
        const std::size_t size = next_cut(bytes.size());
        const bool last = size == bytes.size();
        connection.to_client = std::max(connection.to_client, now_) + latency();
        if (strikes(connection, weather_.stall)) {
            connection.to_client = connection.to_client + up_to(stall_ns);
        }
        at(connection.to_client,
           {Happening::Kind::to_client, number, 0, 0, 0,
            Piece{std::string(bytes.substr(0, size)), last ? end : End::none, 0, {}, own}});
        bytes.remove_prefix(size);
    } while (!bytes.empty());  // ends: each piece takes a byte at least
    connection.server_ended = end != End::none;
    if (end == End::close || end == End::reset) {
        drop_server(connection);
        connection.tls.reset();
    }
}

}  // namespace driftless::sim
