#include "engine/plan/abandonment.hpp"

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

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
