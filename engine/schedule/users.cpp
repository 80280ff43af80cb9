#include "engine/schedule/users.hpp"

#include <algorithm>
#include <optional>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

/// Spread evenly, each at a seeded place in its part of the ramp; the first at 0.
std::int64_t begin_of(std::uint32_t user, const UserRules& rules, Random& random) {
    const double part_ns = static_cast<double>(rules.ramp_ns) / rules.users;
    const double place = user == 0 ? 0.0 : user + random.uniform();
    return static_cast<std::int64_t>(part_ns * place);
}

}  // namespace

Users::Users(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules)
    : rows_(static_cast<std::uint32_t>(plan.rows.size())),
      trees_(trace, plan),
      order_(trees_.count(), rules),
      releases_(trace, plan, speed, order_.copies(), rules.for_ns),
      recorded_ns_(rows_),
      users_(rules.users),
      user_of_(std::size_t{order_.copies()} * trees_.count()) {
    for (std::uint32_t tree = 0; tree < trees_.count(); ++tree) {
        const std::int64_t first_ns = plan.rows[trees_.rows_of(tree).front()].due_ns;
        for (const std::uint32_t position : trees_.rows_of(tree)) {
            recorded_ns_[position] = plan.rows[position].due_ns - first_ns;
        }
    }
    Random random(rules.seed);
    for (std::uint32_t number = 0; number < rules.users; ++number) {
        if (draw(number)) {
            ++playing_;
            begin(number, begin_of(number, rules, random));
        }
    }
    take_cuts();
}

std::int64_t Users::recorded_due_ns(std::uint32_t request) const {
    return later(users_[user_of(request)].begin_ns, recorded_ns_[position_of(request)]);
}

/// False where there is no further tree.
bool Users::draw(std::uint32_t number) {
    User& user = users_[number];
    CHECK(!user.has_next);
    const std::optional<DrawnTree> drawn = order_.draw();
    if (!drawn) {
        return false;
    }
    user.next = *drawn;
    user.has_next = true;
    user_of_[std::size_t{drawn->copy} * trees_.count() + drawn->tree] = number;
    releases_.renew(trees_.rows_of(drawn->tree), drawn->copy, drawn->pass);
    return true;
}

void Users::begin(std::uint32_t number, std::int64_t at_ns) {
    User& user = users_[number];
    CHECK(user.has_next && user.unended == 0);
    const std::span<const std::uint32_t> rows = trees_.rows_of(user.next.tree);
    user.tree = user.next;
    user.has_next = false;
    user.begin_ns = at_ns;
    user.end_ns = at_ns;
    user.unleft = static_cast<std::uint32_t>(rows.size());
    user.unended = user.unleft;
    releases_.begin(rows, user.tree.copy, at_ns);
}

void Users::fired(std::uint32_t request, std::int64_t at_ns) {
    releases_.fired(request, at_ns);
    const std::uint32_t number = user_of(request);
    User& user = users_[number];
    CHECK(user.unleft > 0 && user.unended >= user.unleft);
    if (--user.unleft == 0 && !stopped_ && !user.is_cut && !user.has_next) {
        (void)draw(number);
    }
    take_cuts();
}

void Users::ended(std::uint32_t request, std::int64_t at_ns, bool answered) {
    const bool left = releases_.turn(request).left;
    const std::uint32_t number = user_of(request);
    releases_.ended(request, at_ns, answered);
    User& user = users_[number];
    CHECK(user.unended > 0 && (left || user.unleft > 0));
    user.unleft -= left ? 0 : 1;
    // What is dropped ends with the row that failed it, whenever it gets its record.
    user.end_ns = releases_.turn(request).state == TurnState::dropped
                      ? user.end_ns
                      : std::max(user.end_ns, at_ns);
    if (--user.unended == 0) {
        end_tree(number);
    }
    take_cuts();
}

/// The user goes on with the next tree, or is done.
void Users::end_tree(std::uint32_t number) {
    User& user = users_[number];
    CHECK(user.unleft == 0 && playing_ > 0);
    order_.ended(user.tree);
    if (stopped_ || user.is_cut || (!user.has_next && !draw(number))) {
        --playing_;
        return;
    }
    begin(number, user.end_ns);
}

/// The time is up for these, and for what waits for them.
void Users::take_cuts() {
    while (const std::optional<std::uint32_t> request = releases_.take_cut()) {
        const std::uint32_t number = user_of(*request);
        User& user = users_[number];
        if (user.has_next &&
            place_of(*request) == user.next.copy * trees_.count() + user.next.tree) {
            continue;  // of a tree that has not begun
        }
        CHECK(user.unleft > 0 && user.unended > 0);
        user.is_cut = true;
        --user.unleft;
        if (--user.unended == 0) {
            end_tree(number);
        }
    }
}

void Users::stop() {
    stopped_ = true;
    releases_.stop();
    take_cuts();
}

}  // namespace driftless
