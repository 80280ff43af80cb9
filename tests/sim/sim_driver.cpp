#include "tests/sim/sim_driver.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proto/core/errors.hpp"

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
        on_read_(op, {visible.came, visible.last_came, stamp_});
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
    Completion done;
    done.result = visible.result;
    done.more = visible.more;
    done.stamp = bugs_.early_stamps ? stamp_ - early_stamp : stamp_;
    done.unread_since = unread_.since();
    if (op.spec.kind == OpKind::receive) {
        const Instant quiet_since = connection_of(op.spec.socket.number).quiet_since;
        done.unread_since = std::min(done.unread_since, quiet_since);
    }
    done.batch = batch_;
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

}  // namespace driftless::sim
