#include "tests/sim/sim_engines.hpp"

#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

SimEngine::SimEngine(const Trace& trace, const SimOptions& options, std::uint64_t dice,
                     PlanShare dealt)
    : share(std::move(dealt)),
      prompts(trace, WordTable::built_in(), prompts_of(options)),
      ring(options.ring_bytes, options.inflight_max),
      tls(tls_of(options)),
      driver(dice, options.weather, server_of(options), options.script, bugs_of(options.bug),
             tls.get()),
      marks(marks_of(marks_for(trace.rows.size(), share.plan.dual))) {
    CHECK(static_cast<bool>(bodies.open(options.body_bytes, options.body_bytes)));
}

RunParts SimEngine::set_up(const Trace& trace, Schedule played,
                           const std::vector<RequestHead>& heads, const BodyFrame& frame,
                           ArmerOptions arm, const std::atomic<int>& stop_requests,
                           const SimOptions& options) {
    if (options.dual) {
        arm.against = {&prompts, &frame};
    }
    arm.positions = &share.positions;
    schedule.emplace(std::move(played));
    armer.emplace(trace, *schedule, prompts, bodies, heads, frame, arm);
    RunParts parts{trace,        *schedule, *armer, bodies, ring, endpoints_of(tls.get(), options),
                   stop_requests};
    parts.marks = &marks;
    return parts;
}

std::vector<PlanShare> sim_shares(const Trace& trace, const Plan& plan, const SimOptions& options) {
    const bool by_trees = options.closed || options.connection == ConnectionRule::sticky;
    return shares_with_rows(trace, plan, options.engines,
                            by_trees ? DealRule::trees : DealRule::rows);
}

namespace {

void add_marks(SimResult& result, const FiredMarks& marks, const Trace& trace, const Plan& plan) {
    if (plan.dual) {
        result.marks.merge(marked_sendings(trace, plan, marks));
    } else {
        const std::vector<std::uint32_t> rows = marked_rows(trace, marks);
        result.marked.insert(result.marked.end(), rows.begin(), rows.end());
        std::sort(result.marked.begin(), result.marked.end());
    }
    result.requests_marked += marks.requests();
}

}  // namespace

void add_worlds(SimResult& result, const std::vector<std::unique_ptr<SimEngine>>& others,
                const Trace& trace, const Plan& plan, const SimOptions& options) {
    result.engines = static_cast<std::uint32_t>(others.size() + 1);
    for (const std::unique_ptr<SimEngine>& engine : others) {
        SimDriver& driver = engine->driver;
        const LaneCounts& lanes = engine->run->lane_counts();
        result.rows += options.users.users > 0 ? engine->run->rows_taken() : 0;
        result.bytes_delivered += driver.bytes_delivered();
        result.bytes_accepted += driver.bytes_accepted();
        result.segments_resent += driver.segments_resent();
        result.warm_sends += driver.warm_sends();
        result.unread_max = std::max(result.unread_max, driver.unread_max());
        result.end_unseen_max = std::max(result.end_unseen_max, driver.end_unseen_max());
        result.overdue_sends += driver.overdue_sends();
        result.misread += driver.misread();
        const std::vector<std::uint32_t>& scripted = driver.scripted_rows();
        result.scripted_rows.insert(result.scripted_rows.end(), scripted.begin(), scripted.end());
        result.stale_retries += lanes.stale_retries;
        result.closed_idle += lanes.closed_idle;
        result.retired_idle += lanes.retired_idle;
        result.bytes_stray += lanes.bytes_stray;
        result.ops_in_flight += driver.in_flight();
        result.sockets_open += driver.sockets_open();
        result.frames_live += engine->run->frame_marks().live;
        result.body_bytes_held += engine->bodies.used_bytes();
        const bool stopped = engine->run->stopped_early();
        result.stopped = result.stopped || stopped || engine->run->drained();
        result.stopped_early = result.stopped_early || stopped;
        if (options.bug != Bug::one_engines_marks) {
            add_marks(result, engine->marks, trace, plan);
        }
        while (engine->ring.front() != nullptr) {
            ++result.events_left;
            engine->ring.pop();
        }
    }
}

SimEngines::SimEngines(Run& first, SimDriver& driver,
                       std::vector<std::unique_ptr<SimEngine>>& others) {
    seats_.push_back({&first, &driver});
    for (const std::unique_ptr<SimEngine>& engine : others) {
        seats_.push_back({&*engine->run, &engine->driver});
    }
}

