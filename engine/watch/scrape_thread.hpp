/// ScrapeThread: reads the servers' own metrics beside a run: first when it is started, before the
/// run, then period by period, last when it is stopped.
///
/// The first pages are the baseline. They are held until time 0 and the file are known. A thread of
/// its own, of normal priority, on CPUs that it is given; the engine's thread knows nothing of it.
/// Pages are asked for side by side; one that is slow, endless or wrong holds up no other, is a
/// line in the file, and is asked for less and less often. Nothing that a server answers fails a
/// run. It owns its connections and the file.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/inquiry.hpp"
#include "engine/record/line_sink.hpp"
#include "proto/metrics/exposition.hpp"
#include "proto/run/server_log.hpp"

namespace driftless {

/// Made before the run; nothing is resolved or formatted any more when it is asked for.
struct ScrapeTarget {
    std::string url;  ///< as it is shown
    Question question;
    bool optional = false;  ///< left out, in silence, unless its first page came and was one
};

struct ScrapeRules {
    Duration period{};
    Duration limit = seconds(5);       ///< of each page
    Duration last_wait = seconds(2);   ///< of the last ones, once the run is over
    std::vector<std::string> secrets;  ///< never to be in the file (text.hpp)
    std::uint32_t segment = 0;
};

class ScrapeThread {
  public:
    /// After failures in a row a page is asked for each 2, 4, .. periods, but at least so often.
    static constexpr std::uint32_t pause_periods_max = 32;

    ScrapeThread(std::vector<ScrapeTarget> targets, ScrapeRules rules);
    ~ScrapeThread();
    ScrapeThread(const ScrapeThread&) = delete;
    ScrapeThread& operator=(const ScrapeThread&) = delete;

    /// Asks for the first pages. Without io_uring each target fails. Errors: denied, exhausted.
    Result<void> start(const cpu_set_t* cpus);
    /// Whether first pages are still on their way: of optional targets, of the others.
    bool awaits_first(bool optional) const;
    /// Decides which targets stay, and returns how many. Once, before `begin`.
    std::size_t settle();
    /// The run begins: all lines go to `file`, those of the first pages, too.
    void begin(Instant zero, LineSink file);
    /// The run is over: each page is read once more, unless it was interrupted. Nothing where it
    /// was not started.
    void stop(bool interrupted);

    /// What became of one target.
    struct Outcome {
        bool kept = true;
        std::uint64_t pages = 0;  ///< that were read
        std::uint64_t failures = 0;
        std::string first_failure;  ///< for people; printable
    };
    /// After `stop`.
    const std::vector<Outcome>& outcomes() const { return outcomes_; }  ///< [targets]
    const std::optional<Error>& file_error() const { return file_.error(); }

  private:
    enum class Stage : std::uint8_t { first, running, over, interrupted };
    enum class FirstPage : std::uint8_t { awaited, good, bad };

    /// One target and the request that is on its way.
    struct ScrapedPage {
        ScrapedPage(Loop& loop, const Question& question, Duration limit)
            : asking(loop, question, limit) {}

        Asking asking;
        bool underway = false;
        Instant begun;
        std::uint32_t failed_in_a_row = 0;
        std::uint32_t periods_to_wait = 0;
    };

    void work();
    bool open();
    void read_first();
    void drop_unkept();
    /// Why the answer is no page; empty: it is, and in `reader_`.
    std::string read_page(const Result<Reply>& answer);
    void begin(ScrapedPage& page);
    void begin_due();
    bool take_answers();
    void take(std::size_t at);
    void take_last();
    void wait_for_all(Instant until);
    void fail(std::size_t at, Duration took, std::string why);

    std::vector<ScrapeTarget> targets_;
    ScrapeRules rules_;
    LineSink file_;
    SeriesLog log_;
    ExpositionReader reader_;
    std::vector<Outcome> outcomes_;              ///< [targets]
    std::vector<std::atomic<FirstPage>> first_;  ///< [targets]
    std::unique_ptr<Driver> driver_;
    std::unique_ptr<Loop> loop_;
    std::vector<std::unique_ptr<ScrapedPage>> pages_;  ///< [targets]
    Instant zero_;
    std::atomic<Stage> stage_{Stage::first};
    SideThread thread_;
};

}  // namespace driftless
