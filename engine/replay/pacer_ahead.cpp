// What is to come: how many rows, how close to each other, and how many connections they need.

#include <algorithm>

#include "engine/replay/pacer.hpp"

namespace driftless {

namespace {

// Over loopback (macro_bench).
constexpr std::int64_t fire_cost_ns = 10'000;

}  // namespace

std::uint32_t Pacer::rows_left() const {
    return stopped_ ? 0 : static_cast<std::uint32_t>(plan_.rows.size()) - next_;
}

std::uint32_t Pacer::due_within_a_second(Instant now) {
    const std::int64_t at = zero_ == never ? plan_.rows.front().due_ns : (now - zero_).ns;
    const std::int64_t horizon = at + 1'000'000'000;
    ahead_ = std::max(ahead_, next_);
    while (ahead_ < plan_.rows.size() && plan_.rows[ahead_].due_ns <= horizon) {
        ++soon_[target_of(ahead_)];
        ++ahead_;
    }
    return stopped_ ? 0 : ahead_ - next_;
}

bool Pacer::begins_instant(std::uint32_t planned) const {
    return planned == 0 ||
           plan_.rows[planned].due_ns - plan_.rows[planned - 1].due_ns >= fire_cost_ns;
}

std::uint32_t Pacer::instants_within(Instant now, Duration horizon) {
    if (zero_ == never) {
        return 0;
    }
    const std::int64_t until = (now - zero_ + horizon).ns;
    for (near_ = std::max(near_, next_);
         near_ < plan_.rows.size() && plan_.rows[near_].due_ns <= until; ++near_) {
        instants_ += begins_instant(near_) ? 1 : 0;
    }
    return instants_;
}

// The cursor, past its row.
void Pacer::move_on() {
    soon_[target_of(next_)] -= next_ < ahead_ ? 1 : 0;
    instants_ -= next_ < near_ && begins_instant(next_) ? 1 : 0;
    ++next_;
}

// The most rows that each server gets at one instant.
void Pacer::note_bursts() {
    std::vector<std::uint32_t> burst(bursts_.size());
    std::int64_t at_ns = -1;
    for (std::uint32_t planned = 0; planned < plan_.rows.size(); ++planned) {
        if (plan_.rows[planned].due_ns != at_ns) {
            at_ns = plan_.rows[planned].due_ns;
            burst.assign(burst.size(), 0);
        }
        const std::uint32_t target = target_of(planned);
        bursts_[target] = std::max(bursts_[target], ++burst[target]);
    }
}

std::uint32_t Pacer::connections_wanted(std::uint32_t target) const {
    return std::min(std::max(soon_[target], bursts_[target]), rows_left());
}

}  // namespace driftless
