/// What the parts of the lanes share: servers and counts; the rows in flight, and what bounds them:
/// so many at once (`--max-inflight`), so many tokens in a time (`--budget-input`,
/// `--budget-output`); and the idle lanes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/prompt/rows_underway.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/settings.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

// TokenBudgets: how many tokens may leave in a time (--budget-input, --budget-output).
//
// Each is a bucket of the tokens of one period, full at the begin, refilled evenly. A request may
// leave while every bucket is above 0, and takes its tokens when it leaves; that may leave a
// bucket below 0, so that a request of any size passes, and those behind it wait for as long as
// its tokens take. In any time T no more leaves than the bucket, what T refills, and what the last
// request has of its own.
//
// Plain values, owned by the lanes' parts. They read no clock and hold no row back: the pacer asks
// them.

/// One bucket, by the instant at which it is full again: exact to the nanosecond, however many
/// requests take of it.
class TokenBucket {
  public:
    explicit TokenBucket(const TokenRate& rate) : rate_(rate) {}

    /// It is above 0 from here on; before this it is not. The past where it has no bound.
    Instant opens() const { return rate_.tokens == 0 ? Instant{INT64_MIN / 2} : opens_; }
    void take(std::uint64_t tokens, Instant at);
    /// It is full from here on, if none are taken: what would come then is lost.
    Instant overflows() const { return opens() + rate_.period; }

  private:
    const TokenRate rate_;
    Instant opens_{INT64_MIN / 2};
    std::uint64_t part_ = 0;  ///< of a nanosecond: so many `rate_.tokens`-ths of it are to be added
};

class TokenBudgets {
  public:
    explicit TokenBudgets(const BudgetRules& rules)
        : rules_(rules), input_(rules.input), output_(rules.output) {}

    bool any() const { return rules_.any(); }

    /// What is asked of them from here on is meant of this instant.
    void look(Instant now) { now_ = now; }
    /// A request may leave.
    bool open() const { return opens() <= now_; }
    /// When it may, if none leaves before.
    Instant opens() const { return std::max(input_.opens(), output_.opens()); }

    /// When the bucket that has to be waited for is full.
    Instant overflows() const {
        return input_.opens() > output_.opens() ? input_.overflows() : output_.overflows();
    }

    /// A request of so many tokens leaves; of its input an unlimited prefix cache holds `cached`.
    void take(std::uint32_t input, std::uint32_t cached, std::uint32_t output, Instant at);

  private:
    const BudgetRules rules_;
    TokenBucket input_;
    TokenBucket output_;
    Instant now_;
};

/// RoomTimes: when one more row might have been in flight under `--max-inflight`.
///
/// A row that was due while there was room was not held back by the cap then, even if other rows
/// filled the places before it could leave: a process that was stopped comes back to a queue that
/// fills them all at once. Plain values of a fixed size; owned by the pacer.
class RoomTimes {
  public:
    /// A fire has taken the last place.
    void fill(Instant at);
    /// A place has been free since then. It may have been before the latest fire, which took
    /// another one.
    void free(Instant since);
    /// For so long there was room between the two. Stretches of up to `unseen_max` do not count;
    /// of what was too long ago to be known all counts.
    Duration between(Instant from, Instant to) const;

    /// From the end of an answer to the next fire, where nothing is amiss: the loop may sleep for
    /// 0.5 ms, look after 0.1 ms more, and read for some 0.1 ms.
    static constexpr Duration unseen_max = milliseconds(1);
    /// Long stretches that are known. A row rarely waits through more than a few.
    static constexpr std::size_t stretches_max = 256;

  private:
    struct Stretch {
        Instant from;
        Instant to;
    };

    std::array<Stretch, stretches_max> known_{};  ///< the latest ones, in turn
    std::size_t count_ = 0;                       ///< of all that there ever were
    Stretch last_{Instant{}, never};              ///< ends with the next fill
    Instant unknown_until_;
};

/// Connections to one URL.
struct LaneTarget {
    Address address;
    TlsPeer* tls = nullptr;
    std::uint32_t wanted = 0;  ///< idle lanes that the schedule needs soon
    std::uint32_t connecting = 0;
    std::uint32_t bound = 0;
    std::uint32_t open = 0;  ///< idle, bound or busy
    /// Connects that failed and that no waiting row has answered for yet.
    std::uint32_t failures = 0;
    std::int32_t failure_errno = 0;  ///< or the TlsFailure, bit for bit
    bool failure_is_tls = false;
    bool failure_timed_out = false;
    Instant quiet_until;  ///< after a failure no lane is opened ahead of need before this
};

