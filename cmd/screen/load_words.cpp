#include "cmd/screen/load_words.hpp"

#include <fmt/format.h>

#include <optional>

#include "cmd/screen/plots.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

}  // namespace

std::optional<std::uint64_t> shown_peak(const SummaryFigures& f) {
    return f.duration_ns < ns_per_s ? std::nullopt : f.timeline.max_output_tokens_per_s;
}

// In a short run the best whole second can lie below the mean.
std::string peak_text(const SummaryFigures& f) {
    if (f.duration_ns < ns_per_s) {
        return "";
    }
    const std::optional<std::uint64_t> best = shown_peak(f);
    if (!best) {
        return ", peak not known";
    }
    const bool is_below = static_cast<double>(*best) < f.output_throughput.value_or(0);
    return ", peak " + grouped(*best) + "/s" +
           (is_below ? " (of whole seconds; the run is too short for it)" : "");
}

std::string outputs_text(const SummaryFigures& f) {
    const std::uint64_t uncounted = f.outputs_unknown - f.outputs_unrecorded;
    const std::uint64_t compared = f.outputs_exact + f.outputs_short + f.outputs_long;
    if (f.outputs_short + f.outputs_long + f.outputs_unknown == 0) {
        return "";
    }
    if (compared + uncounted == 0) {
        return "no recorded length to compare with";
    }
    std::string text =
        fmt::format("{} of the recorded length, {} shorter, {} longer, {} not counted",
                    grouped(f.outputs_exact), grouped(f.outputs_short), grouped(f.outputs_long),
                    grouped(uncounted));
    return f.outputs_unrecorded == 0 ? text
                                     : text + fmt::format(", {} without a recorded length",
                                                          grouped(f.outputs_unrecorded));
}

}  // namespace driftless
