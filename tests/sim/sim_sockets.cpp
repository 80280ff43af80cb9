// The client's end of a simulated connection: sockets, connects, sends, and the one receive.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proto/core/errors.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr Duration second = seconds(1);
constexpr std::int64_t blocked_ns = 2'000'000'000;
}  // namespace

Result<Socket> SimDriver::open_socket(const Address& address) {
    if (weather_.no_socket > 0 && chance(weather_.no_socket)) {
        return Error{ErrorCode::exhausted, EMFILE, "make a socket"};
    }
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->client_open = true;
    connections_.back()->secure = TlsWorld::is_secure(address);
    connections_.back()->spared = address.family() == spared_address().family();
    ++sockets_open_;
    return Socket{static_cast<int>(connections_.size() - 1)};
}

Address SimDriver::spared_address() {
    Address address;  // of a family that no other has; one with a length speaks TLS here
    address.storage.ss_family = AF_INET6;
    return address;
}

Result<Socket> SimDriver::listen(const Address&, int) {
    return Error{ErrorCode::unsupported, EOPNOTSUPP, "listen in the simulator"};
}

Result<Address> SimDriver::local_address(Socket) {
    return Error{ErrorCode::unsupported, EOPNOTSUPP, "name a socket of the simulator"};
}

void SimDriver::shutdown(Socket socket) {
    Connection& connection = connection_of(socket.number);
    if (connection.secure && connection.overdue_at == now_) {
        --overdue_sends_;  // a farewell, which may come whenever it likes, goes right before this
    }
    if (connection.shut) {
        return;
    }
    connection.shut = true;
    connection.inbox.clear();
    connection.inbox.push_back({{}, End::close});
    connection.end_told = connection.deaf;
    fail_blocked(connection, -EPIPE);
    feed_receive(socket.number);
    drop_server(connection);
    wake_servers();
}

void SimDriver::close(Socket socket) {
    Connection& connection = connection_of(socket.number);
    CHECK(connection.client_open && connection.receive == 0);
    for (const auto& [number, pending] : ops_) {
        CHECK(pending.op->spec.kind == OpKind::cancel ||
              pending.op->spec.socket.number != socket.number);
    }
    connection.client_open = false;
    connection.shut = true;
    --sockets_open_;
    drop_server(connection);
    wake_servers();
}

// A lost SYN is sent again after 1 s, and after 2 s more.
void SimDriver::start_connect(Op& op, std::uint32_t number) {
    const Connection& connection = connection_of(op.spec.socket.number);
    if (strikes(connection, weather_.hang_connect)) {
        return;
    }
    if (weather_.no_port > 0 && chance(weather_.no_port)) {
        visible_.push_back({number, -EADDRNOTAVAIL, false, {}});
        ops_.at(number).ended = true;
        return;
    }
    Duration delay = latency();
    if (strikes(connection, weather_.slow_connect)) {
        delay = delay + (chance(0.5) ? second : seconds(3));
    }
    const std::int32_t result = strikes(connection, weather_.refuse_connect) ? -ECONNREFUSED : 0;
    at(now_ + delay, {Happening::Kind::connect, op.spec.socket.number, number, result, 0, {}});
}

void SimDriver::connect_happens(const Happening& happening) {
    const auto found = ops_.find(happening.op);
    if (found == ops_.end() || found->second.ended) {
        return;
    }
    visible_.push_back({happening.op, happening.result, false, {}});
    found->second.ended = true;
    if (happening.result == 0) {
        connection_of(happening.connection).connected = true;
        open_server(happening.connection);
    }
}

