/// Folders that a run makes, and the one line for what the host refuses.
#pragma once

#include <string>

#include "proto/core/result.hpp"

namespace driftless {

/// What may help against a refusal of the host, with "; " before it; empty: nothing is known.
const char* host_remedy(int sys_errno);

/// Prints `what` and the error, with what the system says of it; returns `exit_host`.
int fail_host(const char* what, const Error& error);

/// `exit_done` where nothing is at that path, or where it is "-"; else prints that a new file must
/// be named, and returns `exit_usage`.
int refuse_existing_file(const char* flag, const std::string& path);

/// Prints why the file that a flag names cannot be made. Returns `exit_usage` if it exists already,
/// else `exit_host`.
int fail_new_file(const char* flag, const std::string& path, const Error& error);

/// Makes such a file with this text; "-": standard output. Prints what it cannot do. Returns the
/// exit code.
int write_new_file(const char* flag, const std::string& path, const std::string& text);

/// Prints that another run has the folder; returns `exit_usage`.
int refuse_folder(const std::string& folder);

/// Prints that the folder is there or another run has it (`exit_usage`), or why it cannot be made
/// (`exit_host`).
int fail_folder(const std::string& folder, const Error& error);

/// Whether files and folders can be made at that path: makes an empty folder in the deepest one
/// above it that is there, and removes it again. Errors: those of mkdir.
Result<void> try_place(const std::string& path);

/// Makes the folders above a path that are missing. errno says why not.
bool make_folders_above(const std::string& path);

/// A new folder, with those above it. errno says why not.
bool make_folder(const std::string& path);

}  // namespace driftless
