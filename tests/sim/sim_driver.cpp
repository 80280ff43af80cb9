#include "tests/sim/sim_driver.hpp"

#include <algorithm>
#include <cerrno>

#include "proto/core/check.hpp"

namespace driftless::sim {

namespace {
constexpr Duration clock_read{25};  // now() costs time, as it does outside
constexpr Duration spin_step{200};
constexpr std::int64_t late_wake_ns = 5'000'000;
constexpr std::size_t first_instant_ns = 1'000'000'000;
}  // namespace

SimDriver::SimDriver(std::uint64_t seed, const Weather& weather, const mock::CoreOptions& server)
    : random_(seed),
      weather_(weather),
      core_(server),
      now_{static_cast<std::int64_t>(first_instant_ns)},
      stamp_(now_) {
    connections_.push_back(nullptr);  // number 0 is nobody's
    clock_.offset_ns = realtime_ahead_ns_;
}

SimDriver::~SimDriver() {
    CHECK(ops_.empty());
    for (const auto& connection : connections_) {
        if (connection != nullptr) {
            drop_server(*connection);
        }
    }
}

Instant SimDriver::now() {
    now_ = now_ + clock_read;
    return now_;
}

bool SimDriver::chance(double probability) {
    return random_.uniform() < probability;
}

Duration SimDriver::latency() {
    const auto range = static_cast<std::uint64_t>(weather_.latency_max.ns);
    return {1 + static_cast<std::int64_t>(random_.below(range))};
}

void SimDriver::at(Instant when, Happening happening) {
    happenings_.emplace(std::make_pair(when.ns, ++happenings_made_), std::move(happening));
}

Instant SimDriver::next_happening() const {
    return happenings_.empty() ? never : Instant{happenings_.begin()->first.first};
}

Result<Socket> SimDriver::open_socket(const Address&) {
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->client_open = true;
    ++sockets_open_;
    return Socket{static_cast<int>(connections_.size() - 1)};
}

Result<Socket> SimDriver::listen(const Address&, int) {
    return Error{ErrorCode::unsupported, EOPNOTSUPP, "listen in the simulator"};
}

Result<Address> SimDriver::local_address(Socket) {
    return Error{ErrorCode::unsupported, EOPNOTSUPP, "name a socket of the simulator"};
}

void SimDriver::drop_server(Connection& connection) {
    if (connection.server != nullptr) {
        core_.close(*connection.server, now_);
        connection.server = nullptr;
    }
}

void SimDriver::shutdown(Socket socket) {
    Connection& connection = *connections_[static_cast<std::size_t>(socket.number)];
    if (connection.shut) {
        return;
    }
    connection.shut = true;
    connection.inbox.clear();
    connection.inbox.push_back({{}, true, false});
    feed_receive(connection);
    drop_server(connection);
    wake_servers();
}

void SimDriver::close(Socket socket) {
    Connection& connection = *connections_[static_cast<std::size_t>(socket.number)];
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

void SimDriver::submit(Op& op) {
    CHECK(!op.in_flight() && op.handler != nullptr);
    const std::uint32_t number = ++ops_made_;
    set_slot(op, number);
    ops_.emplace(number, Pending{&op, false});
    ++counters_.submits;
    start(op, number);
}

void SimDriver::flush() {
    ++counters_.enters;
    start_taken();
}

// Sends leave with the flush or the turn after their submission, not before.
void SimDriver::start_taken() {
    for (const std::uint32_t number : std::exchange(taken_, {})) {
        start_send(*ops_.at(number).op, number);
    }
}

void SimDriver::start(Op& op, std::uint32_t number) {
    const int socket = op.spec.socket.number;
    switch (op.spec.kind) {
        case OpKind::connect: {
            if (!chance(weather_.hang_connect)) {
                const std::int32_t result = chance(weather_.refuse_connect) ? -ECONNREFUSED : 0;
                at(now_ + latency(), {Happening::Kind::connect, socket, number, result, 0, {}});
            }
            break;
        }
        case OpKind::send:
            taken_.push_back(number);
            break;
        case OpKind::receive: {
            Connection& connection = *connections_[static_cast<std::size_t>(socket)];
            CHECK(connection.receive == 0);
            connection.receive = number;
            feed_receive(connection);
            break;
        }
        case OpKind::stamps:
            break;
        case OpKind::cancel: {
            if (op.spec.target->spec.kind == OpKind::stamps) {
                cancel_stamps(op, number);
                break;
            }
            const bool there = op.spec.target->in_flight();
            if (there) {
                cancel(*op.spec.target);
            }
            visible_.push_back({number, there ? 0 : -ENOENT, false, {}});
            break;
        }
        case OpKind::accept:
            CHECK(!"the simulator has clients only");
    }
}

void SimDriver::start_send(Op& op, std::uint32_t number) {
    const int socket = op.spec.socket.number;
    Connection& connection = *connections_[static_cast<std::size_t>(socket)];
    CHECK(connection.connected && !op.spec.bytes.empty());
    if (connection.shut) {
        at(now_ + latency(), {Happening::Kind::sent, socket, number, -EPIPE, 0, {}});
        return;
    }
    std::size_t size = op.spec.bytes.size();
    if (chance(weather_.short_send)) {
        size = 1 + random_.below(size);
    }
    stamp_sent(connection, op, size);
    if (chance(weather_.inline_send)) {
        visible_.push_back({number, static_cast<std::int32_t>(size), false, {}});
    } else {
        at(now_ + latency(),
           {Happening::Kind::sent, socket, number, static_cast<std::int32_t>(size), 0, {}});
    }
    std::string_view rest = op.spec.bytes.substr(0, size);
    while (!rest.empty()) {  // ends: each piece takes a byte at least
        const std::size_t cut =
            chance(weather_.split) ? 1 + random_.below(rest.size()) : rest.size();
        connection.to_server = std::max(connection.to_server, now_) + latency();
        at(connection.to_server, {Happening::Kind::to_server,
                                  socket,
                                  0,
                                  0,
                                  0,
                                  {std::string(rest.substr(0, cut)), false, false}});
        rest.remove_prefix(cut);
    }
}

void SimDriver::cancel(Op& target) {
    const std::uint32_t number = slot_of(target);
    Pending& pending = ops_.at(number);
    if (pending.cancelled) {
        return;
    }
    pending.cancelled = true;
    if (target.spec.kind == OpKind::receive) {
        connections_[static_cast<std::size_t>(target.spec.socket.number)]->receive = 0;
    }
    visible_.push_back({number, -ECANCELED, false, {}});
}

void SimDriver::happen_until(Instant until) {
    while (!happenings_.empty() && happenings_.begin()->first.first <= until.ns) {
        auto node = happenings_.extract(happenings_.begin());
        now_ = std::max(now_, Instant{node.key().first});
        happen(node.mapped());
    }
    now_ = std::max(now_, until);
}

void SimDriver::happen(Happening& happening) {
    Connection& connection = *connections_[static_cast<std::size_t>(happening.connection)];
    switch (happening.kind) {
        case Happening::Kind::connect:
            connect_happens(happening);
            break;
        case Happening::Kind::sent:
            visible_.push_back({happening.op, happening.result, false, {}});
            break;
        case Happening::Kind::to_server:
            server_receives(connection, happening.connection, happening.piece);
            break;
        case Happening::Kind::to_client:
            if (!connection.shut) {
                happening.piece.realtime_ns = connection.stamped ? realtime_ns() : 0;
                connection.inbox.push_back(std::move(happening.piece));
                feed_receive(connection);
            }
            break;
        case Happening::Kind::deadline:
            if (connection.server != nullptr && happening.version == connection.deadline_version) {
                server_turn(connection, happening.connection);
            }
            break;
    }
}

void SimDriver::connect_happens(const Happening& happening) {
    const auto found = ops_.find(happening.op);
    if (found == ops_.end() || found->second.cancelled) {
        return;
    }
    Connection& connection = *connections_[static_cast<std::size_t>(happening.connection)];
    visible_.push_back({happening.op, happening.result, false, {}});
    found->second.cancelled = true;  // it has completed: a cancel comes too late
    if (happening.result == 0) {
        connection.connected = true;
        connection.server = &core_.open(now_);
        connection.server->host = &connection;
        server_turn(connection, happening.connection);
    }
}

// Moves what has arrived into completions of the armed receive, as many pieces together as chance
// has it: TCP keeps bytes, not pieces.
void SimDriver::feed_receive(Connection& connection) {
    while (connection.receive != 0 && !connection.inbox.empty()) {
        const Piece piece = std::move(connection.inbox.front());
        connection.inbox.erase(connection.inbox.begin());
        if (piece.reset) {
            connection.shut = true;
            connection.inbox.clear();
            drop_server(connection);
            visible_.push_back({std::exchange(connection.receive, 0), -ECONNRESET, false, {}});
            return;
        }
        if (!piece.bytes.empty()) {
            bytes_delivered_ += piece.bytes.size();
            const auto size = static_cast<std::int32_t>(piece.bytes.size());
            visible_.push_back({connection.receive, size, true, piece.bytes, piece.realtime_ns});
        }
        if (piece.end) {
            visible_.push_back({std::exchange(connection.receive, 0), 0, false, {}});
        }
    }
}

void SimDriver::hand_over(Visible& visible, TurnResult& result) {
    const auto found = ops_.find(visible.op);
    CHECK(found != ops_.end());
    Op& op = *found->second.op;
    Completion done;
    done.result = visible.result;
    done.more = visible.more;
    done.stamp = stamp_;
    done.batch = batch_;
    done.kernel_ns = to_monotonic_ns(visible.realtime_ns);
    const std::unique_ptr<char[]> own(new char[visible.bytes.size()]);
    std::copy(visible.bytes.begin(), visible.bytes.end(), own.get());
    done.bytes = {own.get(), visible.bytes.size()};
    if (!done.more) {
        ops_.erase(found);
        set_slot(op, no_slot);
    }
    ++result.completions;
    ++counters_.completions;
    op.handler(op, done);
}

TurnResult SimDriver::turn(const Turn& turn) {
    TurnResult result;
    start_taken();
    if (chance(weather_.step_clock)) {
        constexpr std::int64_t second = 1'000'000'000;
        realtime_ahead_ns_ += static_cast<std::int64_t>(random_.below(2 * second)) - second;
    }
    if (turn.may_enter || turn.wait == Wait::sleep) {
        happen_until(now_);
    }
    if (visible_.empty() && turn.wait == Wait::sleep) {
        Instant until = std::min(turn.until, next_happening());
        CHECK(until < never);  // nothing would ever end this sleep
        if (chance(weather_.late_wake)) {
            until = until + Duration{static_cast<std::int64_t>(random_.below(late_wake_ns))};
        }
        happen_until(until);
        result.entered = result.slept = true;
    } else if (visible_.empty() && turn.wait == Wait::spin) {
        now_ = now_ + spin_step;
    }
    if (visible_.empty() || turn.completions_max == 0) {
        return result;
    }
    // One batch: its completions come in random order, those of one operation in their own.
    ++batch_;
    stamp_ = now();
    std::vector<Visible> batch = std::exchange(visible_, {});
    while (!batch.empty() && result.completions < turn.completions_max) {
        std::size_t pick = random_.below(batch.size());
        for (std::size_t i = 0; i < pick; ++i) {
            pick = batch[i].op == batch[pick].op ? i : pick;
        }
        Visible visible = std::move(batch[pick]);
        batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(pick));
        hand_over(visible, result);
    }
    visible_.insert(visible_.begin(), std::make_move_iterator(batch.begin()),
                    std::make_move_iterator(batch.end()));
    return result;
}

}  // namespace driftless::sim
