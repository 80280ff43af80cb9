/// The flags of servers' own metrics.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/metrics_values.hpp"
#include "cmd/replay/flags/options.hpp"

namespace driftless {

inline void add_metrics_flags(Flags& flags, MetricsFlags& metrics) {
    flags.group("Servers' metrics");
    flags.values("--metrics", "URL|auto|none",
                 "pages of metrics to read beside the run; auto: /metrics of each --url,\n"
                 "where it answers [auto]",
                 parse_metrics_place, metrics.places);
    flags.value("--metrics-period", "T", "from one reading of them to the next", "1s",
                parse_metrics_period, metrics.period_ns);
}

}  // namespace driftless
