/// The progress of a run on one line of a terminal, redrawn in place. Quiet where the descriptor is
/// no terminal. It owns nothing; it is called by the writer's thread, and by nobody else meanwhile.
#pragma once

#include <string>

#include "engine/record/progress.hpp"

namespace driftless {

/// The line's text, without anything that moves the cursor:
/// `0:12 / 0:24 left  fired 4,210 of 12,031  in flight 312  8,123 tok/s  worst drift 1.4 us`
std::string progress_text(const Progress& progress);

class ProgressLine {
  public:
    /// Shows on that descriptor, if it is a terminal.
    explicit ProgressLine(int fd);
    /// Wipes the line.
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const Progress& progress);
    void wipe();
    /// For the writer; no call at all where nothing would be shown.
    ProgressCallback callback();

  private:
    int fd_ = -1;
    bool terminal_ = false;
    bool drawn_ = false;
};

}  // namespace driftless
