#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

namespace {
constexpr Duration clock_read{25};  // now() costs time, as it does outside
constexpr Duration spin_step{200};
constexpr std::int64_t late_wake_ns = 5'000'000;
constexpr std::int64_t first_instant_ns = 1'000'000'000;
constexpr std::size_t read_bytes_max = 4096;
constexpr std::int32_t gone = INT32_MIN;  // the result of what is a part of another read now
constexpr std::size_t order_window = 64;  // completions that may overtake each other
constexpr Duration early_stamp = milliseconds(10);
}  // namespace

SimDriver::SimDriver(std::uint64_t seed, const Weather& weather, const mock::CoreOptions& server,
                     const Script& script, const DriverBugs& bugs, TlsWorld* tls)
    : random_(seed),
      weather_(weather),
      core_(server),
      script_(script),
      bugs_(bugs),
      tls_(tls),
      now_{first_instant_ns},
      stamp_(now_),
      unread_(now_),
      stood_until_(now_),
      caught_up_(now_) {
    connections_.push_back(nullptr);  // number 0 is nobody's
    clock_.offset_ns = realtime_ahead_ns_;
    if (tls_ != nullptr) {
        tls_->set_clock(now_);
    }
}

SimDriver::~SimDriver() {
    CHECK(ops_.empty());
    for (const auto& connection : connections_) {
        if (connection != nullptr) {
            drop_server(*connection);
        }
    }
}

void SimDriver::die_after(std::uint32_t steps, std::function<void()> dies) {
    steps_left_ = steps;
    dies_ = std::move(dies);
}

void SimDriver::live_on() {
    if (steps_left_ > 0 && --steps_left_ == 0) {
        dead_ = true;
        dies_();
    }
}

Instant SimDriver::now() {
    now_ = now_ + clock_read;
    return now_;
}

bool SimDriver::chance(double probability) {
    return random_.uniform() < probability;
}

/// From 1 ns to `most_ns`.
Duration SimDriver::up_to(std::int64_t most_ns) {
    return {1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most_ns)))};
}

void SimDriver::at(Instant when, Happening happening) {
    happenings_.emplace(std::make_pair(when.ns, ++happenings_made_), std::move(happening));
}

Instant SimDriver::next_happening() const {
    return happenings_.empty() ? never : Instant{happenings_.begin()->first.first};
}

void SimDriver::happen_until(Instant until) {
    while (!happenings_.empty() && happenings_.begin()->first.first <= until.ns) {
        auto node = happenings_.extract(happenings_.begin());
        const Instant when{node.key().first};
        now_ = std::max(now_, when);
        node.mapped().piece.came = when;
        happen(node.mapped());
    }
    now_ = std::max(now_, until);
}

void SimDriver::happen(Happening& happening) {
    if (happening.kind == Happening::Kind::step) {
        step_awaited_ = never;
        core_.advance(now_);
        wake_servers();
        return;
    }
    const int number = happening.connection;
    Connection& connection = connection_of(number);
    switch (happening.kind) {
        case Happening::Kind::connect:
            connect_happens(happening);
            break;
        case Happening::Kind::sent:
            visible_.push_back({happening.op, happening.result, false, {}});
            break;
        case Happening::Kind::unblock:
            if (connection.blocked == happening.op) {
                connection.blocked = 0;
                send_now(*ops_.at(happening.op).op, happening.op);
            }
            break;
        case Happening::Kind::to_server:
            server_receives(number, happening.piece.bytes);
            break;
        case Happening::Kind::to_client:
            arrive(number, happening.piece);
            break;
        case Happening::Kind::rearm:
            connection.starved = false;
            --starved_;
            stood_until_ = now_;
            feed_receive(number);
            break;
        case Happening::Kind::deadline:
            if (connection.served() && happening.version == connection.deadline_version) {
                server_turn(number);
            }
            break;
        case Happening::Kind::idle:
            close_idle(number, happening.version);
            break;
        case Happening::Kind::murmur:
            murmur(number);
            break;
        case Happening::Kind::step:
            break;  // above
    }
}

void SimDriver::submit(Op& op) {
    CHECK(!op.in_flight() && op.handler != nullptr);
    live_on();
    const std::uint32_t number = ++ops_made_;
    set_slot(op, number);
    ops_.emplace(number, Pending{&op, false});
    ++counters_.submits;
    start(op, number);
    live_on();
}

