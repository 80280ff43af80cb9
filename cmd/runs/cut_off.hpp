/// What `sweep` and `find` share to be resumed after a kill: the folder where they began, the
/// traces as they were, unfinished tries; and texts in the files that say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// What a sweep or a search that is resumed must find again: the files of its traces, byte for
// byte. Cells of two traces in one table would be compared as if they were of one.

/// A trace as it was at the beginning.
struct KeptTrace {
    std::string path;    ///< as it was typed
    std::string digest;  ///< of its bytes, 16 hex digits
};

/// Digests of the traces at these paths, each of them once: of a file, or of all files of a
/// directory with their names. Errors: those of reading; `path` says of which.
Result<std::vector<KeptTrace>> keep_traces(const std::vector<std::string>& paths,
                                           std::string& path);

/// The path of the first of `kept` that has changed or cannot be read; empty: none.
std::string changed_trace(const std::vector<KeptTrace>& kept);

/// The key `traces` of `sweep.json` and `find.json`, and what that says.
void write_kept_traces(JsonWriter& json, const std::vector<KeptTrace>& kept);
std::vector<KeptTrace> read_kept_traces(JsonValue array);

// What `sweep` and `find` both do before they resume after a kill: return to the folder where they
// began, set aside what an unfinished try left, and wait for a replay that still writes. Prints
// nothing.

/// The path unchanged if it cannot be resolved.
std::string absolute_path(const std::string& path);

/// Changes to the folder in which the cells began (empty: stays), because paths and hooks are
/// relative to it, and checks that the traces have not changed. Returns why the cells cannot go on,
/// or the empty text.
std::string go_home(const std::string& home, const std::vector<KeptTrace>& traces);

enum class OrphanEnd : std::uint8_t {
    gone,     ///< nobody writes the run
    runs,     ///< its replay still does, after 10 s
    stopped,  ///< the user asked to stop
};
/// Waits for the replay of a process that was killed: it dies with it, or drains for a while.
OrphanEnd wait_for_orphan(const std::string& run_folder);

/// Renames what an unfinished try left to NAME.cut-1, or to the next number that is free. Returns
/// the new name; empty if nothing was there. Errors: exists; those of rename.
Result<std::string> set_aside(const std::string& folder, const std::string& name);

/// The names of all that was set aside of `name`, in order.
std::vector<std::string> cuts_of(const std::string& folder, const std::string& name);

/// Frees the shared memory (engine/history/fired_marks.hpp) of unfinished tries, once another try
/// has taken their place and has ended. Their files stay.
void forget_marks(const std::string& folder, const std::vector<std::string>& cuts);

// Texts and lists of texts in the files that a sweep and a search write and read back. Pure.

/// Empty where `value` is not a text.
std::string text_of(JsonValue value);
std::vector<std::string> texts_of(JsonValue array);

}  // namespace driftless
