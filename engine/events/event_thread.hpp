/// EventThread: begins what a run was to do at its instants (`--event`), and writes what became of
/// it, a line each, when it ends.
///
/// A thread of its own, on the CPUs of the writer and of normal priority: the engine's thread knows
/// nothing of it. Events that take long go on side by side; none holds up another. Each has a time
/// limit. When the run is over, what still goes on has a little longer; when it was interrupted,
/// nothing. Whatever comes, no command outlives `stop`.
///
/// It owns the events, their commands and connections, and the file.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/event_command.hpp"
#include "engine/events/planned_event.hpp"
#include "engine/events/posting.hpp"
#include "engine/host/side_thread.hpp"
#include "engine/io/uring.hpp"
#include "engine/record/line_sink.hpp"
#include "proto/record/timed_event.hpp"

namespace driftless {

struct EventRules {
    Duration limit = seconds(60);      ///< of each event
    Duration last_wait = seconds(5);   ///< .. once the run is over
    std::vector<std::string> secrets;  ///< never to stand in the file (masked.hpp)
    std::uint32_t segment = 0;
    std::vector<std::uint64_t> told;  ///< numbers of those that have a line of an earlier segment
    const std::atomic<int>* stop_requests = nullptr;  ///< the user's; more than 0: none begins
};

class EventThread {
  public:
    /// `events` in whatever order.
    EventThread(std::vector<PlannedEvent> events, EventRules rules, LineSink file);
    ~EventThread();
    EventThread(const EventThread&) = delete;
    EventThread& operator=(const EventThread&) = delete;

    /// Events before `from_ns` are left out: a resumed run is behind them. Those that have no line
    /// get one that says so. Errors: denied, exhausted.
    Result<void> start(Instant zero, std::int64_t from_ns, const cpu_set_t* cpus);
    /// The run is over: waits for what goes on, for as long as the rules allow. Nothing where it
    /// was not started.
    void stop(bool interrupted);

    // After `stop`.
    /// What became of each, in the order of the lines.
    const std::vector<TimedEvent>& ended() const { return ended_; }
    std::size_t left_out() const { return left_out_; }
    const std::optional<Error>& file_error() const { return file_.error(); }

  private:
    enum class Ending : std::uint8_t { no, over, interrupted };
    /// An event that has begun and takes time.
    struct Underway {
        TimedEvent line;
        std::optional<EventCommand> command;
        std::unique_ptr<Posting> posting;
        Instant limit;                         ///< ended by force then
        bool is_hurried = false;               ///< the end of the run has made it shorter
        EventStatus forced = EventStatus::ok;  ///< why it was; `ok`: it was not
    };

    void work();
    bool ends() const;
    void leave_out(const PlannedEvent& event);
    void begin_due(Instant now);
    void begin(const PlannedEvent& event, Instant now);
    void begin_run(Underway& one);
    void begin_post(Underway& one, const PlannedEvent& event);
    bool step(Underway& one, Instant now);
    void force(Underway& one, Instant now);
    void take_end(Underway& one, const ChildEnd& end);
    void take_answer(Underway& one, const Result<Reply>& answer);
    void hurry(Instant now);
    void wait(Instant now);
    void write(TimedEvent line, std::optional<Instant> end);
    void fail(Underway& one, std::string why);

    std::vector<PlannedEvent> events_;
    EventRules rules_;
    LineSink file_;
    Instant zero_;
    std::size_t next_ = 0;  ///< of `events_`
    std::size_t left_out_ = 0;
    std::vector<std::unique_ptr<Underway>> underway_;
    std::vector<TimedEvent> ended_;
    std::unique_ptr<UringDriver> driver_;  ///< of the thread; only where there are POSTs
    std::unique_ptr<Loop> loop_;
    std::string no_driver_;  ///< why there is none
    std::atomic<Ending> ending_{Ending::no};
    bool hurried_ = false;
    int wake_fd_ = -1;
    SideThread thread_;
};

}  // namespace driftless
