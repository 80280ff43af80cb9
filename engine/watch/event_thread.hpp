/// PlannedEvent: what a run does at an instant beside sending rows: a POST, a command, a label.
/// Values, made before time 0; nothing is resolved or formatted any more when it begins.
#pragma once

#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/inquiry.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/tls.hpp"
#include "engine/record/line_sink.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/period.hpp"

namespace driftless {

struct PlannedEvent {
    std::uint64_t number = 0;  ///< as given, from 0
    std::int64_t at_ns = 0;    ///< from time 0
    TimedEventKind kind = TimedEventKind::label;
    std::string what;     ///< URL, command line or label
    std::string shown{};  ///< in its place where that has secrets; empty: it has none
    Question question;    ///< of a POST
};

/// EventCommand: a command of an event that runs beside the engine: started, listened to, ended. It
/// owns the process and the read end of its output.
///
/// It leads a process group of its own, which the terminal does not signal; what it leaves behind
/// in that group ends with it.
class EventCommand {
  public:
    /// Runs `/bin/sh -c command`. Errors: those of Child; exhausted, of the pipe.
    static Result<EventCommand> start(const std::string& command);
    ~EventCommand();
    EventCommand(EventCommand&& other) noexcept;
    EventCommand& operator=(EventCommand&&) = delete;

    /// Readable when it has ended.
    int end_fd() const { return child_.end_fd(); }
    /// Readable when it has said something; -1 once all was read.
    int output_fd() const { return output_.number(); }
    /// Reads what is there: up to `kept_max` bytes in all go to `kept`. Never blocks.
    void read_output(std::string& kept, std::size_t kept_max, std::uint64_t& read);

    /// SIGTERM to the whole group.
    void ask_to_end() const { child_.signal_group(SIGTERM); }
    /// SIGKILL to the whole group.
    void kill() const { child_.signal_group(SIGKILL); }
    /// How it ended; nothing while it runs. Then the rest of its group is killed.
    std::optional<ChildEnd> end();

  private:
    EventCommand(Child child, Fd output) : child_(std::move(child)), output_(std::move(output)) {}

    Child child_;
    bool owns_group_ = true;  ///< false: it has moved, or its group was ended
    Fd output_;
};

// EventThread: begins what a run was to do at its instants (`--event`), and writes what became of
// it, a line each, when it ends.
//
// A thread of its own, on the CPUs of the writer and of normal priority: the engine's thread knows
// nothing of it. Events that take long go on side by side; none holds up another. Each has a time
// limit. When the run is over, what still goes on has a little longer; when it was interrupted,
// nothing. No command outlives `stop`.
//
// It owns the events, their commands and connections, and the file.

struct EventRules {
    Duration limit = seconds(60);      ///< of each event
    Duration last_wait = seconds(5);   ///< .. once the run is over
    std::vector<std::string> secrets;  ///< never to be in the file (text.hpp)
    std::uint32_t segment = 0;
    std::vector<std::uint64_t> told;  ///< numbers of those that have a line of an earlier segment
    const std::atomic<int>* stop_requests = nullptr;  ///< the user's; more than 0: none begins
    /// Called with each line as it is written; may be null.
    void (*tell)(const TimedEvent&, const EventRules& rules) = nullptr;
};

class EventThread {
  public:
    /// `events` in any order.
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
        std::unique_ptr<Asking> posting;
        Instant limit;                         ///< ended by force then
        bool is_hurried = false;               ///< the end of the run has made it shorter
        EventStatus forced = EventStatus::ok;  ///< why it was; `ok`: it was not
    };

    void work();
    bool ends() const;
    void leave_out(const PlannedEvent& event);
    void begin_due(Instant now);
    void begin(const PlannedEvent& event, Instant now);
    void begin_run(Underway& one, const std::string& what);
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
    std::unique_ptr<Driver> driver_;  ///< of the thread; only where there are POSTs
    std::unique_ptr<Loop> loop_;
    std::string no_driver_;  ///< why there is none
    std::atomic<Ending> ending_{Ending::no};
    bool hurried_ = false;
    Fd wake_;
    SideThread thread_;
};

}  // namespace driftless
