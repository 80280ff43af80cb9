/// What a run does beside sending rows, on threads of their own: timed events, reading the servers'
/// own metrics, and showing itself, as a line on the terminal and a page of metrics (`--listen`);
/// and the meeting with other processes. Each step prints what fails and returns an exit code.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/time.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/tls.hpp"
#include "engine/machines/meet.hpp"
#include "engine/record/line_sink.hpp"
#include "engine/record/writer.hpp"
#include "engine/watch/event_thread.hpp"
#include "engine/watch/scrape_thread.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/request.hpp"
#include "proto/metrics/server_figure.hpp"

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
    ~LivePage() { stop(); }
    LivePage(const LivePage&) = delete;
    LivePage& operator=(const LivePage&) = delete;

    /// Takes the address. Errors: in_use, denied, not_found (no such address here), io_failed.
    Result<void> listen(const Address& address);
    /// Where it listens, with the port that was taken for port 0.
    const Address& address() const { return address_; }
    /// Serves until `stop`. Errors: exhausted, denied.
    Result<void> start(const cpu_set_t* cpus);
    void stop();
    bool listens() const { return listener_.is_open(); }

    /// From the writer's thread.
    void show(const Progress& progress);

  private:
    void work();
    void serve(int connection);

    Fd listener_;
    Address address_;
    std::mutex mutex_;
    Progress latest_;  ///< under the mutex
    std::atomic<bool> stopping_{false};
    SideThread thread_;
};

// The progress of a run on standard error: one line of a terminal, redrawn in place; elsewhere, as
// in a log, a line every 30 s. It owns nothing but its window of rates; only the writer's
// thread calls it meanwhile.

/// Current rates. Null until there is a stretch to measure.
struct ProgressRates {
    std::optional<double> rows_per_s;  ///< fired
    double tokens_per_s = 0;
    double ended_per_s = 0;
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
        std::uint64_t ended = 0;
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

// AskedUrls: addresses that a run asks beside its rows (events, pages of metrics): where their
// connections go to, with TLS, and the bytes of the request. Made before the run. Owns what TLS
// needs, for one thread: threads that ask beside each other have one each.

class AskedUrls {
  public:
    explicit AskedUrls(const ReplayParts& parts) : parts_(parts) {}

    /// `flag` is named in errors ("--event post"). A server of the run is asked at the run's own
    /// address, with the run's headers, keys among them, except for those that `headers` replaces;
    /// all others get only `headers`. Prints what fails.
    /// A request without a body; this outlives the question.
    OrExit<Question> prepare(const std::string& flag, const Url& url, const char* method,
                             std::vector<Header> headers);

  private:
    OrExit<Address> find(const std::string& flag, const Url& url) const;

    const ReplayParts& parts_;
    std::unique_ptr<TlsContext> tls_;
    std::vector<std::unique_ptr<TlsPeer>> peers_;
};

// The timed events of one run: from what was typed to what is printed of them.

class RunEvents {
  public:
    explicit RunEvents(const ReplayParts& parts) : parts_(parts), urls_(parts) {}

    /// Resolves the hosts of POSTs, and opens events.jsonl of the folder, a new one or that of the
    /// run that is resumed. Nothing where no event was asked for. Prints what fails; exit code.
    int open(const std::string& folder, std::uint32_t segment);
    /// Those before `from_ns` are left out. Prints what fails; exit code.
    int start(Instant zero, std::int64_t from_ns, const cpu_set_t& cpus);
    /// The run is over. Prints which failed, and which did not begin.
    void stop();
    /// The run is given up before its first row.
    void discard();
    /// events.jsonl could not be written.
    bool failed() const { return thread_ != nullptr && thread_->file_error().has_value(); }

  private:
    OrExit<std::vector<PlannedEvent>> prepare();

    const ReplayParts& parts_;
    AskedUrls urls_;
    std::string path_;
    std::unique_ptr<EventThread> thread_;
};

// The servers' own metrics of one run: from what was typed to server.jsonl of its folder.

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

class RunSides {
  public:
    /// `cpus`: where the threads may run.
    RunSides(const ReplayParts& parts, const cpu_set_t& cpus)
        : parts_(parts), cpus_(cpus), events_(parts), metrics_(parts) {}

    /// All probes have been answered, no row was sent, and there is no folder yet.
    int start(std::uint32_t segment);
    int open(const std::string& folder, std::uint32_t segment);
    /// Time 0 is settled; events before `from_ns` are left out.
    int begin(Instant zero, std::int64_t from_ns);
    /// How far the run is. From the writer's thread.
    void show(const Progress& progress) {
        if (page_.listens()) {
            page_.show(progress);
        }
    }
    void stop();
    /// The run is given up before its first row.
    void discard();
    /// Fills `info` with what the servers measured of themselves, earlier segments included, and,
    /// if their power is known, with the number of finished trees in the records. Call it once the
    /// run was stopped.
    void sum_up(const std::string& folder, const SummaryFigures& figures, SummaryInfo& info) const;
    /// A file could not be written.
    bool failed() const { return events_.failed() || metrics_.failed(); }

  private:
    int start_page();

    const ReplayParts& parts_;
    cpu_set_t cpus_;
    RunEvents events_;
    RunMetrics metrics_;
    LivePage page_;
};

// RunMeeting: how a run gets a time 0 that was agreed on: by `--start-at`, or by processes that
// meet (`--meet`); and what is known of their clocks. Used before time 0 and after the run; prints
// what it does and what stops it. Owns the listening socket of shard 0.

class RunMeeting {
  public:
    /// `parts` outlives it. `resumes`: no process is met, because time 0 is in the past.
    RunMeeting(const ReplayParts& parts, bool resumes);

    /// Called when everything is warm (`RunHost::time_zero`): waits for the others, or until the
    /// agreed instant is near; if there is none, time 0 is as early as possible. `progress` gets
    /// what is known of it. Empty if something stopped it; `code` is the exit code then.
    std::optional<Instant> time_zero(Instant ready, Duration first_due, RunProgress& progress,
                                     int& code);
    /// Due instant from which this run looks at its schedule: all shards begin at the first row of
    /// the whole plan.
    Duration begin_due(Duration first_due) const;
    /// The run has ended here. Shard 0 waits until the others have ended, and compares the clocks
    /// once more for `progress`.
    void wait_for_others(RunProgress& progress);
    /// The other shards contact shard 0 for that, once their files are written. True if `progress`
    /// has changed.
    bool meet_host_again(RunProgress& progress);

  private:
    void meet_again(RunProgress& progress);
    bool meets_again() const;
    int listen();
    OrExit<Instant> named_zero();
    int refuse_late() const;
    MeetSetting setting(MeetPhase phase) const;
    OrExit<Instant> at_named_instant();
    void warn_of_clock(const std::optional<ClockDifference>& difference) const;

    const ReplayParts& parts_;
    const ShardFlags& flags_;
    const bool resumes_;
    std::optional<MeetHost> host_;
    std::optional<MeetingFacts> facts_;
};

// The two clocks at time 0, as run.json has them. Reads clocks; keeps nothing.

/// The tightest of a few bracketed readings (timing-and-io.md, B.1).
ClockAnchors anchor(Instant zero);

}  // namespace driftless
