#include "engine/schedule/user_begins.hpp"

#include "proto/core/hash.hpp"

namespace driftless {

namespace {

std::int64_t begin_of(std::uint32_t user, std::uint32_t users, const UserRules& rules,
                      Random& random) {
    const double part_ns = static_cast<double>(rules.ramp_ns) / users;
    const double place = user == 0 ? 0.0 : user + random.uniform();
    return static_cast<std::int64_t>(part_ns * place);
}

}  // namespace

std::vector<std::int64_t> user_begins(const UserRules& rules) {
    const std::uint32_t all = rules.users_in_all == 0 ? rules.first() : rules.users_in_all;
    Random random(rules.seed);
    std::vector<std::int64_t> begins;
    begins.reserve(rules.first());
    for (std::uint32_t user = 0; user < all; ++user) {
        const std::int64_t begin_ns = begin_of(user, all, rules, random);
        if (user % rules.place.count == rules.place.index) {
            begins.push_back(begin_ns);
        }
    }
    return begins;
}

}  // namespace driftless
