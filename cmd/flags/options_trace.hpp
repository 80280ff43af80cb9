/// The flags that say which trace is read, how, and how much load is made of it: shared by all
/// commands that read one.
///
/// Included by options files only, like the flags that it adds to.
#pragma once

#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_flags.hpp"
#include "engine/plan/trace_file.hpp"

namespace driftless {

// The flags that say which trace is read, and how: shared by all commands that read one.

/// TRACE.. itself. Whether one must be given is the command's to say.
inline void add_trace_argument(CLI::App& app, TraceFiles& files) {
    app.add_option("TRACE", files.paths, "trace files, a directory, or - (compressed or not)");
}

/// All but `--keep`, which means something else to each command.
inline void add_trace_flags(Flags& flags, TraceFiles& files) {
    flags.value("--format", "NAME", "format of the trace [detected]", nullptr, parse_trace_format,
                files.format);
    flags.value("--time-unit", "UNIT",
                "unit of the trace's times: ns, us, ms, s, iso or auto [the format's]", nullptr,
                parse_time_unit, files.time_unit);
    flags.value("--block-size", "TOKENS", "tokens per block [the format's]", nullptr,
                parse_positive_u32, files.block_size);
    flags.value("--map", "K=COLUMN,..",
                "name the columns: time, in, out, hashes, session, turn, delay;\n"
                "in replay also model",
                nullptr, parse_map, files.map);
    flags.value("--sessions", "HOW",
                "when turns are sent: recorded (recorded instants), open (recorded\n"
                "gaps if they have no instants), closed (when what they wait for\n"
                "has ended)",
                "recorded", parse_sessions, files.sessions);
    flags.value("--flat-agents", "HOW",
                "agents recorded in one line of a closed trace: chains (each waits\n"
                "for its own answers) or keep",
                "chains", parse_flat_agents, files.flat_agents);
    flags.value("--hash-scope", "SCOPE",
                "equal block ids share inside a file, everywhere (all), or inside a\n"
                "session [the format's]",
                nullptr, parse_hash_scope, files.id_scope);
    flags.value("--default-output", "N", "output tokens of rows that record none [refused]",
                nullptr, parse_positive_u32, files.default_output);
    flags.on_off("--lenient",
                 "repair and count contradictions if possible instead of refusing them",
                 files.lenient);
}

// The flags that make more or less load of a trace, shared by replay and convert.

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
