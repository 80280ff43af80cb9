/// SimDriver: the other side of the seam. Virtual time, a seed, and a world that is as unkind as
/// its weather says: completions in random order, receives split anywhere, short and blocked sends,
/// cuts, refused, slow and hanging connects, late timers. The servers behind it are MockCores, the
/// code that the bundled mock serves over sockets, and ScriptedServers, which say anything; either
/// may speak through a TlsServer: then cuts, splits and stalls are those of ciphertext.
///
/// Same seed, same calls: the same completions at the same virtual instants. Bytes that are handed
/// to a handler live in a buffer of their own, so that a sanitizer sees whoever keeps them.
#pragma once

#include "cmd/mock/core.hpp"
#include "engine/io/driver.hpp"
#include "tests/sim/scripted_server.hpp"
#include "tests/sim/tls_world.hpp"

namespace driftless::sim {

/// Lies of the driver that only tests of the laws tell.
struct DriverBugs {
    bool early_stamps = false;    ///< completions are stamped 10 ms before they are seen
    bool lost_byte = false;       ///< one byte of one receive never reaches its handler
    bool unsaid_limit = false;    ///< servers are held to have said `unsaid`, which they do not
    bool greedy_send = false;     ///< one send drops its last byte and says that it took it
    bool crossed_send = false;    ///< one send reaches another server's end than its own
    bool uncounted_loss = false;  ///< what is sent again is counted nowhere
    bool blind_look = false;      ///< a look is held to have found nothing, whatever is there
    bool blind_to_ends = false;   ///< a look for ends that were lost finds none
    bool trusted_clock = false;   ///< stamps are taken for true though somebody has set the clock
    bool no_proof = false;        ///< an entry that brings nothing is not taken for proof of it
    static constexpr Duration unsaid = seconds(1);
};

/// Bytes that came together.
struct ReadPiece {
    std::size_t size;
    Instant came;  ///< to the client's kernel
};

/// Of bytes that one read has brought.
struct ReadTimes {
    Instant first_came;  ///< the first of them, to the client's kernel
    Instant last_came;
    Instant read;
    std::string_view bytes;
    std::span<const ReadPiece> pieces;  ///< of the bytes, in their order
};

class SimDriver final : public Driver {
  public:
    SimDriver(std::uint64_t seed, const Weather& weather, const mock::CoreOptions& server,
              const Script& script = {}, const DriverBugs& bugs = {}, TlsWorld* tls = nullptr);
    ~SimDriver() override;

    Instant now() override;
    Result<Socket> open_socket(const Address& address) override;
    Result<Socket> listen(const Address& address, int backlog) override;
    Result<Address> local_address(Socket socket) override;
    void shutdown(Socket socket) override;
    void close(Socket socket) override;
    void submit(Op& op) override;
    bool flush() override;
    TurnResult turn(const Turn& turn) override;
    void find_ends(std::span<const QuietReceive> quiet) override;
    Instant unread_since(Instant now) override;
    StampSupport switch_on_stamps(Socket socket) override;
    bool stamps_waiting(Instant now) override;
    std::uint32_t collect_stamps(std::uint32_t stamps_max, const Op* first) override;
    ClockSample sample_clock() override;
    /// The process waits for something else, such as a disk: what comes meanwhile waits for it.
    void stand_still(Duration length);
    /// The host sleeps, and our clock with it.
    void suspend(Duration length);
    std::int64_t suspended_ns() override { return suspended_ns_; }
    std::optional<ResendCounts> resent(Socket socket) override;
    void warm_send() override;
    std::uint64_t warm_sends() const { return warm_sends_; }
    /// Tells of each read, before its handler.
    void tell_reads(std::function<void(const Op& op, const ReadTimes& times)> on_read) {
        on_read_ = std::move(on_read);
    }
    /// Tells of each send when the kernel took bytes of it: exact.
    void tell_sends(std::function<void(const Op& op, Instant at)> on_send) {
        on_send_ = std::move(on_send);
    }
    /// Tells of each time that the host slept, and for how long.
    void tell_sleeps(std::function<void(Instant at, Duration length)> on_sleep) {
        on_sleep_ = std::move(on_sleep);
    }
    /// The longest that anything had waited, but for what came while the process stood still, or
    /// while it was still reading that.
    Duration unread_max() const { return unread_max_; }
    /// The longest that an end which a server made, and the kernel lost, was not known, but for the
    /// time that the process stood still.
    Duration end_unseen_max() const { return end_unseen_max_; }
    std::uint32_t in_flight() const override { return static_cast<std::uint32_t>(ops_.size()); }
    DriverCounters counters() const override { return counters_; }
    DriverFacts facts() const override { return {}; }

    /// The process dies at its `steps`-th step from here on, which is the beginning or the end of a
    /// submission or a flush: `dies` is called there, and what is sent from there on reaches
    /// nobody. 0 steps: it does not die.
    void die_after(std::uint32_t steps, std::function<void()> dies);

