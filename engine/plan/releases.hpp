/// Releases: requests whose dues are not known before others have left or ended; before it what it
/// is made of: heaps of dues, lists of the fallen, the warm-up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "engine/plan/wait_graph.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Who looks ahead in a schedule. Each sees every due once, in the order in which they will be
// taken as far as that is known, at a pace of its own.

enum class Lookahead : std::uint8_t {
    arming,      ///< makes the bytes of a request
    binding,     ///< gives it a connection over TLS
    connecting,  ///< counts the connections that will be needed
    guarding,    ///< counts the instants that other work must not run into
};
inline constexpr std::size_t lookahead_count = 4;

/// DueHeap: requests by their dues, the earliest first; those of one instant by their numbers.
/// Bounded: of each request that waits there is one at most. Plain values; memory is taken by
/// `reserve`.
class DueHeap {
  public:
    struct Entry {
        std::int64_t due_ns = 0;
        std::uint32_t request = 0;
        std::uint32_t pass = 0;  ///< the request is used once in each
    };
    void reserve(std::size_t entries_max) { entries_.reserve(entries_max); }
    bool empty() const { return entries_.empty(); }
    bool full() const { return entries_.size() == entries_.capacity(); }
    const Entry& top() const { return entries_.front(); }
    void push(const Entry& entry);
    void pop();
    /// Takes out those of which `stale` says so.
    template <class Stale>
    void remove_if(Stale stale) {
        std::erase_if(entries_, stale);
        restore();
    }
    /// Calls `change` for each, which may set its due.
    template <class Change>
    void change(Change change) {
        for (Entry& entry : entries_) {
            change(entry);
        }
        restore();
    }
    const std::vector<Entry>& entries() const { return entries_; }

  private:
    void restore();

    std::vector<Entry> entries_;
};

/// Fallen: requests that will not be sent, in the order in which that was found. Each is spread
/// once (what waits for it falls, too), and told once. Plain values; memory is taken by `reserve`.
class Fallen {
  public:
    struct One {
        std::uint32_t request = 0;
        std::uint32_t failed = none;  ///< the request that has failed it; `none`: nobody
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    void reserve(std::size_t most) { all_.reserve(most); }
    void add(const One& one) { all_.push_back(one); }
    /// The next one that was not spread.
    std::optional<One> take_unspread() {
        return spread_ < all_.size() ? std::optional(all_[spread_++]) : std::nullopt;
    }
    /// The next one that was not told.
    std::optional<One> first() const {
        return told_ < all_.size() ? std::optional(all_[told_]) : std::nullopt;
    }
    void take_first() {
        CHECK(told_ < all_.size());
        if (++told_ == all_.size() && spread_ == told_) {
            all_.clear();
            spread_ = told_ = 0;
        }
    }

  private:
    std::vector<One> all_;
    std::size_t spread_ = 0;
    std::size_t told_ = 0;
};

/// WarmUp: what is sent before the measurement, and when that begins.
///
///     priming --every primer ended--> warming --each further request ended--> over
///
/// Primers bring the server to where first trees begin (trees.hpp). Then each user may send
/// so many requests more. What is released meanwhile and is neither is held until it is over.
/// Plain counts, owned by the releases; memory is taken when it is made.
class WarmUp {
  public:
    enum class Stage : std::uint8_t { priming, warming, over };

    /// There is none: the measurement begins at time 0.
    WarmUp() : stage_(Stage::over) {}
    WarmUp(std::uint32_t users, std::uint32_t requests_each, std::size_t held_max)
        : requests_left_(users, requests_each) {
        held_.reserve(held_max);
    }

    Stage stage() const { return stage_; }
    bool is_over() const { return stage_ == Stage::over; }
    /// Everything of the stage has ended.
    bool stage_has_ended() const {
        return (stage_ == Stage::priming ? primers_ : primers_ + requests_) == 0;
    }