bool SimDriver::flush() {
    live_on();
    ++counters_.enters;
    const bool busy = weather_.busy_flush > 0 && chance(weather_.busy_flush);
    for (const std::uint32_t number : busy ? taken_ : std::vector<std::uint32_t>{}) {
        watch_limit(connection_of(ops_.at(number).op->spec.socket.number));  // it was sent in time
    }
    if (!busy) {
        start_taken();
    }
    live_on();
    return taken_.empty();
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
        case OpKind::connect:
            start_connect(op, number);
            break;
        case OpKind::send:
            taken_.push_back(number);
            break;
        case OpKind::receive:
            CHECK(connection_of(socket).receive == 0);
            connection_of(socket).receive = number;
            feed_receive(socket);
            break;
        case OpKind::stamps:
            break;
        case OpKind::cancel:
            start_cancel(op, number);
            break;
        case OpKind::accept:
            CHECK(!"the simulator has clients only");
    }
}

void SimDriver::start_cancel(Op& op, std::uint32_t number) {
    Op& target = *op.spec.target;
    if (target.spec.kind == OpKind::stamps) {
        cancel_stamps(op, number);
        return;
    }
    visible_.push_back({number, target.in_flight() ? cancel(target) : -ENOENT, false, {}});
}

// What stands behind each other in a socket is one read, with the stamp of the last packet.
void SimDriver::merge_reads() {
    if (weather_.bytewise) {
        return;
    }
    std::map<std::uint32_t, std::size_t> latest;  // of each operation that has brought bytes
    const std::size_t window = std::min(shown(), order_window);
    for (std::size_t i = 0; i < window; ++i) {
        Visible& visible = visible_[i];
        const auto [found, first] = latest.try_emplace(visible.op, i);
        Visible& before = visible_[std::exchange(found->second, i)];
        const bool merges = !first && !visible.bytes.empty() && !before.bytes.empty() &&
                            before.bytes.size() + visible.bytes.size() <= read_bytes_max &&
                            before.own == visible.own && chance(weather_.merge);
        if (merges) {
            visible.bytes.insert(0, before.bytes);
            visible.pieces.insert(visible.pieces.begin(), before.pieces.begin(),
                                  before.pieces.end());
            visible.result += before.result;
            visible.came = before.came;
            before.result = gone;
        }
    }
    const std::size_t merged =
        std::erase_if(visible_, [](const Visible& visible) { return visible.result == gone; });
    hidden_from_ -= hidden_from_ == nothing_hidden ? 0 : merged;
}

void SimDriver::note_wait(const Op& op, const Visible& visible) {
    if (visible.bytes.empty()) {
        return;
    }
    const Duration waited = stamp_ - visible.came;
    if (visible.came <= stood_until_) {
        caught_up_ = stamp_;
    } else if (visible.came > caught_up_) {
        unread_max_ = std::max(unread_max_, waited);
    }
    if (on_read_) {
        on_read_(op, {visible.came, visible.last_came, stamp_, visible.bytes, visible.pieces});
    }
}

Instant SimDriver::unread_since(Instant now) {
    unread_.look(now, (shown() > 0 || has_flag(now)) && !bugs_.blind_look);
    return unread_.since();
}

/// The kernel says that work may wait. What is only a server's is flagged, too, until it is done.
bool SimDriver::has_flag(Instant now) const {
    return flag_stuck_ || starved_ > 0 || shown() < visible_.size() || next_happening() <= now;
}

void SimDriver::hand_over(Visible& visible, TurnResult& result) {
    const auto found = ops_.find(visible.op);
    CHECK(found != ops_.end());
    Op& op = *found->second.op;
    if (bugs_.lost_byte && visible.bytes.size() > 1) {
        visible.bytes.pop_back();
        --visible.result;
        bugs_.lost_byte = false;
    }
    Completion done{.result = visible.result,
                    .more = visible.more,
                    .stamp = bugs_.early_stamps ? stamp_ - early_stamp : stamp_,
                    .unread_since = unread_.since()};
    if (op.spec.kind == OpKind::receive) {
        const Instant quiet_since = connection_of(op.spec.socket.number).quiet_since;
        done.unread_since = std::min(done.unread_since, quiet_since);
    }
    done.batch = batch_;
    done.stamps_last_byte = clock_set_ < done.unread_since || bugs_.trusted_clock;
    done.kernel_ns = to_monotonic_ns(visible.realtime_ns);
    const std::unique_ptr<char[]> own(new char[visible.bytes.size()]);
    std::copy(visible.bytes.begin(), visible.bytes.end(), own.get());
    done.bytes = {own.get(), visible.bytes.size()};
    if (!done.bytes.empty() && !visible.own) {
        connection_of(op.spec.socket.number).heard = stamp_;
    }
    if (!done.more) {
        ops_.erase(found);
        set_slot(op, no_slot);
    }
    note_wait(op, visible);
    ++result.completions;
    ++counters_.completions;
    op.handler(op, done);
}

