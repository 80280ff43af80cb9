/// The flags that say which trace is read, and how: shared by all commands that read one.
///
/// Included by options files only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/trace_values.hpp"
#include "engine/input/trace_file.hpp"

namespace driftless {

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

}  // namespace driftless