struct LaneCounts {
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t closed_idle = 0;   ///< idle connections that the server closed
    std::uint64_t retired_idle = 0;  ///< idle connections that we closed before it would
    std::uint32_t open_max = 0;
    std::uint64_t bytes_stray = 0;   ///< received when no exchange was open: they belong to no row
    std::int64_t bytes_sent = 0;     ///< since the last sample
    std::int64_t rows_ended = 0;     ///< since the last sample
    std::int64_t slow_connects = 0;  ///< since the last sample: more than 0.9 s
    std::uint64_t lanes_without_stamps = 0;  ///< connects that the kernel gives no stamps for
    std::uint64_t wire_stamps = 0;
    std::uint64_t wire_missing = 0;      ///< rows that left on a lane with stamps, and got none
    std::uint64_t stamps_refused = 0;    ///< outside what is possible: the clock was set
    std::uint64_t stamps_stray = 0;      ///< of no open exchange: they came after its end
    std::int64_t wire_delay_sum_ns = 0;  ///< since the last sample: wire - fired
    std::int64_t wire_delay_max_ns = 0;  ///< since the last sample
};

/// What connecting, wire stamps, sealing and exchanges share. Its references outlive it.
struct LaneParts {
    Loop& loop;
    const ReplaySettings& settings;
    BodyPool& bodies;
    EventRing& ring;
    std::vector<LaneTarget> targets;
    LaneCounts counts;
    /// Rows whose bytes must be built once more: a stale connection asks for another try, or a
    /// connection ended while it was bound to them (they have kept their storage).
    RowList again;
    HostSleep sleep{};  ///< the last one, and what it adds to
    /// Some rows wait for answers: whole ones are told (InFlight) before their lanes are done with.
    bool turns_wait = false;
    /// The run's time is over: what is cut off from here on is so by plan.
    bool time_over = false;
    Instant drains_at = never;  ///< what is open then is cut off
    TokenBudgets budgets{settings.budgets};

    bool has_tls(std::uint32_t target) const { return targets[target].tls != nullptr; }
};

// InFlight: the rows that have left and have not ended: how many they are, when a place among them
// came free, and how each ended, told to the record (the event ring) and, through `ended`, to the
// schedule. Owned by the pool.

/// What an end event says of the row itself.
EndInfo end_info(const RowUnderway& row, Outcome outcome, std::int32_t sys_errno);

class InFlight {
  public:
    explicit InFlight(LaneParts& parts) : parts_(parts) {}

    /// The row has left. One that is sent again has been in flight all along.
    void add(const RowUnderway& row);
    /// Its whole answer has been read, with status 200; the last byte at `at`. What waits for it
    /// may leave, before its lane has done with it and `end` gives it its end.
    void answered(RowUnderway& row, Instant at);
    /// An answer, or the lack of one, ends a row that has left; `event` says how. `freed`: since
    /// when its place is free, as far as that is known.
    void end(RowUnderway& row, const Event& event, Instant freed);
    /// The end of a row that has no lane: one that never left (the ring has room for a row), or
    /// whose retry found no connection. Its bytes were given back.
    void end_without_lane(RowUnderway& row, Outcome outcome, std::int32_t sys_errno = 0);

    std::uint32_t count() const { return count_; }
    bool full() const { return count_ >= parts_.settings.inflight_max; }
    /// There is a place for one more row, and one in the ring for its end.
    bool has_place() const { return !full() && parts_.ring.has_room_for_row(); }
    /// One more row may leave: it has a place, and the token budgets let it.
    bool has_room() const { return has_place() && parts_.budgets.open(); }
    /// When the last answer ended that `--max-inflight` rows were waiting for: as it arrived, as
    /// far as that is known.
    Instant freed() const { return freed_; }
    /// Rows that are answered and have no end yet: their places and their lanes come free at once.
    std::uint32_t settling() const { return settling_; }
    /// Rows that were answered since this was last emptied, and have no end yet.
    RowList& answered() { return answered_; }
    /// Rows that have got their end since this was last emptied.
    RowList& ended() { return ended_; }

  private:
    void push_end(RowUnderway& row, const Event& event);

    LaneParts& parts_;
    std::uint32_t count_ = 0;
    std::uint32_t settling_ = 0;
    Instant freed_;
    RowList answered_;
    RowList ended_;
};

/// IdleLimit: how long a server keeps an idle connection, as it says in its answers
/// (`Keep-Alive: timeout=`) or as its closes have shown. A value; one per URL. It closes nothing.
struct IdleLimit {
    Duration limit{INT64_MAX};  ///< the smallest that was said or seen

    bool known() const { return limit.ns != INT64_MAX; }

