/// Finder: a search from its first probe to its last, or from where it was cut off: plays what
/// `next_step` asks for, and keeps `find.json`. One process at a time has the folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "cmd/find/options.hpp"
#include "cmd/find/search_file.hpp"
#include "cmd/find/window.hpp"
#include "cmd/or_exit.hpp"

namespace driftless {

/// Prints why a search cannot begin or go on, and returns the exit code.
int refuse_find(const std::string& why, int code);

class Finder {
  public:
    /// `options` outlives it. `folder` is ours, and locked.
    Finder(const FindOptions& options, std::vector<std::string> command, std::string folder);

    /// A search from its beginning. Returns the exit code.
    int begin();
    /// The search that has left `kept` in the folder. Its probes count as they were; the one that
    /// was cut off is played anew.
    int resume(KeptSearch kept);

  private:
    int run();
    std::string recall();
    int check_input();
    int lengthen_as_before();
    std::string free_dry_run_folder() const;
    OrExit<std::optional<std::uint64_t>> count_rows(const std::string& folder);
    int play(const KneeProbe& probe);
    int clear_place(JudgedProbe& probe);
    int judge(JudgedProbe judged, const CellEnd& end, const std::string& folder);
    int lengthen(double value, std::uint64_t rows);
    void count(const JudgedProbe& judged);
    int end_with(const char* state, const std::string& why, int code);
    int keep();
    std::vector<std::string> arguments(const KneeProbe& probe) const;
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    const FindOptions& options_;
    std::string folder_;
    Window window_;
    std::string name_;  ///< of this process's salts
    std::chrono::steady_clock::time_point began_;
    double seconds_before_ = 0;  ///< of the processes that were killed
    SearchReport report_;
    double short_at_ = 0;           ///< load of the last probe that was too short
    std::uint64_t short_rows_ = 0;  ///< its rows
    std::vector<ProbeDone> done_;   ///< those that count, and those that were spoiled
};

}  // namespace driftless
