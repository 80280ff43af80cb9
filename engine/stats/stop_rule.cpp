#include "engine/stats/stop_rule.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace driftless {

std::optional<StopFigure> stop_figure_of(const Threshold& threshold) {
    constexpr std::array<std::pair<std::string_view, StopFigure>, 6> known = {
        {{"ttft", StopFigure::ttft},
         {"ttft_due", StopFigure::ttft_due},
         {"tpot", StopFigure::tpot},
         {"e2e", StopFigure::e2e},
         {"errors", StopFigure::errors},
         {"failed", StopFigure::failed}}};
    for (const auto& [name, figure] : known) {
        if (threshold.figure->name == name) {
            return figure;
        }
    }
    return std::nullopt;
}

}  // namespace driftless
