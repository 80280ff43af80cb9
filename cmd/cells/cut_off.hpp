/// What a sweep and a search do alike before they go on after a kill: where they began, what a try
/// left that was cut off, and who still writes it. Prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/cells/kept_traces.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// As it is where that cannot be known.
std::string absolute_path(const std::string& path);

/// Goes to the folder in which the cells began, because paths and hooks go by that (empty: stays),
/// and sees that the traces are what they were. Returns why it cannot go on, or the empty text.
std::string go_home(const std::string& home, const std::vector<KeptTrace>& traces);

enum class OrphanEnd : std::uint8_t {
    gone,     ///< nobody writes the run
    runs,     ///< its replay still does, after 10 s
    stopped,  ///< the user asked to stop
};
/// The replay of a process that was killed dies with it, or drains for a while.
OrphanEnd wait_for_orphan(const std::string& run_folder);

/// What a try left that was cut off is kept beside its place, as NAME.cut-1 or the next that is
/// free. Returns that name; empty where nothing was there. Errors: exists; those of rename.
Result<std::string> set_aside(const std::string& folder, const std::string& name);

/// The names of all that was set aside of `name`, in order.
std::vector<std::string> cuts_of(const std::string& folder, const std::string& name);

/// Gives back the shared memory (engine/record/fired_marks.hpp) of tries that were cut off, for
/// which another one stands in that has ended. Their files stay.
void forget_marks(const std::string& folder, const std::vector<std::string>& cuts);

}  // namespace driftless
