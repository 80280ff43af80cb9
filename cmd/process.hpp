/// What holds for every command before it begins: descriptors that may be written to, and ends that
/// are told. Called by main, once; reads no flag and opens no file of the user's.
#pragma once

namespace driftless {

/// Standard descriptors that are closed (`>&-`) become /dev/null: else the next file that is opened
/// takes the number, and what is meant for the screen goes into it. A file at its limit
/// (`ulimit -f`) is an error of the write that meets it, not a signal. Without memory the process
/// ends with `exit_host` and says so. Returns false where it cannot have its descriptors.
bool settle_process();

}  // namespace driftless
