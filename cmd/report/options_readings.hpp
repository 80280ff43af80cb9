/// The flags of `report` for its readings (readings.hpp).
#pragma once

#include <string>

#include "cmd/options_flags.hpp"
#include "cmd/report/readings.hpp"

namespace driftless {

inline void add_reading_flags(Flags& flags, ReportReadings& readings) {
    static const std::string views =
        "figures by another tool's definitions, in its layout: " + view_names();
    flags.group("Readings");
    flags.value("--view", "TOOL", views.c_str(), nullptr, parse_view, readings.view);
    flags.values("--by", "KEY",
                 "tables by group: phase, turn, api, url, model, outcome, kept.NAME, header.NAME, "
                 "input:PARTS",
                 parse_group_key, readings.by);
    flags.values("--goodput", "LIMITS",
                 "limits for some rows: \"tier=gold ttft:200 tpot:50\" (a name of kept, or a key "
                 "of --by)",
                 parse_group_slo, readings.slos);
}

/// Why they cannot stand together, or the empty text.
inline std::string why_not_readings(const ReportReadings& readings) {
    if (readings.view != nullptr && (!readings.by.empty() || !readings.slos.empty())) {
        return "--view prints another tool's figures alone; leave out --by and --goodput";
    }
    return "";
}

}  // namespace driftless