    /// Its clock, without the time that a look costs.
    Instant last_look() const { return now_; }
    /// Time passes for this engine, too, and nothing happens meanwhile.
    void catch_up(Instant at) { now_ = std::max(now_, at); }

    // For the laws.
    std::uint64_t bytes_delivered() const { return bytes_delivered_; }  ///< to receives, in all
    std::uint64_t bytes_accepted() const { return bytes_accepted_; }    ///< of sends, in all
    std::uint64_t segments_resent() const { return segments_resent_; }  ///< or will be
    std::size_t sockets_open() const { return sockets_open_; }
    /// Sends on connections that had been idle for longer than their server had said.
    std::uint64_t overdue_sends() const { return overdue_sends_; }
    mock::MockCore& core() { return core_; }
    /// Whoever connects here meets fair weather and no scripted server.
    static Address spared_address();
    /// Connections whose TLS could not read what the client sent, though nobody had harmed it.
    std::uint64_t misread() const { return misread_; }
    /// Rows that a ScriptedServer has answered.
    const std::vector<std::uint32_t>& scripted_rows() const { return scripted_rows_; }

  private:
    enum class End : std::uint8_t { none, close, half_close, reset };
    struct Piece {
        std::string bytes;
        End end = End::none;
        std::int64_t realtime_ns = 0;  ///< kernel's receive stamp
        Instant came;                  ///< to the client's kernel
        bool own = false;              ///< nothing but TLS itself
    };
    /// A connection, both of its ends.
    struct Connection {
        bool client_open = false;
        bool connected = false;
        bool spared = false;          ///< no fault strikes it
        bool shut = false;            ///< the client shut it down, or it was reset
        bool end_told = false;        ///< its end was told, or lost
        bool deaf = false;            ///< it was lost: the receive says nothing any more
        Instant quiet_since = never;  ///< somebody found the end: what is read may be as old
        Instant deaf_since;           ///< as if the process had stood still up to then
        bool starved = false;         ///< its receive found no buffer and is armed again soon
        std::uint32_t receive = 0;    ///< operation number of the armed receive, 0: none
        std::uint32_t blocked = 0;    ///< of the send that waits for room, 0: none
        std::vector<Piece> inbox;     ///< arrived, not received yet
        Instant to_server;            ///< the latest arrival in each direction: order is kept
        Instant to_client;
        bool secure = false;  ///< where it goes to, TLS is spoken
        /// Reads on when the client has gone: what that said last is on its way.
        std::unique_ptr<TlsServer> tls;
        std::optional<std::uint64_t> corrupt_at;  ///< byte of what its server says
        bool harmed = false;
        mock::MockConnection* server = nullptr;
        std::unique_ptr<ScriptedServer> scripted;
        bool asked = true;             ///< it has said nothing since it last read, or at all
        bool server_ended = false;     ///< it says nothing more
        std::uint64_t bytes_said = 0;  ///< by the server
        std::optional<Cut> cut;
        std::uint64_t deadline_version = 0;
        std::uint64_t idle_version = 0;
        Duration limit{0};           ///< its server says how long it may be idle; 0: it does not
        Instant heard = never;       ///< the client has read this late, and sent nothing since
        Instant overdue_at = never;  ///< a send that came too late
        bool stamped = false;
        std::uint32_t bytes_sent = 0;  ///< since stamps were switched on
        /// When a segment is sent again, and whether in vain.
        std::vector<std::pair<Instant, bool>> resends;

        bool served() const { return server != nullptr || scripted != nullptr; }
    };
    struct Pending {
        Op* op = nullptr;
        bool ended = false;  ///< its last completion is on its way
    };
    /// Something that happens at an instant.
    struct Happening {
        enum class Kind : std::uint8_t {
            connect,
            sent,
            unblock,
            to_server,
            to_client,
            rearm,
            deadline,
            idle,
            murmur,
            step  ///< of the servers' batch; of no connection
        } kind;
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
        Instant came;  ///< its first byte
        bool own = false;
        Instant last_came;
        std::vector<ReadPiece> pieces;
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

    // sim_driver.cpp: time, operations, turns.
    void live_on();
    Duration up_to(std::int64_t most_ns);
    Duration latency() { return up_to(weather_.latency_max.ns); }
    bool chance(double probability);
    bool strikes(const Connection& connection, double probability) {
        return !connection.spared && chance(probability);
    }
    void at(Instant when, Happening happening);
    void happen_until(Instant until);
    void happen(Happening& happening);
    Instant next_happening() const;
    void start(Op& op, std::uint32_t number);
    void start_cancel(Op& op, std::uint32_t number);
    void start_taken();
    bool has_flag(Instant now) const;
    std::size_t shown() const { return std::min(visible_.size(), hidden_from_); }
    void let_time_pass(const Turn& turn, TurnResult& result);
    void wait(const Turn& turn, TurnResult& result);

