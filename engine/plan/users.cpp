#include "engine/plan/users.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "proto/core/hash.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

TreeOrder::TreeOrder(std::uint32_t trees, const UserRules& rules)
    : order_(trees), recycles_(rules.recycle) {
    CHECK(trees > 0 && rules.users > 0);
    copies_ = static_cast<std::uint32_t>(copies_of(trees, rules));
    free_.resize(std::size_t{copies_} * trees);
    free_count_.assign(trees, copies_);
    free_in_all_ = free_.size();
    for (std::size_t place = 0; place < free_.size(); ++place) {
        free_[place] = copies_ - 1 - static_cast<std::uint32_t>(place % copies_);  // 0 on top
    }
    std::iota(order_.begin(), order_.end(), 0U);
    if (rules.order == TreeRule::shuffle) {
        Random random(rules.seed);
        for (std::uint32_t left = trees; left > 1; --left) {
            const auto other = static_cast<std::uint32_t>(random.below(left));
            std::swap(order_[left - 1], order_[other]);
        }
    }
}

std::optional<DrawnTree> TreeOrder::draw() {
    if (free_in_all_ == 0) {
        return std::nullopt;
    }
    while (!used_up()) {  // ends: some copy is not being played, and its tree comes
        if (next_ == order_.size()) {
            next_ = 0;
            ++pass_;
        }
        const std::uint32_t tree = order_[next_++];
        if (free_count_[tree] > 0) {
            --free_in_all_;
            const std::uint32_t top = --free_count_[tree];
            return DrawnTree{tree, free_[std::size_t{tree} * copies_ + top], pass_};
        }
    }
    return std::nullopt;
}

void TreeOrder::ended(const DrawnTree& drawn) {
    std::uint32_t& count = free_count_[drawn.tree];
    CHECK(count < copies_ && drawn.copy < copies_);
    free_[std::size_t{drawn.tree} * copies_ + count] = drawn.copy;
    ++count;
    ++free_in_all_;
}

static std::optional<std::int64_t> at_speed(const std::optional<std::int64_t>& ns, Speed speed) {
    return ns ? std::optional(due_of(*ns, speed)) : std::nullopt;
}

