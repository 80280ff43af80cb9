/// The folder of a run, as those find it who come after: who writes it now, and what its run.json
/// says. Prints nothing.
#pragma once

#include <string>

#include "engine/history/run_facts.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// Held by the one process that writes the run, until it ends, however it does: an advisory lock
/// (flock) of the folder. Move-only.
class FolderLock {
  public:
    FolderLock() = default;
    /// Errors: exists (another process writes this run), not_found, denied, io_failed.
    static Result<FolderLock> take(const std::string& folder);
    ~FolderLock();
    FolderLock(FolderLock&& other) noexcept;
    FolderLock& operator=(FolderLock&& other) noexcept;
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int fd_ = -1;
};

/// Reads `folder`/run.json into `facts`. Returns why it cannot be, or the empty text.
std::string read_run(const std::string& folder, RunFacts& facts);

}  // namespace driftless
