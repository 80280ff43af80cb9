#include "cmd/screen/goodput_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cmd/screen/plots.hpp"
#include "cmd/screen/words.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr double ns_per_ms = 1e6;

/// Without the share where others could not be judged: it would be of those that failed.
std::string counts_text(const GoodputCount& count, bool all) {
    return fmt::format("{} of {} rows{}", grouped(count.good), grouped(count.decided),
                       all ? " (" + share(count.good, count.decided) + ")" : " that were judged");
}

}  // namespace

std::string limits_text(const GoodputLimits& limits) {
    std::string text;
    const auto add = [&text](std::string_view name, const OptionalNs& value) {
        if (value) {
            text += fmt::format("{}{}:{:g}", text.empty() ? "" : " ", name,
                                static_cast<double>(*value) / ns_per_ms);
        }
    };
    add("ttft", limits.ttft_ns);
    add("ttft_due", limits.ttft_due_ns);
    add("tpot", limits.tpot_ns);
    add("e2e", limits.e2e_ns);
    return text;
}

std::vector<std::string> goodput_lines(const SummaryFigures& f) {
    std::vector<std::string> lines;
    if (!f.judges_goodput()) {
        return lines;
    }
    const bool has_groups = std::any_of(f.goodput_rules.begin(), f.goodput_rules.end(),
                                        [](const GoodputRule& one) { return one.key.has_value(); });
    const std::uint64_t uncounted = f.uncounted.goodput;
    lines.push_back(fmt::format(
        "{}: {}{}",
        f.request_goodput
            ? fmt::format("{:.2f}/s", *f.request_goodput)
            : "not known, for " + counted(uncounted, "row has", "rows have") +
                  (f.tainted_lost > 0 ? " no count of tokens, or lost a part in this client"
                                      : " no count of tokens, and no TPOT"),
        counts_text({f.decided(), f.good}, uncounted == 0),
        has_groups ? "" : " within " + limits_text(common_limits(f.goodput_rules)) + " ms"));
    for (std::size_t i = 0; has_groups && i < f.goodput_rules.size(); ++i) {
        lines.push_back(fmt::format("{}: {} within {} ms", group_text(f.goodput_rules[i]),
                                    counts_text(f.goodput_counts[i], uncounted == 0),
                                    limits_text(f.goodput_rules[i].limits)));
    }
    const bool from_due = std::any_of(f.goodput_rules.begin(), f.goodput_rules.end(),
                                      [](const auto& one) { return one.limits.ttft_due_ns; });
    const SendingFigures& sending = f.sending;
    for (const auto& [held, flag] : {std::pair(&sending.held_by_user.held, "--max-inflight"),
                                     std::pair(&sending.held_by_budget.held, "a token budget")}) {
        if (held->count > 0 && !from_due) {
            lines.push_back(fmt::format(
                "{} held {} back, up to {:.0f} ms, which ttft and e2e do not count; ttft_due:MS "
                "does",
                flag, counted(held->count, "row", "rows"), held->max / ns_per_ms));
        }
    }
    return lines;
}

}  // namespace driftless