static std::optional<std::int64_t> least(const std::optional<std::int64_t>& a,
                                         const std::optional<std::int64_t>& b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

static std::uint64_t seed_of(const UserRules& rules, const DrawnTree& tree) {
    Digest digest;
    digest.add_u64(rules.seed);
    digest.add_u64(tree.tree);
    digest.add_u64(tree.copy);
    return digest.value();
}

// Of the users that begin by themselves, when each does, from time 0: spread evenly over the ramp,
// each at a seeded place in its part of it, the first at 0. Drawn for those of all processes, so
// that each begins as it would if one process played them all.
static std::vector<std::int64_t> user_begins(const UserRules& rules) {
    const std::uint32_t all = rules.users_in_all == 0 ? rules.first() : rules.users_in_all;
    const double part_ns = static_cast<double>(rules.ramp_ns) / all;
    Random random(rules.seed);
    std::vector<std::int64_t> begins;
    begins.reserve(rules.first());
    for (std::uint32_t user = 0; user < all; ++user) {
        const double place = user == 0 ? 0.0 : user + random.uniform();
        if (user % rules.place.count == rules.place.index) {
            begins.push_back(static_cast<std::int64_t>(part_ns * place));
        }
    }
    return begins;
}

Users::Users(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules,
             const LiveTurns* live)
    : rules_(rules),
      tree_cap_ns_(at_speed(rules.idle.tree_ns, speed)),
      rows_(static_cast<std::uint32_t>(plan.rows.size())),
      trees_(rules.single_rows ? RowTrees::of_single_rows(trace, plan) : RowTrees(trace, plan)),
      order_(trees_.count(), rules),
      releases_(trace, plan, speed, order_.copies(), rules, live),
      recorded_ns_(rows_),
      users_(rules.users),
      drawn_(rules.single_rows ? rules.users : 0) {
    for (std::uint32_t tree = 0; tree < trees_.count(); ++tree) {
        const std::int64_t first_ns = plan.rows[trees_.rows_of(tree).front()].due_ns;
        for (const std::uint32_t position : trees_.rows_of(tree)) {
            recorded_ns_[position] = plan.rows[position].due_ns - first_ns;
        }
    }
    if (rules.start.is_inside()) {
        enter_all(trace, plan, speed);
    } else {
        begin_all();
    }
    end_stages();
    look_for_end();
}

void Users::begin_all() {
    const std::vector<std::int64_t> begins = user_begins(rules_);
    begun_ = rules_.first();
    CHECK(begins.size() == begun_);
    for (std::uint32_t number = 0; number < begun_; ++number) {
        if (has_next(number)) {
            ++playing_;
            begin(number, begins[number], false);
        }
    }
}

/// First trees begin inside their recordings; their places all coincide, behind the longest way
/// from a primer to its place.
void Users::enter_all(const Trace& trace, const Plan& plan, Speed speed) {
    const std::optional<std::int64_t> gap_max_ns = at_speed(rules_.start.gap_cap_ns, speed);
    StartBounds bounds;
    bounds.wait_max_ns = gap_max_ns;
    bounds.lead_max_ns = least(gap_max_ns, least(tree_cap_ns_, rules_.idle.system_ns));
    std::vector<StartPoint> points;
    begun_ = rules_.first();
    for (std::uint32_t number = 0; number < begun_ && take_tree(number); ++number) {
        ++playing_;
        const DrawnTree& tree = *users_[number].next;
        points.push_back(driftless::enter(trace, plan, releases_.graph(), trees_.rows_of(tree.tree),
                                          rules_.start, bounds, seed_of(rules_, tree)));
        for (const EnteredRow& row : points.back().rows) {
            stage_from_ns_ = std::max(stage_from_ns_, row.primes ? row.distance_ns : 0);
        }
    }
    for (std::uint32_t number = 0; number < points.size(); ++number) {
        User& user = users_[number];
        user.tree = *std::exchange(user.next, std::nullopt);
        user.begin_ns = stage_from_ns_ - points[number].place_ns;
        user.end_ns = stage_from_ns_;
        user.unleft = static_cast<std::uint32_t>(points[number].rows.size());
        user.unended = user.unleft;
        user.has_begun = true;  // as it was recorded
        releases_.enter(points[number], user.tree, number, stage_from_ns_);
    }
}

std::int64_t Users::recorded_due_ns(std::uint32_t request) const {
    const std::uint32_t user = user_of(request);
    return user == Due::no_user ? 0
                                : later(users_[user].begin_ns, recorded_ns_[position_of(request)]);
}

/// False where there is no further tree.
bool Users::take_tree(std::uint32_t number) {
    std::optional<DrawnTree>& next = users_[number].next;
    CHECK(!next);
    next = order_.draw();
    return next.has_value();
}

/// Of single rows: the next one is armed, for whoever is free first.
bool Users::draw_ahead() {
    const std::optional<DrawnTree> drawn = drawn_.full() ? std::nullopt : order_.draw();
    if (drawn) {
        releases_.renew(trees_.rows_of(drawn->tree), drawn->copy, drawn->pass, Due::no_user);
        drawn_.push(*drawn);
    }
    return drawn.has_value();
}

/// What this user plays next is known, or was drawn now.
bool Users::has_next(std::uint32_t number) {
    User& user = users_[number];
    if (!rules_.single_rows) {
        return user.next || draw(number);
    }
    if (drawn_.empty() && !draw_ahead()) {
        return false;
    }
    user.next = drawn_.pop();
    releases_.give(trees_.rows_of(user.next->tree), user.next->copy, number);
    return true;
}

bool Users::draw(std::uint32_t number) {
    if (!take_tree(number)) {
        return false;
    }
    const DrawnTree& next = *users_[number].next;
    releases_.renew(trees_.rows_of(next.tree), next.copy, next.pass, number);
    return true;
}

void Users::begin(std::uint32_t number, std::int64_t at_ns, bool pauses) {
    User& user = users_[number];
    CHECK(user.next && user.unended == 0 && user.in_flight == 0);
    user.tree = *std::exchange(user.next, std::nullopt);
    const std::span<const std::uint32_t> rows = trees_.rows_of(user.tree.tree);
    user.begin_ns = at_ns;
    user.unleft = static_cast<std::uint32_t>(rows.size());
    user.unended = user.unleft;
    user.is_answered = user.has_begun = false;
    user.awaited = 0;
    releases_.begin(rows, user.tree.copy, at_ns, pauses);
}

void Users::taken(std::uint32_t request) {
    User& user = users_[user_of(request)];
    ++user.in_flight;
    user.has_begun = true;
    ++in_flight_;
}

void Users::fired(std::uint32_t request, std::int64_t at_ns) {
    releases_.fired(request, at_ns);
    const std::uint32_t number = user_of(request);
    User& user = users_[number];
    CHECK(user.unleft > 0 && user.unended >= user.unleft);
    if (--user.unleft == 0 && !stopped_ && !user.is_cut && !user.next) {
        (void)(rules_.single_rows ? draw_ahead() : draw(number));
    }
    take_cuts();
}

void Users::ended(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end) {
    const std::uint32_t number = user_of(request);
    if (releases_.turn(request).state == TurnState::taken) {
        CHECK(users_[number].in_flight > 0 && in_flight_ > 0);
        --users_[number].in_flight;
        --in_flight_;
        end_ns_ = std::max(end_ns_, at_ns);
    } else {
        CHECK(dropping_ > 0);
        --dropping_;
    }
    if (!sends_again(request, at_ns, end)) {
        end_request(request, at_ns, end);
    }
    end_stages();
    cap_tree(users_[number]);
    look_for_end();
}

/// A turn that has failed has another try, where it may.
bool Users::sends_again(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end) {
    const PendingTurn& turn = releases_.turn(request);
    if (end.goes_on() || stopped_ || turn.state != TurnState::taken) {
        return false;
    }
    const FailureRules& rules = rules_.failures;
    const bool waits = rules.waits_for_429 && end.is_429 && turn.attempt < Due::attempts_max;
    const bool retries = rules.rule == FailureRule::retry && turn.attempt < rules.retries_max;
    if (!waits && !retries) {
        return false;
    }
    const std::int64_t pause_ns = waits && end.retry_after_ns != TurnEnd::unknown
                                      ? end.retry_after_ns
                                      : failure_pause_ns(turn.attempt + 1U);
    User& user = users_[user_of(request)];
    user.unleft += turn.left ? 1 : 0;
    user.end_ns = std::max(user.end_ns, at_ns);
    releases_.send_again(request, later(at_ns, pause_ns));
    return true;
}

void Users::end_request(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end) {
    const bool left = releases_.turn(request).left;
    const bool was_dropped = releases_.turn(request).state == TurnState::dropped;
    const bool goes_on =
        end.goes_on() || (rules_.failures.rule == FailureRule::go_on && !was_dropped && !stopped_);
    const std::uint32_t number = user_of(request);
    releases_.ended(request, at_ns, goes_on);
    User& user = users_[number];
    user.awaited += releases_.turn(request).awaits ? 1 : 0;
    CHECK(user.unended > 0 && (left || user.unleft > 0));
    user.unleft -= left ? 0 : 1;
    user.is_answered = user.is_answered || end.goes_on();
    // What is dropped ends with the row that failed it, whenever it gets its record.
    user.end_ns = was_dropped ? user.end_ns : std::max(user.end_ns, at_ns);
    if (--user.unended == 0) {
        end_tree(number);
    }
    take_cuts();
}

bool Users::replied(std::uint32_t request, std::int64_t at_ns, bool goes_on) {
    User& user = users_[user_of(request)];
    if (!releases_.replied(request, at_ns, goes_on)) {
        return false;
    }
    const bool plays_it = user.tree.tree == trees_.tree_of(position_of(request)) &&
                          user.tree.copy == request / rows_ &&
                          user.tree.pass == releases_.turn(request).pass;
    if (plays_it) {
        CHECK(user.awaited > 0);
        --user.awaited;
    }
    cap_tree(user);
    look_for_end();
    return true;
}

/// The user goes on with the next tree, or is done.
void Users::end_tree(std::uint32_t number) {
    User& user = users_[number];
    CHECK(user.unleft == 0 && playing_ > 0);
    order_.ended(user.tree);
    user.vain_trees = user.is_answered ? 0 : user.vain_trees + 1;
    if (stopped_ || user.is_cut || !has_next(number)) {
        --playing_;
        return;
    }
    const std::int64_t pause_ns = user.is_answered ? 0 : failure_pause_ns(user.vain_trees);
    const std::int64_t end_ns = std::max(user.end_ns, measured_from_ns_.value_or(0));
    begin(number, later(end_ns, pause_ns), pause_ns > 0);
}

/// Stages of the warm-up, as far as nothing of them is open.
void Users::end_stages() {
    const WarmUp& warm_up = releases_.warm_up();
    while (!warm_up.is_over() && warm_up.stage_has_ended() && !stopped_) {
        stage_from_ns_ = std::max(stage_from_ns_, end_ns_);
        releases_.end_stage(stage_from_ns_);
    }
    if (!warm_up.is_over() || measured_from_ns_) {
        return;
    }
    measured_from_ns_ = stage_from_ns_;
    if (rules_.for_ns) {
        releases_.set_end(later(stage_from_ns_, *rules_.for_ns));
    }
    for (const User& user : users_) {
        cap_tree(user);
    }
    cap_all();
}

/// Nothing of the tree is in flight: what comes next comes within the cap.
void Users::cap_tree(const User& user) {
    if (!tree_cap_ns_ || user.in_flight + user.awaited > 0 || !user.has_begun ||
        !measured_from_ns_) {
        return;
    }
    const std::span<const std::uint32_t> rows = trees_.rows_of(user.tree.tree);
    const std::int64_t idle_from_ns = std::max(user.end_ns, *measured_from_ns_);
    const std::int64_t latest_ns = later(idle_from_ns, *tree_cap_ns_);
    const std::optional<std::int64_t> first_ns =
        releases_.first_known(rows, user.tree.copy, latest_ns);
    if (first_ns && *first_ns > latest_ns) {
        releases_.move_left(rows, user.tree.copy, *first_ns - latest_ns);
        ++idle_.tree_jumps;
        idle_.tree_skipped_ns = later(idle_.tree_skipped_ns, *first_ns - latest_ns);
    }
}

/// The same for all trees, while nothing at all is in flight.
void Users::cap_all() {
    if (!rules_.idle.system_ns || in_flight_ > 0 || !measured_from_ns_) {
        return;
    }
    const std::int64_t idle_from_ns = std::max(end_ns_, *measured_from_ns_);
    const std::int64_t by_ns = releases_.move_all_left(later(idle_from_ns, *rules_.idle.system_ns));
    if (by_ns > 0) {
        ++idle_.system_jumps;
        idle_.system_skipped_ns = later(idle_.system_skipped_ns, by_ns);
    }
}

/// Nothing is in flight, or to be told as dropped, and nothing is due before the time is up: what
/// is left will not be sent.
void Users::look_for_end() {
    if (in_flight_ + dropping_ + releases_.awaited() > 0 || releases_.dropped() || stopped_) {
        return;
    }
    cap_all();
    if (releases_.peek() == nullptr) {
        CHECK(releases_.warm_up().is_over());
        releases_.stop();
        take_cuts();
    }
}

/// The time is up for these, and for what waits for them.
void Users::take_cuts() {
    while (const std::optional<std::uint32_t> request = releases_.take_cut()) {
        const std::uint32_t number = user_of(*request);
        if (number == Due::no_user) {
            continue;  // nobody has begun it
        }
        User& user = users_[number];
        const bool of_next = user.next && user.next->copy == *request / rows_ &&
                             user.next->tree == trees_.tree_of(position_of(*request));
        if (of_next) {
            continue;  // it has not begun
        }
        CHECK(user.unleft > 0 && user.unended > 0);
        user.is_cut = true;
        --user.unleft;
        if (--user.unended == 0) {
            end_tree(number);
        }
    }
}

bool Users::grow(std::uint32_t users, std::int64_t at_ns) {
    CHECK(users <= users_.size());
    if (begun_ >= users || stopped_ || !measured_from_ns_ || over()) {
        return false;
    }
    const std::int64_t end_ns = later(*measured_from_ns_, rules_.for_ns.value_or(INT64_MAX));
    std::int64_t begin_ns = later(at_ns, grow_lead_ns);
    bool any = false;
    for (; begun_ < users && begin_ns < end_ns && draw(begun_); ++begun_) {
        ++playing_;
        begin(begun_, begin_ns, false);
        begin_ns = later(begin_ns, grow_spacing_ns);
        any = true;
    }
    return any;
}

void Users::stop() {
    stopped_ = true;
    releases_.stop();
    take_cuts();
}

}  // namespace driftless