/// What the turn's wait brings about, and the host's own whims.
void SimDriver::let_time_pass(const Turn& turn, TurnResult& result) {
    const std::size_t before = shown();
    let_host_act();
    // As UringDriver: an entry that brought nothing is followed by a look without one.
    const bool skip = std::exchange(entered_in_vain_, false) && turn.wait == Wait::none;
    const bool sleeps = turn.wait == Wait::sleep;
    const bool enters = sleeps || (turn.may_enter && has_flag(now_) && !skip);
    if (enters) {
        happen_until(now_);
        hidden_from_ = nothing_hidden;
        result.entered = true;
        entered_in_vain_ = !sleeps && shown() == 0;
    }
    if (shown() == 0) {
        wait(turn, result);
    }
    if (enters) {
        note_entry(before);
    }
}

/// Nothing is there. What happens to servers alone wakes nobody.
void SimDriver::wait(const Turn& turn, TurnResult& result) {
    if (turn.wait == Wait::sleep) {
        while (visible_.empty() && next_happening() < turn.until) {
            happen_until(next_happening());
        }
        Instant until = visible_.empty() ? turn.until : now_;
        CHECK(until < never);  // nothing would ever end this sleep
        if (chance(weather_.late_wake)) {
            until = until + up_to(late_wake_ns);
        }
        stood_ = stood_ + (until - std::min(until, turn.until));
        happen_until(until);
        stood_until_ = now_;
        result.slept = true;
    } else if (turn.wait == Wait::spin) {
        now_ = now_ + spin_step;
    }
}

/// The kernel ran all that it had. It may have raised its flag behind what it brought.
void SimDriver::note_entry(std::size_t visible_before) {
    if (shown() > visible_before) {
        flag_stuck_ = weather_.stuck_flag > 0 && chance(weather_.stuck_flag);
    } else if (shown() == 0 && !bugs_.no_proof) {
        unread_.nothing_came();
    }
}

TurnResult SimDriver::turn(const Turn& turn) {
    TurnResult result;
    start_taken();
    let_time_pass(turn, result);
    if (shown() == 0 || turn.completions_max == 0) {
        return result;
    }
    // One batch: its completions come in random order, those of one operation in their own.
    ++batch_;
    merge_reads();
    stamp_ = now();
    if (clock_.offset_ns != realtime_ahead_ns_) {
        clock_set_ = stamp_;
    }
    std::size_t left = shown();  // handlers bring about more: that is the next batch
    std::size_t shown = turn.completions_max;
    if (chance(weather_.overflow)) {
        ++counters_.overflows;
        shown = std::min<std::size_t>(shown, 1 + random_.below(left));
    }
    for (; left > 0 && result.completions < shown; --left) {
        std::size_t pick = random_.below(std::min(left, order_window));
        for (std::size_t i = 0; i < pick; ++i) {
            pick = visible_[i].op == visible_[pick].op ? i : pick;
        }
        Visible visible = std::move(visible_[pick]);
        visible_.erase(visible_.begin() + static_cast<std::ptrdiff_t>(pick));
        hidden_from_ -= hidden_from_ == nothing_hidden ? 0 : 1;
        hand_over(visible, result);
        if (turn_ends()) {
            break;
        }
    }
    result.more = this->shown() > 0;
    return result;
}

// The client's end of a simulated connection: sockets, connects, sends, and the one receive.

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
            visible_.push_back({connection.receive,
                                size,
                                true,
                                piece.bytes,
                                piece.realtime_ns,
                                piece.came,
                                piece.own,
                                piece.came,
                                {{piece.bytes.size(), piece.came}}});
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

