/// What a run shows of itself while it goes on: a line on the terminal, and a page of metrics for
/// Prometheus (`--listen`).
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "engine/host/threads.hpp"
#include "engine/io/sockets.hpp"
#include "engine/record/writer.hpp"
#include "proto/core/result.hpp"

namespace driftless {

// LivePage: the run's own metrics while it goes on, for Prometheus (`--listen`): what was sent,
// what is in flight, what has come, how late rows left, how they ended.
//
// A thread of its own serves it, on the CPUs of the writer. The writer reports progress to it five
// times a second; the engine is not involved. One connection at a time, each for a second at most:
// a slow reader delays other readers, and never the run.

/// The page, as Prometheus text 0.0.4.
std::string live_page_text(const Progress& progress);

class LivePage {
  public:
    LivePage() = default;
    ~LivePage();
    LivePage(const LivePage&) = delete;
    LivePage& operator=(const LivePage&) = delete;

    /// Takes the address. Errors: in_use, denied, not_found (no such address here), io_failed.
    Result<void> listen(const Address& address);
    /// Where it listens, with the port that was taken for port 0.
    const Address& address() const { return address_; }
    /// Serves until `stop`. Errors: exhausted, denied.
    Result<void> start(const cpu_set_t* cpus);
    void stop();
    bool listens() const { return listener_ >= 0; }

    /// From the writer's thread.
    void show(const Progress& progress);

  private:
    void work();
    void serve(int connection);

    int listener_ = -1;
    Address address_;
    std::mutex mutex_;
    Progress latest_;  ///< under the mutex
    std::atomic<bool> stopping_{false};
    SideThread thread_;
};

// The progress of a run on standard error: one line of a terminal, redrawn in place; elsewhere, as
// in a log, a line every 30 s. It owns nothing but its window of rates; it is called by the
// writer's thread, and by nobody else meanwhile.

/// Current rates. Null until there is a stretch to measure.
struct ProgressRates {
    std::optional<double> rows_per_s;  ///< fired
    double tokens_per_s = 0;
};

/// The line's text, without anything that moves the cursor:
/// `0:12 / 0:24 left  4,210 of 12,031 sent, 20.4/s  312 open  TTFT 931.0 ms  failed 3: http_5xx 3
/// 8,123 tok/s  worst drift 1.4 us`
std::string progress_text(const Progress& progress, const ProgressRates& rates);

/// Rates over the last stretch of a run.
class RateWindow {
  public:
    explicit RateWindow(std::int64_t length_ns) : length_ns_(length_ns) {}
    ProgressRates add(const Progress& progress);

  private:
    struct Point {
        std::int64_t elapsed_ns = 0;
        std::uint64_t fired = 0;
        std::uint64_t tokens = 0;
    };
    std::int64_t length_ns_ = 0;
    std::deque<Point> points_;  ///< at most five a second
};

/// Who wants to see what.
struct ProgressRule {
    bool shown = true;                        ///< false: only that the run was told to stop
    const std::atomic<int>* stops = nullptr;  ///< how often it was told to; null: never
    std::int64_t grace_ns = 0;
};

class ProgressLine {
  public:
    ProgressLine(int fd, const ProgressRule& rule);
    /// Wipes the line.
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const Progress& progress);
    void wipe();
    /// For the writer.
    ProgressCallback callback();

  private:
    void say_stopped(const Progress& progress);

    int fd_ = -1;
    ProgressRule rule_;
    bool terminal_ = false;
    bool drawn_ = false;
    int stops_said_ = 0;
    std::int64_t line_at_ns_ = 0;  ///< elapsed time of the next line where there is no terminal
    RateWindow window_;
};

}  // namespace driftless
