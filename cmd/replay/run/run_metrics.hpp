/// The servers' own metrics of one run: from what was typed to server.jsonl of its folder.
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/asked_urls.hpp"
#include "cmd/replay/run/parts.hpp"
#include "engine/record/line_sink.hpp"
#include "engine/scrape/server_totals.hpp"
#include "engine/scraper/scrape_thread.hpp"

namespace driftless {

class RunMetrics {
  public:
    explicit RunMetrics(const ReplayParts& parts) : parts_(parts), urls_(parts) {}

    /// Resolves the hosts, and asks for the baseline: all probes have been answered, and no row was
    /// sent. Nothing where there is no page to read. Prints what fails; exit code.
    int start(std::uint32_t segment, const cpu_set_t& cpus);
    /// Waits for the baseline, but not for long, and opens server.jsonl of the folder, a new one or
    /// that of the run that is resumed. Prints what fails; exit code.
    int open(const std::string& folder, std::uint32_t segment);
    /// The run begins.
    void begin(Instant zero);
    /// The run is over: reads the pages once more. Prints which could not be read.
    void stop();
    /// The run is given up before its first row.
    void discard();
    /// Of all segments, from server.jsonl. Prints why a line of it cannot be read.
    std::optional<ServerTotals> totals(const std::string& folder,
                                       std::vector<MeasuredSpan> spans) const;
    /// server.jsonl could not be written.
    bool failed() const { return thread_ != nullptr && thread_->file_error().has_value(); }

  private:
    OrExit<std::vector<ScrapeTarget>> prepare();
    OrExit<ScrapeTarget> prepare_target(const Url& url, bool optional);
    void await_baseline() const;

    const ReplayParts& parts_;
    AskedUrls urls_;
    std::string path_;  ///< of the file; empty: nothing is read
    bool is_new_ = false;
    LineSink file_;  ///< until the run begins
    std::vector<ScrapeTarget> targets_;
    std::unique_ptr<ScrapeThread> thread_;
};

}  // namespace driftless
