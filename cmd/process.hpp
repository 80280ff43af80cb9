/// What every command needs before it begins: standard descriptors that are open, and an error
/// message for each way to end early. Called by main, once; reads no flag and opens no file of the
/// user's.
#pragma once

namespace driftless {

/// Opens standard descriptors that are closed (`>&-`): otherwise the next file that is opened gets
/// the number, and text for the screen goes into it. Input and errors become /dev/null; output
/// becomes /dev/full, so that what cannot be printed is an error of the command. A file at its
/// limit (`ulimit -f`) becomes an error of the write that meets it, not a signal. Without memory
/// the process ends with `exit_host` and says so. A small stack (`ulimit -s`) is enlarged up to the
/// hard limit, also for threads that are made later. Returns false if the descriptors cannot be
/// opened; prints why if the stack stays too small.
bool settle_process();

/// Whether standard output was closed when the process began.
bool stdout_was_closed();

/// Stack that is enough for every command: about four times the deepest use that was measured.
inline constexpr unsigned long stack_bytes_min = 1 << 20;

}  // namespace driftless
