#include "engine/stats/warnings.hpp"

#include <utility>

#include "engine/stats/server_counts.hpp"
#include "engine/stats/summary.hpp"
#include "engine/stats/warm_cache.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

std::vector<std::string> warnings_of(const SummaryFigures& figures, const SummaryInfo& info) {
    std::vector<std::string> warnings;
    if (info.merged) {
        warnings = merged_warnings(*info.merged);
    }
    if (figures.shard_role.forecast_apart && figures.cache_rows_compared() > 0) {
        warnings.emplace_back(
            "expected hits are too few: they are forecast from the rows of each shard alone, and "
            "rows hit what other shards sent, too");
    }
    if (std::string text = warm_warning(figures, info.cache_probe); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    if (std::string text = server_counts_warning(figures, info); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    for (const std::string& argument : info.run.arguments) {
        if (argument.starts_with("--grow=")) {
            warnings.push_back("the run adapted its load (" + argument + "): it ended with " +
                               counted(figures.phase.users, "user", "users") +
                               ", so its figures do not show one load and must not be published; "
                               "repeat with a fixed number (--users N)");
        }
    }
    return warnings;
}

}  // namespace driftless
