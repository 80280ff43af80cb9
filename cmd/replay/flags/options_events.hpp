/// The flags of timed events.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/event_values.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/values.hpp"

namespace driftless {

inline void add_event_flags(Flags& flags, EventFlags& events) {
    flags.group("Events");
    flags.values("--event", "WHAT", "\"+90s post URL\", \"+2m run COMMAND\", \"+10m label TEXT\"",
                 parse_event, events.typed);
    flags.value("--events", "FILE", "such lines [none]", nullptr, parse_text, events.file);
    flags.value("--event-timeout", "T", "time limit of one event", "60s",
                parse_positive_duration_ns, events.timeout_ns);
}

}  // namespace driftless
