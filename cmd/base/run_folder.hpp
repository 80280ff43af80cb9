/// The folder of a run: how a new one is taken, who writes it now, and what its run.json says to
/// those who come after. Prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/fd.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// An advisory lock (flock) of the folder, held by the one process that writes the run, and
/// released however that ends. Move-only.
class FolderLock {
  public:
    FolderLock() = default;
    /// Errors: exists (another process writes this run), not_found, denied, io_failed.
    static Result<FolderLock> take(const std::string& folder);
    /// False if the file system has no locks: then two processes could write the same run.
    bool keeps_others_out() const { return locked_; }

  private:
    Fd folder_;
    bool locked_ = false;
};

/// Whether another process writes the run in that folder at this moment.
bool is_being_written(const std::string& folder);

/// Whether runs make a file of that name in their folders.
bool is_file_of_run(std::string_view name);

/// What is at a place where a run is to write.
enum class Place : std::uint8_t {
    free,      ///< nothing
    leftover,  ///< a folder of this user that holds nothing but what a run makes before its first
               ///< row: empty files, a run.json that was not written whole or is of a dry run; or
               ///< nothing at all
    taken,     ///< all else: it is never written over
};
/// Errors: what keeps a folder of this user from being listed.
Result<Place> place_at(const std::string& folder);

/// A folder that is a new run's own, and empty.
struct NewFolder {
    FolderLock lock;
    bool made_by_a_run = false;  ///< by this one, or by the one whose leftover it is
};
/// Makes the folder with those above it, or takes a leftover and clears it. Of several processes
/// that try at once, one succeeds. Errors: exists, where it is taken or another process has it;
/// those of the file system.
Result<NewFolder> take_new_folder(const std::string& folder);

/// A folder that no run has: `folder`, or, if other runs of the same second have it, the next free
/// one of "folder-2" to "folder-100", which is put into `folder`. Errors: as above.
Result<NewFolder> take_numbered_folder(std::string& folder);

/// Reads `folder`/run.json into `facts`. Returns why it cannot be, or the empty text.
std::string read_run(const std::string& folder, RunFacts& facts);

/// What its run.json has, also of a dry run. Nothing: it cannot be read.
std::optional<RunFacts> read_run_partly(const std::string& folder);

}  // namespace driftless
