/// What every command needs before it begins: standard descriptors that are open, and an error
/// message for each way to end early. Called by main, once; reads no flag and opens no file of the
/// user's.
#pragma once

namespace driftless {

/// Standard descriptors that are closed (`>&-`) become /dev/null: else the next file that is opened
/// takes the number, and what is meant for the screen goes into it. A file at its limit
/// (`ulimit -f`) is an error of the write that meets it, not a signal. Without memory the process
/// ends with `exit_host` and says so. A small stack (`ulimit -s`) is enlarged as far as the hard
/// limit allows, for threads that are made later, too. Returns false where the process cannot have
/// its descriptors, and says why where its stack stays too small.
bool settle_process();

/// Stack that every command can do with: about four times what the deepest was seen to need.
inline constexpr unsigned long stack_bytes_min = 1 << 20;

}  // namespace driftless