    void hear(const KeepAliveLimits& said) {
        if (said.timeout_s && *said.timeout_s > 0) {  // 0: this one is not used again, that is all
            limit = std::min(limit, seconds(*said.timeout_s));
        }
    }
    /// The server ended a connection that had been idle for so long. An idle timer does so again
    /// and again: one close, or many at one instant, may be those of a restart, and sooner than
    /// `seen_min` no server's timer ends.
    void see_close(Duration idle, Instant now) {
        if (idle < seen_min || idle >= limit) {
            return;
        }
        const auto [least, most] = std::minmax(idle.ns, close_idle_.ns);
        if (most - least > most / 4) {  // nothing that was seen before says the same
            close_idle_ = idle;
            close_at_ = now;
            return;
        }
        CHECK(least >= seen_min.ns);
        close_idle_.ns = least;
        if (now - close_at_ >= apart_min) {
            limit.ns = least;
        }
    }

    /// A connection that has been idle for so long is to be replaced: its close may cross what is
    /// sent on it. Clients of servers with 5 s (uvicorn, Node, llama-server) take 4 s.
    Duration replaced_after() const { return limit - room(); }
    /// ... and carries nothing more from here on.
    Duration closed_after() const { return limit - Duration{room().ns / 2}; }

    static constexpr Duration seen_min = milliseconds(500);
    static constexpr Duration apart_min = milliseconds(500);  ///< two closes that count as two

  private:
    Duration close_idle_{0};  ///< shortest idle time of the closes that agree
    Instant close_at_;        ///< the first of them

    Duration room() const {
        return known() ? Duration{std::min(seconds(1).ns, limit.ns / 4)} : Duration{0};
    }
};

// LaneShelf: the idle lanes of a run: which one a row takes, whose connection it is, and which has
// been idle for so long that its server may be about to close it. It opens and closes nothing,
// and reads no clock. Owned by the pool, whose lanes outlive it.

/// What a row asks of its lane.
struct LaneWish {
    bool fresh = false;                  ///< no exchange has used it
    std::uint32_t session = no_session;  ///< that of this session, where it is idle
    bool last = false;                   ///< no row of the session comes after this one
    Duration lead{0};                    ///< it will be used after so long
};

class LaneShelf {
  public:
    /// `sessions`: how many can come up in wishes; 0 where none keeps a connection.
    LaneShelf(std::size_t targets, std::size_t sessions);

    /// The lane has become idle; `idle_since` is set.
    void put(Lane& lane);
    /// ... and leaves, to a row or for good.
    void remove(Lane& lane);

    /// The lane that a row with this wish would take; nullptr where there is none. None that its
    /// server may be closing by then; that of another session only where there is no other.
    Lane* find(std::uint32_t target, const LaneWish& wish, Instant now) const;

    struct Claim {
        ConnectionState state = ConnectionState::fresh;
        /// On the shelf, and its session has no further row: to be closed.
        Lane* unwanted = nullptr;
    };
    /// The lane, taken off the shelf before, goes to a row with this wish. A session keeps its
    /// first connection for as long as that is open, busy or not, and gives it up with its last
    /// row.
    Claim claim(Lane& lane, const LaneWish& wish);
    /// From here on the lane belongs to no session.
    void disown(Lane& lane);

    /// Begins to replace the oldest lane that its server may soon close; false where there is none.
    bool age(std::uint32_t target, Instant now);
    /// A lane that may not be used any more; nullptr where there is none.
    Lane* over(std::uint32_t target, Instant now) const;
    /// The oldest of those that are being replaced; nullptr where there is none.
    Lane* oldest_ageing(std::uint32_t target) const { return at(target).ageing.last; }
    /// The one that can best be spared: ageing ones first, those of sessions last.
    Lane* oldest(std::uint32_t target) const;

    /// All idle lanes to the target.
    std::uint32_t count(std::uint32_t target) const {
        const Idle& idle = at(target);
        return idle.young.count + idle.ageing.count + idle.owned.count;
    }
    std::uint32_t count() const;  ///< of all targets
    std::uint32_t young(std::uint32_t target) const { return at(target).young.count; }
    std::uint32_t ageing(std::uint32_t target) const { return at(target).ageing.count; }

    /// How long the target's server keeps an idle connection.
    IdleLimit& limit(std::uint32_t target) { return targets_[target].limit; }
    const IdleLimit& limit(std::uint32_t target) const { return at(target).limit; }
    IdleLimit shortest_limit() const;  ///< of all targets

  private:
    /// Each youngest first: the least likely to be stale.
    struct Idle {
        LaneList young;
        LaneList ageing;  ///< idle for so long that they are being replaced
        LaneList owned;   ///< of a session that goes on
        IdleLimit limit;
    };
    /// Where a session is at home.
    struct Home {
        Lane* lane = nullptr;  ///< null: none yet, or it has ended
        bool had = false;
    };

    const Idle& at(std::uint32_t target) const { return targets_[target]; }
    Lane* find_any(std::uint32_t target, bool fresh) const;
    Lane* find_owned(std::uint32_t target, std::uint32_t session) const;
    Lane* home_of(std::uint32_t session) const;

    std::vector<Idle> targets_;
    std::vector<Home> homes_;  ///< [sessions]
};

}  // namespace driftless