std::int64_t SimEngines::first_due_ns() const {
    std::int64_t first_ns = INT64_MAX;
    for (const Seat& seat : seats_) {
        first_ns = std::min(first_ns, seat.run->first_due_ns());
    }
    return first_ns;
}

bool SimEngines::warm() {
    for (const Seat& seat : seats_) {
        if (!seat.run->warm()) {
            (void)seat.run->turn();
            return true;
        }
    }
    // Time 0 is one for all: who was warm first has waited for the last.
    Instant latest = seats_.front().driver->last_look();
    for (const Seat& seat : seats_) {
        latest = std::max(latest, seat.driver->last_look());
    }
    for (const Seat& seat : seats_) {
        seat.driver->catch_up(latest);
    }
    return false;
}

void SimEngines::begin(Instant zero) {
    for (const Seat& seat : seats_) {
        seat.run->begin(zero);
    }
}

bool SimEngines::turn() {
    Seat* next = nullptr;
    for (Seat& seat : seats_) {
        if (!seat.is_over &&
            (next == nullptr || seat.driver->last_look() < next->driver->last_look())) {
            next = &seat;
        }
    }
    if (next != nullptr) {
        next->is_over = !next->run->turn();
    }
    return next != nullptr;
}

void SimEngines::stop() {
    for (const Seat& seat : seats_) {
        seat.run->stop();
    }
}

void SimEngines::abandon() {
    for (const Seat& seat : seats_) {
        seat.run->abandon();
    }
}

std::uint64_t SimEngines::rows_taken() const {
    std::uint64_t taken = 0;
    for (const Seat& seat : seats_) {
        taken += seat.run->rows_taken();
    }
    return taken;
}

Instant SimEngines::now() const {
    std::optional<Instant> least;
    Instant latest = seats_.front().driver->last_look();
    for (const Seat& seat : seats_) {
        const Instant clock = seat.driver->last_look();
        latest = std::max(latest, clock);
        if (!seat.is_over && (!least || clock < *least)) {
            least = clock;
        }
    }
    return least.value_or(latest);
}

// The server's end of a simulated connection: it receives, says what is due, and what it says
// travels back in pieces, until it or the weather ends it.

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

// TLS between a simulated server and the network: bytes of the client become plain ones, a bit
// flips, and the server's TLS says something of its own.

namespace {
constexpr std::uint64_t corrupt_bytes_max = 8192;  // a handshake and some answers
constexpr std::uint64_t murmur_ns_max = 300'000'000;
}  // namespace

void SimDriver::open_tls(Connection& connection) {
    connection.tls = std::make_unique<TlsServer>(*tls_);
    if (tls_->chance(tls_->weather().corrupt)) {
        connection.corrupt_at = tls_->below(corrupt_bytes_max);
    }
}

void SimDriver::tls_receives(int number, std::string_view bytes) {
    Connection& connection = connection_of(number);
    TlsServer& tls = *connection.tls;
    const bool stood = tls.stands();
    const bool was_over = tls.over();
    const std::string plain = tls.receive(bytes);
    misread_ += !was_over && tls.misread() && !connection.harmed ? 1 : 0;
    const bool over = tls.over();
    if (!stood && tls.stands()) {
        murmur_later(number);
    }
    deliver_to_client(number, tls.take_output(), End::none, true);
    if (!plain.empty()) {
        plain_receives(number, plain);  // it may end the connection
    }
    if (over && connection.served()) {
        say(number, {}, End::close);
        wake_servers();
    }
}

/// The bytes with one bit another, where that one is among them; else empty.
std::string SimDriver::corrupted(Connection& connection, std::string_view bytes) {
    const std::uint64_t from = connection.bytes_said;
    if (!connection.corrupt_at || *connection.corrupt_at < from ||
        *connection.corrupt_at >= from + bytes.size()) {
        return {};
    }
    connection.harmed = true;
    std::string harmed(bytes);
    char& byte = harmed[*connection.corrupt_at - from];
    byte = static_cast<char>(byte ^ (1 << tls_->below(8)));
    return harmed;
}

void SimDriver::murmur_later(int number) {
    if (tls_->chance(tls_->weather().murmur)) {
        at(now_ + Duration{static_cast<std::int64_t>(tls_->below(murmur_ns_max))},
           {Happening::Kind::murmur, number, 0, 0, 0, {}});
    }
}

void SimDriver::murmur(int number) {
    TlsServer* tls = connection_of(number).tls.get();
    if (tls != nullptr && !connection_of(number).shut) {
        deliver_to_client(number, tls->murmur(), End::none, true);
        murmur_later(number);
    }
}

}  // namespace driftless::sim
