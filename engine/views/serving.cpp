#include "engine/views/serving.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/// Of a run; longer ones have no peak. A day and more.
constexpr std::int64_t seconds_max = 1'000'000;

}  // namespace

double ServedRequest::tpot_ms() const {
    return output_tokens > 1 ? in_ms(e2e_ns - ttft_ns) / as_double(output_tokens - 1) : 0;
}

ServingPeaks serving_peaks(const std::vector<ServedRequest>& served) {
    ServingPeaks peaks;
    if (served.empty()) {
        return peaks;
    }
    std::int64_t first = served.front().fired_ns;
    std::int64_t last = first;
    for (const ServedRequest& one : served) {
        first = std::min(first, one.fired_ns);
        last = std::max(last, one.fired_ns + one.e2e_ns);
    }
    const std::int64_t seconds = (last - first + second_ns - 1) / second_ns + 1;
    if (seconds > seconds_max) {
        return peaks;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(seconds));
    std::vector<std::int64_t> changes(static_cast<std::size_t>(seconds) + 1);
    const auto bin = [first](std::int64_t at_ns) {
        return static_cast<std::size_t>(std::max<std::int64_t>(at_ns - first, 0) / second_ns);
    };
    for (const ServedRequest& one : served) {
        for (const std::int64_t event : one.events_ns) {
            tokens[std::min(bin(event), tokens.size() - 1)] += 1;
        }
        changes[bin(one.fired_ns)] += 1;
        changes[bin(one.fired_ns + one.e2e_ns) + 1] -= 1;
    }
    std::int64_t open = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        open += changes[i];
        peaks.tokens_per_s = std::max(peaks.tokens_per_s, tokens[i]);
        peaks.concurrent = std::max(peaks.concurrent, open);
    }
    return peaks;
}

ServingSums serving_sums(const std::vector<ServedRequest>& served) {
    ServingSums sums;
    for (const ServedRequest& one : served) {
        sums.input += one.prompt_tokens;
        sums.output += one.output_tokens;
        sums.ttft.add(in_ms(one.ttft_ns));
        sums.e2e.add(in_ms(one.e2e_ns));
        if (one.output_tokens > 1) {
            sums.tpot.add(one.tpot_ms());
        }
        for (std::size_t i = 1; i < one.events_ns.size(); ++i) {
            sums.itl.add(in_ms(one.events_ns[i] - one.events_ns[i - 1]));
        }
    }
    for (ValueList* list : {&sums.ttft, &sums.tpot, &sums.itl, &sums.e2e}) {
        list->close();
    }
    return sums;
}

bool serves_goodput(const ViewLimits& limits, const ServedRequest& request) {
    return (!limits.ttft_ns || request.ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || request.tpot_ms() <= in_ms(*limits.tpot_ns)) &&
           (!limits.e2e_ns || request.e2e_ns <= *limits.e2e_ns);
}

std::string percentile_word(std::uint32_t per_mille) {
    std::string word = std::to_string(per_mille / 10);
    return per_mille % 10 == 0 ? word : word + "." + std::to_string(per_mille % 10);
}

void add_metric_block(std::string& screen, std::string_view title, std::string_view name,
                      const ValueList& values, std::initializer_list<std::uint32_t> per_mille) {
    const std::string unit = std::string(name) + " (ms):";
    screen += centred(title, 50, '-') + "\n";
    add_pair(screen, "Mean " + unit, values.mean());
    add_pair(screen, "Median " + unit, values.linear(500));
    for (const std::uint32_t one : per_mille) {
        add_pair(screen, "P" + percentile_word(one) + " " + unit, values.linear(one));
    }
}

}  // namespace driftless