    void add_primer() { ++primers_; }
    /// A request that will be sent: whether it is one of the further ones of its user.
    bool take(std::uint32_t user) {
        if (is_over() || requests_left_[user] == 0) {
            return false;
        }
        --requests_left_[user];
        ++requests_;
        return true;
    }
    void note_end(bool of_primer) {
        std::uint32_t& unended = of_primer ? primers_ : requests_;
        CHECK(unended > 0);
        --unended;
    }
    void go_on() {
        CHECK(!is_over() && stage_has_ended());
        stage_ = stage_ == Stage::priming ? Stage::warming : Stage::over;
    }

    /// A request that waits for the end of the warm-up and nothing else, in that pass.
    struct Held {
        std::uint32_t request = 0;
        std::uint32_t pass = 0;
    };
    void hold(const Held& held) { held_.push_back(held); }
    /// Empty from here on.
    std::vector<Held> take_held() { return std::exchange(held_, {}); }

  private:
    Stage stage_ = Stage::priming;
    std::uint32_t primers_ = 0;                 ///< that have not ended
    std::uint32_t requests_ = 0;                ///< further ones that have not ended
    std::vector<std::uint32_t> requests_left_;  ///< [users]
    std::vector<Held> held_;
};

// Releases: the requests of a plan whose dues are not known before others have left or ended, as a
// trace has recorded it (`Trace::dependencies`). A turn is due so long after the last of those
// that it waits for as the recording says, divided by the speed.
//
// A turn whose parents cannot release it any more (one of them never left, or has no whole answer)
// is dropped, and with it all that wait for it: nobody goes on behind an answer that never came.
// A turn that waits only until another is over (Trigger::over) is let go by any end of that, by
// its being dropped, too: it is due then, unless it is due later anyway.
//
//     waiting --last parent--> known --take--> taken
//        +----a parent failed--> dropped
//
// In a run that is resumed a turn may wait for rows of earlier segments: it is due by what is
// written of them, and known from the beginning where it waits for no others.
//
// Where users play trees (schedule.hpp) no request has a recorded instant: all of a tree wait until
// it is `renew`ed, and those that wait for no other until it `begin`s. The same requests serve
// each pass through the corpus. What is due when the time is up is hidden, until nothing is left
// that might move it; then it is cut:
//
//     asleep --renew--> waiting --begin, last parent--> known --take--> taken --send again--+
//        ^                 |                              | ^                |             |
//        |                 +--a parent failed--> dropped  | +----------------+-------------+
//        +-------cut, stop-+------------------------+-----+---renew----------+
//
// Dues move left where caps on idle time say so. Before the measurement rows that
// are not of the warm-up wait for its begin.
//
// Owned by the schedule. All memory is taken when it is made: 40 bytes a request, 24 a dependency
// and 88 more a request that waits; 256 where requests are used again. Reads no clock; instants
// are run time.

enum class TurnState : std::uint8_t { root, asleep, waiting, known, taken, dropped };

/// What is known of a request. 40 bytes.
struct PendingTurn {
    /// By the parents so far. Of one that waits for the measurement and for no row any more: behind
    /// the begin of that.
    std::int64_t due_ns = 0;
    /// When the last of its parents let it go; `Due::no_parent` before any has.
    std::int64_t parent_end_ns = Due::no_parent;
    std::uint32_t parents = 0;  ///< that it still waits for
    std::uint32_t unfired = 0;  ///< parents that have not left
    std::uint32_t pass = 0;     ///< through the corpus
    std::uint32_t user = 0;     ///< who plays its tree, where there are users
    TurnState state = TurnState::root;
    std::uint8_t passed = 0;     ///< a bit for each Lookahead
    std::uint8_t attempt = 0;    ///< how often it was sent before, in vain
    bool left : 1 = false;       ///< this time
    bool ever_left : 1 = false;  ///< or when it was sent before
    bool warms_up : 1 = false;   ///< it is of the warm-up
    bool primes : 1 = false;     ///< it is a primer
    bool starts : 1 = false;     ///< it waits for the begin of the measurement
    bool one_token : 1 = false;  ///< of its answer
    bool pauses : 1 = false;     ///< its due is behind a pause, which no cap shortens
    bool is_to_arm : 1 = false;  ///< in the heap of those to be armed, in this pass
    bool awaits : 1 = false;     ///< it has ended, and others wait for the words of its answer