    // sim_run_host.cpp
    void let_host_act();

    // sim_driver.cpp again: completions.
    void note_entry(std::size_t visible_before);
    void merge_reads();
    void note_wait(const Op& op, const Visible& visible);
    void hand_over(Visible& visible, TurnResult& result);

    // sim_driver.cpp: the client's end.
    Connection& connection_of(int number) {
        return *connections_[static_cast<std::size_t>(number)];
    }
    void start_connect(Op& op, std::uint32_t number);
    void connect_happens(const Happening& happening);
    void start_send(Op& op, std::uint32_t number);
    void send_now(Op& op, std::uint32_t number);
    Duration way_of_segment(Connection& connection);
    int crossed(int number);
    void fail_blocked(Connection& connection, std::int32_t result);
    std::int32_t cancel(Op& target);
    void arrive(int number, Piece& piece);
    void feed_receive(int number);
    bool loses_end(Connection& connection, const Piece& piece);
    void note_end_seen(Connection& connection);

    // sim_engines.cpp: the server's end.
    void open_server(int number);
    void server_receives(int number, std::string_view bytes);
    void plain_receives(int number, std::string_view bytes);
    void server_turn(int number);
    void scripted_turn(int number);
    void close_idle(int number, std::uint64_t version);
    void say(int number, std::string_view bytes, End end);
    void deliver_to_client(int number, std::string_view bytes, End end, bool own = false);
    std::size_t next_cut(std::size_t bytes);
    void wake_servers();
    void await_step();
    void drop_server(Connection& connection);
    Duration said_limit() const;
    void watch_limit(Connection& connection);

    // sim_engines.cpp: between the two, where TLS is spoken.
    void open_tls(Connection& connection);
    void tls_receives(int number, std::string_view bytes);
    std::string corrupted(Connection& connection, std::string_view bytes);
    void murmur_later(int number);
    void murmur(int number);

    // sim_driver.cpp
    void stamp_sent(Connection& connection, const Op& op, std::size_t size);
    void cancel_stamps(Op& op, std::uint32_t number);
    void hand_over(const Stamp& stamp);
    std::int64_t realtime_ns() const { return now_.ns + realtime_ahead_ns_; }
    std::int64_t to_monotonic_ns(std::int64_t realtime_ns) const;

    Random random_;
    Weather weather_;
    mock::MockCore core_;
    const Script script_;
    DriverBugs bugs_;
    TlsWorld* const tls_;
    Instant now_;
    Instant step_awaited_ = never;  ///< the core's deadline that was noted last
    std::map<std::pair<std::int64_t, std::uint64_t>, Happening> happenings_;
    std::uint64_t happenings_made_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::map<std::uint32_t, Pending> ops_;
    std::uint32_t ops_made_ = 0;
    std::vector<std::uint32_t> taken_;  ///< sends that no flush has let go yet
    std::vector<Stamp> stamps_;
    std::uint64_t warm_sends_ = 0;
    std::int64_t realtime_ahead_ns_ = 1'700'000'000'000'000'000;
    ClockSample clock_;             ///< as last sampled
    Instant clock_set_{INT64_MIN};  ///< when we last saw that it had been set
    std::uint32_t steps_left_ = 0;  ///< until it dies; 0: it does not
    std::function<void()> dies_;
    bool dead_ = false;
    std::deque<Visible> visible_;
    /// From here on `visible_` holds what the kernel shows when it is entered.
    std::size_t hidden_from_ = nothing_hidden;
    static constexpr std::size_t nothing_hidden = SIZE_MAX;
    std::uint32_t batch_ = 0;
    Instant stamp_;
    UnreadWatch unread_;
    bool flag_stuck_ = false;
    bool entered_in_vain_ = false;  ///< as UringDriver's
    Instant stood_until_;           ///< the process stood still, or slept, up to here
    Instant caught_up_;             ///< here it read the last of what had come until then
    std::function<void(const Op&, const ReadTimes&)> on_read_;
    std::function<void(const Op&, Instant)> on_send_;
    std::function<void(Instant, Duration)> on_sleep_;
    std::int64_t suspended_ns_ = 0;
    Duration unread_max_{0};
    Duration end_unseen_max_{0};
    Duration stood_{0};          ///< in all
    std::uint32_t starved_ = 0;  ///< connections that no receive is armed for
    DriverCounters counters_;
    std::uint64_t bytes_delivered_ = 0;
    std::uint64_t bytes_accepted_ = 0;
    std::size_t sockets_open_ = 0;
    std::uint64_t segments_resent_ = 0;
    std::uint64_t overdue_sends_ = 0;
    std::uint64_t misread_ = 0;
    std::vector<std::uint32_t> scripted_rows_;
};

}  // namespace driftless::sim
