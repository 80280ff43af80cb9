/// The flags that make more or less load of a trace, shared by replay and convert.
///
/// Included by options files only, like the flags that it adds to.
#pragma once

#include "cmd/load_values.hpp"
#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"

namespace driftless {

inline void add_load_flags(Flags& flags, LoadOptions& load) {
    flags.value("--share", "WHAT",
                "rows without block ids share a prefix within a session, or all do", nullptr,
                parse_sharing, load.share);
    flags.value("--max-context", "N",
                "leave out trees that have a request of more tokens, in plus out [none]", nullptr,
                parse_positive_count, load.admission.context_max);
    flags.value("--max-trees", "N", "then use the first N session trees of the trace [all]",
                nullptr, parse_positive_u32, load.admission.trees_max);
    flags.value("--sample-sessions", "SHARE",
                "keep this share of the sessions, each as a whole: 0.1 or 10%", "1", parse_sample,
                load.sample);
    flags.value("--replicate", "N",
                "overlay N copies that share nothing and start at different times;\n"
                "rows:N copies one after another until there are N rows",
                "1", parse_copies, load.copies);
    flags.value("--replicate-within", "T",
                "copies start within T of the first [60s, or a tenth of the trace]", nullptr,
                parse_duration_ns, load.within_ns);
}

}  // namespace driftless
