/// What `sweep` and `find` both do before they resume after a kill: return to the folder where they
/// began, set aside what an unfinished try left, and wait for a replay that still writes. Prints
/// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/cells/kept_traces.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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

/// Frees the shared memory (engine/record/fired_marks.hpp) of unfinished tries, once another try
/// has taken their place and has ended. Their files stay.
void forget_marks(const std::string& folder, const std::vector<std::string>& cuts);

}  // namespace driftless
