#include "tests/sim/laws_of_dual_fire.hpp"

#include <array>
#include <map>
#include <utility>

#include "engine/plan/plan.hpp"
#include "proto/core/hash.hpp"
#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

/// The two records of a row: [a, b].
using Pair = std::array<const Record*, 2>;

std::map<std::uint32_t, Pair> pairs_of(const SimResult& result) {
    std::map<std::uint32_t, Pair> pairs;
    for (const Record& record : result.records) {
        if (record.side != Side::none) {
            pairs[record.row][record.side == Side::b ? 1 : 0] = &record;
        }
    }
    return pairs;
}

/// By the contract: of the rows 2k and 2k+1 one goes to a first, and the seed says which.
bool begins_with_a(std::uint64_t seed, std::uint32_t row) {
    const std::uint64_t drawn = mix64(mix64(seed + golden_gamma) ^ mix64(row / 2 + golden_gamma));
    return (drawn >> 32) % 2 == row % 2;
}

/// A few looks at the clock lie between two fires; more than that is somebody's doing.
constexpr std::int64_t fires_apart_ns = 1'000'000;

}  // namespace

std::string each_row_once_to_each_side(const SimResult& result) {
    Breaches breaches;
    std::map<std::uint32_t, std::array<int, side_count>> seen;
    for (const Record& record : result.records) {
        const Side side = record.side;
        breaches.unless(result.dual == (side != Side::none), record,
                        "has a side in a run without, or none in a run with sides");
        ++seen[record.row][static_cast<std::size_t>(side)];
        breaches.unless(
            side == Side::none ||
                record.url == (side == Side::a ? "http://simulated/0" : "http://simulated/1"),
            record, "went to the other side's server");
    }
    if (!result.dual || result.disk_failed) {
        return breaches.text();
    }
    for (const auto& [row, times] : seen) {
        breaches.unless(times[1] == 1 && times[2] == 1,
                        "row " + std::to_string(row) + " did not go once to each side");
    }
    for (const auto& [row, pair] : pairs_of(result)) {
        breaches.unless(
            pair[0] == nullptr || pair[1] == nullptr || pair[0]->due_ns == pair[1]->due_ns,
            "row " + std::to_string(row) + " has two dues");
    }
    return breaches.text();
}

std::string sides_have_the_plans_order(const SimResult& result) {
    Breaches breaches;
    if (!result.dual || result.disk_failed) {
        return "";
    }
    std::int64_t more_of_a = 0;
    for (const auto& [row, pair] : pairs_of(result)) {
        if (pair[0] == nullptr || pair[1] == nullptr) {
            continue;  // another law's
        }
        const bool a_first = pair[0]->request < pair[1]->request;
        breaches.unless(a_first == begins_with_a(result.seed, row), *pair[0],
                        "has its sides in another order than was drawn");
        more_of_a += a_first ? 1 : -1;
    }
    breaches.unless(more_of_a >= -1 && more_of_a <= 1,
                    "one side is first more often: by " + std::to_string(more_of_a));
    return breaches.text();
}

std::string sides_have_lanes_of_their_own(const SimResult& result) {
    Breaches breaches;
    std::map<std::pair<std::uint32_t, std::int64_t>, Side> lanes;
    for (const Record& record : result.records) {
        if (result.dual && record.connection && record.connect_ns) {
            // A number is given again when its connection is gone.
            const auto [lane, fresh] =
                lanes.emplace(std::pair(*record.connection, *record.connect_ns), record.side);
            breaches.unless(fresh || lane->second == record.side, record,
                            "left on a connection of the other side");
        }
    }
    return breaches.text();
}

std::string no_side_disturbs_the_other(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        if (result.spared == Side::none || record.side != result.spared) {
            continue;
        }
        breaches.unless(record.outcome == Outcome::ok, record,
                        "was not answered, though its own server is well");
        breaches.unless(record.drift_ns.value_or(0) <= fires_apart_ns, record,
                        "left late, though its own server is well");
        breaches.unless(record.held_ns == 0, record, "was held back for the other side");
    }
    return breaches.text();
}

}  // namespace driftless::sim