// Kernel stamps in virtual time: they come with every send and every piece received, and may be
// lost, late, of another byte, or by a clock that somebody has just set.

namespace {
constexpr std::uint64_t stamp_delay_ns = 20'000;  // from the call to the wire
constexpr std::uint64_t late_stamp_ns = 200'000'000;
}  // namespace

StampSupport SimDriver::switch_on_stamps(Socket socket) {
    Connection& connection = connection_of(socket.number);
    CHECK(connection.connected && !connection.stamped && connection.bytes_sent == 0);
    connection.stamped = weather_.stamps;
    return {weather_.stamps, weather_.stamps};
}

std::int64_t SimDriver::to_monotonic_ns(std::int64_t realtime_ns) const {
    return realtime_ns == 0 ? 0 : realtime_ns - clock_.offset_ns;
}

ClockSample SimDriver::sample_clock() {
    if (clock_.offset_ns != realtime_ahead_ns_) {
        ++clock_.steps;
        clock_set_ = now_;
    }
    clock_.offset_ns = realtime_ahead_ns_;
    clock_.error_ns = 50;
    return clock_;
}

void SimDriver::warm_send() {
    ++warm_sends_;
}

// Every send of a stamped connection has one, of its last byte.
void SimDriver::stamp_sent(Connection& connection, const Op& op, std::size_t size) {
    if (!connection.stamped) {
        return;
    }
    connection.bytes_sent += static_cast<std::uint32_t>(size);
    const auto armed = std::find_if(ops_.begin(), ops_.end(), [&](const auto& entry) {
        const OpSpec& spec = entry.second.op->spec;
        return spec.kind == OpKind::stamps && spec.socket.number == op.spec.socket.number;
    });
    if (armed == ops_.end() || chance(weather_.lose_stamp)) {
        return;
    }
    const auto delay = static_cast<std::int64_t>(random_.below(stamp_delay_ns));
    // Nothing reaches the server before it is on the wire.
    connection.to_server = std::max(connection.to_server, now_ + Duration{delay});
    Stamp stamp{.op = armed->first, .more = true, .key = connection.bytes_sent - 1};
    if (chance(weather_.wrong_key)) {
        stamp.key += static_cast<std::uint32_t>(random_.below(1 << 20)) - (1u << 19);
    }
    stamp.realtime_ns = realtime_ns() + delay;
    stamp.ready = now_ + Duration{delay};
    if (chance(weather_.late_stamp)) {
        stamp.ready =
            stamp.ready + Duration{static_cast<std::int64_t>(random_.below(late_stamp_ns))};
    }
    stamps_.push_back(stamp);
}

void SimDriver::cancel_stamps(Op& op, std::uint32_t number) {
    const bool there = op.spec.target->in_flight();
    if (there) {
        const std::uint32_t target = slot_of(*op.spec.target);
        std::erase_if(stamps_, [&](const Stamp& stamp) { return stamp.op == target; });
        stamps_.push_back({target, -ECANCELED, false, 0, 0, now_});
    }
    stamps_.push_back({number, there ? 0 : -ENOENT, false, 0, 0, now_});
}

bool SimDriver::stamps_waiting(Instant now) {
    return std::any_of(stamps_.begin(), stamps_.end(),
                       [&](const Stamp& stamp) { return stamp.ready <= now; });
}

std::uint32_t SimDriver::collect_stamps(std::uint32_t stamps_max, const Op*) {
    std::vector<Stamp> ready;
    const Instant at = now();
    std::erase_if(stamps_, [&](const Stamp& stamp) {
        const bool taken = stamp.ready <= at && ready.size() < stamps_max;
        if (taken) {
            ready.push_back(stamp);
        }
        return taken;
    });
    for (const Stamp& stamp : ready) {
        hand_over(stamp);
    }
    return static_cast<std::uint32_t>(ready.size());
}

void SimDriver::hand_over(const Stamp& stamp) {
    const auto found = ops_.find(stamp.op);
    CHECK(found != ops_.end());
    Op& op = *found->second.op;
    Completion done{.result = stamp.result,
                    .more = stamp.more,
                    .stamp = now_,
                    .kernel_ns = to_monotonic_ns(stamp.realtime_ns),
                    .key = stamp.key};
    if (!done.more) {
        ops_.erase(found);
        set_slot(op, no_slot);
    }
    op.handler(op, done);
}

}  // namespace driftless::sim
