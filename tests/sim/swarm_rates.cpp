// The swarm's rows, at a rate.
#include "proto/core/hash.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

void draw_arrivals(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t rates_stream = 0x72617465;
    Random random(mix64(seed ^ rates_stream));
    if (random.below(3) != 0) {
        return;
    }
    ArrivalRules rules;
    const double rate = 50 + static_cast<double>(random.below(5000));
    rules.law = static_cast<ArrivalLaw>(random.below(3));
    rules.shape = 0.2 + 3 * random.uniform();
    rules.curve = RateCurve(rate);
    rules.seed = seed;
    rules.scaled = rules.law != ArrivalLaw::constant && random.below(3) == 0;
    if (rules.law != ArrivalLaw::constant && random.below(3) == 0) {
        rules.curve.add(0.05 + random.uniform() / 10, rate * random.uniform(), rate);
    }
    options.arrivals = rules;
}

void draw_abandonment(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t abandonment_stream = 0xABA4D0;
    Random random(mix64(seed ^ abandonment_stream));
    if (random.below(3) != 0) {
        return;
    }
    AbandonRules& rules = options.abandon;
    rules.share = random.below(8) == 0 ? 1 : random.uniform();
    rules.from_ns = static_cast<std::int64_t>(random.below(50'000'000));
    rules.to_ns = rules.from_ns + static_cast<std::int64_t>(random.below(200'000'000));
    rules.seed = seed;
}

StopRule stop_rule(const char* figure, double bound, std::int64_t for_ns) {
    StopRule rule;
    rule.threshold.figure = find_figure(figure);
    rule.threshold.bound = bound;
    rule.figure = stop_figure_of(rule.threshold).value_or(StopFigure::errors);
    rule.for_ns = for_ns;
    rule.text = std::string(figure) + " > " + std::to_string(bound);
    return rule;
}

void draw_stop(std::uint64_t seed, SimOptions& options) {
    constexpr std::uint64_t stop_stream = 0x5709;
    Random random(mix64(seed ^ stop_stream));
    if (random.below(3) != 0) {
        return;
    }
    const auto for_ns =
        random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(300'000'000));
    if (random.below(2) == 0) {
        options.stop_when.push_back(stop_rule("errors", 0.5 * random.uniform(), for_ns));
    } else {
        const char* const figure = random.below(2) == 0 ? "ttft" : "tpot";
        options.stop_when.push_back(stop_rule(figure, 1e7 * random.uniform(), for_ns));
    }
}

}  // namespace driftless::sim