    /// Its turn has come, or never will.
    bool is_taken() const { return state == TurnState::taken || state == TurnState::dropped; }
    bool has_passed(Lookahead reader) const {
        return (passed >> static_cast<unsigned>(reader) & 1U) != 0;
    }
    /// A parent lets it go.
    void move_due(std::int64_t at_ns, std::int64_t delay_ns);
};
static_assert(sizeof(PendingTurn) == 40);

class Releases {
  public:
    /// Dependencies on rows that are neither in the plan nor among the earlier ones are over before
    /// it begins. No earlier row has failed those that wait for it.
    /// `live` as in TurnGraph.
    Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier,
             const LiveTurns* live);
    /// Of users: so many copies of all requests (wait_graph.hpp), all of them asleep.
    Releases(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
             const UserRules& rules, const LiveTurns* live);

    /// The rows of a tree wait, in that pass; those that wait for no other are to be armed.
    void renew(std::span<const std::uint32_t> positions, std::uint32_t copy, std::uint32_t pass,
               std::uint32_t user);
    /// These are sent by that user, who was not known when they were renewed.
    void give(std::span<const std::uint32_t> positions, std::uint32_t copy, std::uint32_t user);
    /// They begin: those that wait for no other are due so long after `at_ns` as they are recorded
    /// behind the first of them. `pauses`: that is behind a pause.
    void begin(std::span<const std::uint32_t> positions, std::uint32_t copy, std::int64_t at_ns,
               bool pauses);
    /// In the place of both, of a first tree that is entered inside its recording. Its primers are
    /// due before `place_ns`, which is behind all of them.
    void enter(const StartPoint& point, const DrawnTree& tree, std::uint32_t user,
               std::int64_t place_ns);
    /// The next request that was cut, each once; nothing where there is none.
    std::optional<std::uint32_t> take_cut();

    const WarmUp& warm_up() const { return warm_up_; }
    /// Every request of the stage has ended: what was held for it goes on behind `at_ns`.
    void end_stage(std::int64_t at_ns);
    /// What is due there, or later, is hidden.
    void set_end(std::int64_t end_ns) { end_ns_ = end_ns; }

    /// It has failed, and comes again at `due_ns`.
    void send_again(std::uint32_t request, std::int64_t due_ns);
    /// Of these, the earliest due that is known and may move; nothing where there is none, or where
    /// one that may not comes by `latest_ns`.
    std::optional<std::int64_t> first_known(std::span<const std::uint32_t> positions,
                                            std::uint32_t copy, std::int64_t latest_ns) const;
    /// These become due so much earlier, as far as they are known and may move.
    void move_left(std::span<const std::uint32_t> positions, std::uint32_t copy,
                   std::int64_t by_ns);
    /// All that are known and may move. Returns by how much: to not later than `latest_ns`, or not
    /// at all where one that may not move comes by then.
    std::int64_t move_all_left(std::int64_t latest_ns);

    /// A root is due at its recorded instant, and no business of this.
    const PendingTurn& turn(std::uint32_t request) const { return turns_[request]; }
    const TurnGraph& graph() const { return graph_; }
    /// Requests that are no roots.
    std::uint32_t count() const { return count_; }

    /// The earliest due that is known, not taken and not hidden; nullptr: none is.
    const DueHeap::Entry* peek();
    void take(std::uint32_t request);

    /// The next one to be armed may be due as soon as somebody reads an answer.
    bool arms_soon() {
        const std::optional<DueHeap::Entry> next = within(Lookahead::arming, 0);
        return next && next->due_ns < wanted_;
    }
    /// As in Schedule, of these requests alone. Those to be armed come as soon as all that they
    /// wait for have left: their due is not known yet, and the horizon means nothing.
    std::optional<DueHeap::Entry> within(Lookahead reader, std::int64_t horizon_ns);
    void pass(Lookahead reader, std::uint32_t request);
    void go_back(Lookahead reader, std::uint32_t request);