void SimDriver::start_send(Op& op, std::uint32_t number) {
    const int socket = op.spec.socket.number;
    Connection& connection = connection_of(socket);
    CHECK(connection.connected && connection.blocked == 0 && !op.spec.bytes.empty());
    watch_limit(connection);
    if (connection.shut) {
        at(now_ + latency(), {Happening::Kind::sent, socket, number, -EPIPE, 0, {}});
    } else if (weather_.no_memory > 0 && chance(weather_.no_memory)) {
        visible_.push_back({number, -ENOBUFS, false, {}});
    } else if (strikes(connection, weather_.block_send)) {
        connection.blocked = number;
        at(now_ + up_to(blocked_ns), {Happening::Kind::unblock, socket, number, 0, 0, {}});
    } else {
        send_now(op, number);
    }
}

void SimDriver::send_now(Op& op, std::uint32_t number) {
    if (dead_) {
        visible_.push_back({number, -EPIPE, false, {}});
        return;
    }
    const int socket = op.spec.socket.number;
    Connection& connection = connection_of(socket);
    std::size_t size = op.spec.bytes.size();
    if (chance(weather_.short_send)) {
        size = 1 + random_.below(size);
    }
    if (on_send_) {
        on_send_(op, now_);
    }
    stamp_sent(connection, op, size);
    const auto result = static_cast<std::int32_t>(size);
    size -= std::exchange(bugs_.greedy_send, false) ? 1 : 0;
    bytes_accepted_ += size;
    if (chance(weather_.inline_send)) {
        visible_.push_back({number, result, false, {}});
    } else {
        at(now_ + latency(), {Happening::Kind::sent, socket, number, result, 0, {}});
    }
    const int receiver = bugs_.crossed_send ? crossed(socket) : socket;
    std::string_view rest = op.spec.bytes.substr(0, size);
    while (!rest.empty()) {  // ends: each piece takes a byte at least
        const std::size_t cut =
            chance(weather_.split) ? 1 + random_.below(rest.size()) : rest.size();
        connection.to_server = std::max(connection.to_server, now_) + way_of_segment(connection);
        Piece piece{std::string(rest.substr(0, cut))};
        at(connection.to_server, {Happening::Kind::to_server, receiver, 0, 0, 0, std::move(piece)});
        rest.remove_prefix(cut);
    }
}

/// How long a segment is under way, and what the kernel has to do for it.
Duration SimDriver::way_of_segment(Connection& connection) {
    const bool lost = weather_.lose_sent > 0 && chance(weather_.lose_sent);
    const bool in_vain = !lost && weather_.resend_in_vain > 0 && chance(weather_.resend_in_vain);
    if (lost || in_vain) {
        connection.resends.push_back({now_ + Weather::lost_for, in_vain});
        ++segments_resent_;
    }
    return latency() + (lost ? Weather::lost_for : Duration{0});
}

std::optional<ResendCounts> SimDriver::resent(Socket socket) {
    ResendCounts counts;
    for (const auto& [at, in_vain] : connection_of(socket.number).resends) {
        const bool done = at <= now_ && !bugs_.uncounted_loss;
        counts.segments += done ? 1 : 0;
        counts.duplicates += done && in_vain ? 1 : 0;
    }
    counts.open = connection_of(socket.number).to_server > now_ ? 1 : 0;
    return counts;
}

/// Another connection whose server's end stands; the same where there is none.
int SimDriver::crossed(int number) {
    for (std::size_t other = 1; other < connections_.size(); ++other) {
        const TlsServer* tls = connections_[other]->tls.get();
        if (static_cast<int>(other) != number && tls != nullptr && tls->stands()) {
            bugs_.crossed_send = false;
            return static_cast<int>(other);
        }
    }
    return number;
}

/// The connection is gone: a send that waits for room ends.
void SimDriver::fail_blocked(Connection& connection, std::int32_t result) {
    if (connection.blocked != 0) {
        visible_.push_back({std::exchange(connection.blocked, 0), result, false, {}});
    }
}

