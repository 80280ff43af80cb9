#include "tests/comparison/made_runs.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {
namespace {

constexpr double second_ns = 1e9;

double normal(Random& random) {
    return normal_quantile(std::max(random.uniform(), 0x1.0p-54));
}

/// What all runs share of each row.
struct SharedRows {
    std::vector<double> base;          ///< logarithm of the time
    std::vector<std::uint64_t> trees;  ///< from 1; 0: none
    std::size_t tree_count = 0;
};

SharedRows make_shared(const MadeLaw& law, Random& random) {
    SharedRows shared;
    std::size_t left = 0;
    double intercept = 0;
    for (std::size_t row = 0; row < law.rows; ++row) {
        if (law.law == Law::trees && left == 0) {
            const double size = static_cast<double>(law.tree_rows) * std::exp(normal(random) - 0.5);
            left = static_cast<std::size_t>(std::clamp(std::round(size), 1.0, 100.0));
            ++shared.tree_count;
            intercept = 0.7 * normal(random);
        }
        left -= law.law == Law::trees ? 1 : 0;
        const double own = law.law == Law::independent ? 1
                           : law.law == Law::heavy     ? 1.2
                           : law.law == Law::trees     ? 0.5
                                                       : 0;
        shared.base.push_back(intercept + own * normal(random));
        shared.trees.push_back(shared.tree_count);
    }
    return shared;
}

/// What one run adds to the logarithm of each row's time. Intercepts of trees are the side's.
std::vector<double> make_own(const MadeLaw& law, const SharedRows& shared,
                             const std::vector<double>& intercepts, Random& random) {
    const double fresh = std::sqrt(1 - law.memory * law.memory);
    double state = normal(random);
    std::vector<double> own;
    for (std::size_t row = 0; row < law.rows; ++row) {
        switch (law.law) {
            case Law::independent:
                own.push_back(0.5 * normal(random));
                break;
            case Law::heavy:
                own.push_back(0.9 * normal(random));
                break;
            case Law::series:
                own.push_back(0.5 * state);
                state = law.memory * state + fresh * normal(random);
                break;
            case Law::trees:
                own.push_back(intercepts[shared.trees[row]] + 0.3 * normal(random));
                break;
        }
    }
    return own;
}

ComparedRun make_run(const MadeLaw& law, const SharedRows& shared,
                     const std::vector<double>& intercepts, bool is_a, Random& random) {
    const std::vector<double> own = make_own(law, shared, intercepts, random);
    const double level = law.run_deviation * normal(random) + (is_a ? 0 : std::log(law.ratio));
    const double fails = law.fails + (is_a ? 0 : law.fails_more);
    ComparedRun run;
    run.duration_ns = static_cast<std::int64_t>(static_cast<double>(law.rows) * second_ns);
    for (std::size_t row = 0; row < law.rows; ++row) {
        ComparedRequest request;
        request.key = row;
        request.due_ns = static_cast<std::int64_t>(static_cast<double>(row) * second_ns);
        request.tree = shared.trees[row];
        request.failed = random.uniform() < fails;
        request.ok = !request.failed;
        // As a dual run alternates, and 10 us apart: chance, which is equal for both sides.
        const bool is_first = (mix64(row) % 2 == 0) == is_a;
        request.fired_ns = request.due_ns + (is_first ? 0 : 10'000);
        const double time_ns =
            0.1 * second_ns * std::exp(shared.base[row] + law.noise * own[row] + level);
        request.values[static_cast<std::size_t>(RowValue::ttft)] = time_ns;
        request.ended_ns = request.due_ns + static_cast<std::int64_t>(time_ns);
        run.requests.push_back(request);
    }
    return run;
}

/// A side of a queue: places take the requests in their order.
ComparedRun serve(const MadeQueue& queue, const std::vector<double>& arrivals, double ratio,
                  Random& random) {
    constexpr double deviation = 0.7;
    std::vector<double> free_at(queue.places, 0);
    ComparedRun run;
    double last = 0;
    for (std::size_t row = 0; row < queue.rows; ++row) {
        const auto place = std::min_element(free_at.begin(), free_at.end());
        const double begins = std::max(*place, queue.load > 0 ? arrivals[row] : 0);
        *place = begins + ratio * std::exp(deviation * normal(random) - deviation * deviation / 2);
        last = std::max(last, *place);
        const double due = queue.load > 0 ? arrivals[row] : begins;
        ComparedRequest request;
        request.key = row;
        request.due_ns = static_cast<std::int64_t>(due * second_ns);
        request.ok = true;
        request.ended_ns = static_cast<std::int64_t>(*place * second_ns);
        request.values[static_cast<std::size_t>(RowValue::e2e)] = (*place - due) * second_ns;
        request.output_tokens = 100;
        run.requests.push_back(request);
    }
    run.duration_ns = static_cast<std::int64_t>(last * second_ns);
    return run;
}

}  // namespace

const char* name_of(Law law) {
    switch (law) {
        case Law::independent:
            return "independent";
        case Law::heavy:
            return "heavy tails";
        case Law::series:
            return "AR(1)";
        case Law::trees:
            return "trees";
    }
    return "";
}

MadeGroups make_groups(const MadeLaw& law, std::size_t runs_a, std::size_t runs_b,
                       std::uint64_t seed) {
    Random random(mix64(seed + golden_gamma));
    const SharedRows shared = make_shared(law, random);
    MadeGroups groups;
    for (const bool is_a : {true, false}) {
        std::vector<double> intercepts(shared.tree_count + 1, 0);
        for (double& intercept : intercepts) {
            intercept = 0.4 * normal(random);
        }
        for (std::size_t run = 0; run < (is_a ? runs_a : runs_b); ++run) {
            (is_a ? groups.a : groups.b).push_back(make_run(law, shared, intercepts, is_a, random));
        }
    }
    return groups;
}

MadeGroups make_queues(const MadeQueue& queue, std::uint64_t seed) {
    Random random(mix64(seed + golden_gamma));
    std::vector<double> arrivals;
    double at = 0;
    for (std::size_t row = 0; row < queue.rows && queue.load > 0; ++row) {
        at -= std::log(1 - random.uniform()) / (queue.load * static_cast<double>(queue.places));
        arrivals.push_back(at);
    }
    MadeGroups groups;
    groups.a.push_back(serve(queue, arrivals, 1, random));
    groups.b.push_back(serve(queue, arrivals, queue.ratio, random));
    return groups;
}

}  // namespace driftless
