/// The flags of metrics: the servers' own, and the run's.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/metrics_values.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/options.hpp"

namespace driftless {

inline void add_metrics_flags(Flags& flags, MetricsFlags& metrics) {
    flags.group("Metrics");
    flags.values("--metrics", "URL|auto|none",
                 "metrics pages to read during the run; auto: /metrics of each --url\n"
                 "that answers [auto]",
                 parse_metrics_place, metrics.places);
    flags.value("--metrics-period", "T", "time between two readings", "1s", parse_metrics_period,
                metrics.period_ns);
    flags.values("--metrics-table", "FILE", "TOML of an engine's names, before the known ones",
                 parse_text, metrics.table_files);
    flags.value("--listen", "ADDRESS:PORT", "serve the run's own live /metrics here [none]",
                nullptr, parse_listen_place, metrics.listen);
}

}  // namespace driftless