/// Returns what the cancel itself completes with.
std::int32_t SimDriver::cancel(Op& target) {
    const std::uint32_t number = slot_of(target);
    Pending& pending = ops_.at(number);
    if (target.spec.kind != OpKind::connect) {
        Connection& connection = connection_of(target.spec.socket.number);
        const bool waits = connection.receive == number || connection.blocked == number;
        if (connection.receive == number) {
            note_end_seen(connection);
            connection.receive = 0;
        } else if (waits) {
            connection.blocked = 0;
        }
        if (waits) {
            visible_.push_back({number, -ECANCELED, false, {}});
        }
        return waits ? 0 : -ENOENT;
    }
    if (pending.ended) {
        return -ENOENT;
    }
    if (chance(weather_.late_cancel)) {
        const std::int32_t result = chance(0.5) ? -ECONNREFUSED : 0;
        at(now_ + latency(),
           {Happening::Kind::connect, target.spec.socket.number, number, result, 0, {}});
        return -EALREADY;
    }
    pending.ended = true;
    visible_.push_back({number, -ECANCELED, false, {}});
    return 0;
}

/// Bytes or an end reach the client's kernel.
void SimDriver::arrive(int number, Piece& piece) {
    Connection& connection = connection_of(number);
    if (connection.shut) {
        return;
    }
    if (piece.end == End::reset) {
        fail_blocked(connection, -ECONNRESET);
        connection.shut = true;
    }
    piece.realtime_ns = connection.stamped ? piece.came.ns + realtime_ahead_ns_ : 0;
    connection.inbox.push_back(std::move(piece));
    feed_receive(number);
}

/// The kernel loses an end, at most one of a connection.
bool SimDriver::loses_end(Connection& connection, const Piece& piece) {
    if (piece.end != End::none && !std::exchange(connection.end_told, true) &&
        weather_.lose_end > 0 && strikes(connection, weather_.lose_end)) {
        connection.deaf = true;
        connection.deaf_since = connection.shut && piece.end == End::close ? never : now_ - stood_;
    }
    return connection.deaf;
}

void SimDriver::note_end_seen(Connection& connection) {
    if (std::exchange(connection.deaf, false) && connection.deaf_since != never) {
        end_unseen_max_ = std::max(end_unseen_max_, now_ - stood_ - connection.deaf_since);
    }
}

void SimDriver::find_ends(std::span<const QuietReceive> quiet) {
    CHECK(quiet.size() <= quiet_max);
    ++counters_.enters;
    for (const QuietReceive& one : quiet) {
        const int number = one.receive->spec.socket.number;
        Connection& connection = connection_of(number);
        if (one.receive->in_flight() && connection.deaf && !bugs_.blind_to_ends) {
            note_end_seen(connection);
            connection.quiet_since = one.since;
            feed_receive(number);
        }
    }
}

/// Moves what has arrived into completions of the armed receive.
void SimDriver::feed_receive(int number) {
    Connection& connection = connection_of(number);
    std::size_t taken = 0;
    for (; connection.receive != 0 && taken < connection.inbox.size(); ++taken) {
        Piece& piece = connection.inbox[taken];
        if (connection.starved || connection.deaf) {
            break;
        }
        if (!piece.bytes.empty() && chance(weather_.no_buffers)) {
            ++counters_.no_buffers;
            connection.starved = true;
            ++starved_;
            at(now_, {Happening::Kind::rearm, number, 0, 0, 0, {}});
            break;
        }
        if (!piece.bytes.empty()) {
            bytes_delivered_ += piece.bytes.size();
            const auto size = static_cast<std::int32_t>(piece.bytes.size());
            visible_.push_back({connection.receive, size, true, piece.bytes, piece.realtime_ns,
                                piece.came, piece.own, piece.came});
            piece.bytes.clear();
        }
        if (loses_end(connection, piece)) {
            break;
        }
        if (piece.end != End::none) {
            const std::int32_t result = piece.end == End::reset ? -ECONNRESET : 0;
            visible_.push_back({std::exchange(connection.receive, 0), result, false, {}});
        }
    }
    connection.inbox.erase(connection.inbox.begin(),
                           connection.inbox.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace driftless::sim
