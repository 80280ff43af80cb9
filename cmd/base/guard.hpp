/// Guard: filters our messages on their way to a terminal. They contain names of files and flags,
/// and words of traces and servers, which must not move the cursor, reverse the text or hide it.
///
/// Called by main, once, before anything is printed. It owns the streams `stdout` and `stderr` from
/// then on; what is written to descriptors (the progress line, files) bypasses it.
#pragma once

namespace driftless {

/// From here on `stderr`, and `stdout` if it is a terminal, show text as `printable_lines` gives
/// it. `stdout` to files and pipes may be data and stays unchanged. A stream that cannot be
/// replaced is left alone.
void guard_screens();

/// Prints one line to `stdout`. What is unprintable, line breaks too, is escaped: a name cannot
/// begin a line of its own.
void print_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// The same to `stderr`.
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace driftless