    void fired(std::uint32_t request, std::int64_t at_ns);
    /// `goes_on`: others go on behind it.
    void ended(std::uint32_t request, std::int64_t at_ns, bool goes_on);
    /// The words of its answer are there, or (`goes_on` false) will never be. False where nobody
    /// waits for them.
    bool replied(std::uint32_t request, std::int64_t at_ns, bool goes_on);
    /// Requests that have ended, and whose words others still wait for.
    std::uint32_t awaited() const { return awaited_; }

    /// The next request that will never be due, and which one has failed it; nothing where there is
    /// none. `Fallen::none`: a stop.
    std::optional<Fallen::One> dropped() const { return dropped_.first(); }
    void take_dropped() { dropped_.take_first(); }
    /// Whatever waits is dropped; or cut, where users play, with what is hidden.
    void stop();

  private:
    void take_past(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier);
    void reserve(std::size_t uses);
    /// `gap_ns`: so long behind the end that lets it go it is due. It makes room for others.
    void want_armed(std::uint32_t request, std::int64_t gap_ns = 0);
    void make_known(std::uint32_t request);
    void tell_due(std::uint32_t request);
    void tell_readers(std::uint32_t request);
    static bool may_move(const PendingTurn& turn) {
        return turn.state == TurnState::known && !turn.pauses;
    }
    /// Behind a pause, and by then.
    bool ends_pause(const PendingTurn& turn, std::int64_t latest_ns) const {
        return turn.state == TurnState::known && turn.pauses && turn.due_ns <= latest_ns &&
               !is_hidden(turn);
    }
    void move_left(std::uint32_t request, std::int64_t by_ns);
    void let_go(std::uint32_t request, std::int64_t at_ns);
    void lose_parent(std::uint32_t request);
    void lose_unfired(std::uint32_t request, std::int64_t gap_ns = 0);
    void meet(std::uint32_t child, const TurnGraph::Edge& edge, bool by_primer, std::int64_t at_ns);
    void start(std::int64_t at_ns);
    void release_held(std::int64_t at_ns);
    bool is_hidden(const PendingTurn& turn) const {
        return turn.state == TurnState::known && turn.due_ns >= end_ns_;
    }
    /// No other lets it go, or fails it: it was cut, or its tree was entered behind it.
    static bool is_out(const PendingTurn& turn) {
        return turn.state == TurnState::asleep || turn.primes;
    }
    bool is_known(const DueHeap::Entry& entry) const;
    bool is_stale(Lookahead reader, const DueHeap::Entry& entry) const;
    void push(Lookahead reader, std::int64_t order, std::uint32_t request);
    void forget(Lookahead reader, const DueHeap::Entry& entry);
    void drop(std::uint32_t request, std::uint32_t failed);
    void cut(std::uint32_t request);
    void spread(std::int64_t at_ns);
    void forget_words(std::uint32_t request);

    const TurnGraph graph_;
    std::int64_t end_ns_ = INT64_MAX;
    bool is_used_again_ = false;  ///< users play
    bool one_token_primers_ = false;
    WarmUp warm_up_;
    /// Of the trees that were entered: requests that wait for the begin of the measurement, and how
    /// long behind it they are due.
    std::vector<std::pair<std::uint32_t, std::int64_t>> starting_;
    std::vector<PendingTurn> turns_;         ///< [copies * plan rows]
    std::vector<std::int64_t> recorded_ns_;  ///< [plan rows] the plan's dues, of users
    std::uint32_t count_ = 0;
    DueHeap known_;
    std::array<DueHeap, lookahead_count> ahead_;
    std::uint32_t awaited_ = 0;
    std::int64_t wanted_ = 0;  ///< requests that were told to the armer so far
    Fallen dropped_;
    Fallen cut_;  ///< the time is up for these: nobody hears of them
};

}  // namespace driftless
