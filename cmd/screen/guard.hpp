/// Guard: between our messages and a terminal. Names of files, flags, and words of traces and
/// servers stand in them; whoever wrote those must not move, turn or hide what people read.
///
/// Called by main, once, before anything is said. It owns the streams `stdout` and `stderr` from
/// then on; what writes to descriptors (the progress line, files) goes past it.
#pragma once

namespace driftless {

/// From here on `stderr`, and `stdout` where that is a terminal, show text as `printable_lines`
/// has it. What goes into files and pipes on `stdout` may be data and stays as it is. Streams that
/// cannot be had are left alone.
void guard_screens();

}  // namespace driftless
