#include "engine/plan/due.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

Due due_at(const Plan& plan, std::uint32_t position) {
    CHECK(position < plan.rows.size());
    const auto row = plan.rows.begin() + position;
    const auto first = std::lower_bound(
        plan.rows.begin(), row, row->due_ns,
        [](const Planned& planned, std::int64_t due_ns) { return planned.due_ns < due_ns; });
    Due due;
    due.due_ns = row->due_ns;
    due.request = position;
    due.row = row->row;
    due.side = row->side;
    due.rank = static_cast<std::uint32_t>(row - first);
    return due;
}

namespace {

constexpr std::uint64_t abandon_stream = 0xABA4D04;

}  // namespace

std::optional<std::int64_t> abandoned_after_ns(const AbandonRules& rules,
                                               const RequestIdentity& request) {
    if (!rules.any()) {
        return std::nullopt;
    }
    CHECK(rules.from_ns >= 0 && rules.from_ns <= rules.to_ns);
    Digest identity;
    identity.add_u64(rules.seed ^ abandon_stream);
    identity.add_u64(std::uint64_t{request.pass} << 32 | request.row);
    identity.add_u64(request.attempt);
    Random random(identity.value());
    if (random.uniform() >= rules.share) {
        return std::nullopt;
    }
    const auto range = static_cast<std::uint64_t>(rules.to_ns - rules.from_ns) + 1;
    return rules.from_ns + static_cast<std::int64_t>(random.below(range));
}

}  // namespace driftless
