/// Threads and child processes: how a thread is scheduled and pinned, threads beside the engines,
/// what a thread has used; processes that we start and wait for.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/base/time.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"

namespace driftless {

// SideThread: a thread beside the engine's: of normal priority, on CPUs of its own, without
// signals: those are the engine thread's. What it starts inherits the same. Part of whoever does
// the work on it, who tells it to end and then joins it.

/// Stack of a thread beside the main one, all of which is touched before time 0: about four times
/// the deepest use that was measured.
inline constexpr std::size_t side_stack_bytes = std::size_t{1} << 20;

class SideThread {
  public:
    SideThread() = default;
    /// CHECK: it was joined.
    ~SideThread();
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

    /// Calls `(owner.*body)()` on it. `cpus` null: those of the caller. Named `name` (15 bytes at
    /// most). Errors: denied, exhausted.
    template <auto body, typename Owner>
    Result<void> start(const char* name, const cpu_set_t* cpus, Owner& owner) {
        return start_at(name, cpus, &call<body, Owner>, &owner);
    }
    bool runs() const { return runs_; }
    /// Of its CPU time, while it runs.
    clockid_t cpu_clock() const;
    /// Waits for its end. Nothing where it was not started.
    void join();

  private:
    template <auto body, typename Owner>
    static void* call(void* owner) {
        (static_cast<Owner*>(owner)->*body)();
        return nullptr;
    }
    Result<void> start_at(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                          void* argument);

    pthread_t thread_{};
    bool runs_ = false;
};

/// Scheduling: how the kernel schedules the thread of an engine: what is asked for, what was
/// granted, and what must be done meanwhile to keep it. Plain system calls of the calling thread;
/// the simulator has none of them.
enum class Scheduling : std::uint8_t {
    ordinary,  ///< as every other thread
    slice,     ///< with slices shorter than others have: waking up, it goes before them
    kept,      ///< the same, and its CPU never looks idle to the kernel, which moves others away
    realtime,  ///< before all ordinary threads (SCHED_FIFO)
};
template <>
inline constexpr auto closed_list<Scheduling> = name_list("ordinary", "slice", "kept", "realtime");

/// What the kernel said when it was asked.
struct Granted {
    Scheduling scheduling = Scheduling::ordinary;
    std::int64_t slice_ns = 0;  ///< 0: its slices are those of others
};

/// Shorter than the slices that Linux gives by itself (1.4 ms on two CPUs, 2.8 ms on many), and
/// longer than an engine works between two sleeps.
inline constexpr std::int64_t engine_slice_ns = 1'000'000;

/// Asks for slices of that length, which needs no privilege. Returns what the kernel has noted: 0
/// before Linux 6.12, which takes no such wish.
std::int64_t ask_for_slice(std::int64_t length_ns);

/// The calling thread runs before all ordinary threads of its CPU (SCHED_FIFO); threads that it
/// makes from here on are ordinary again. Errors: denied.
Result<void> run_before_others();
/// Takes that back for the calling thread.
void run_among_others();

/// Asks for that, for the calling thread. Errors: denied (`realtime` only).
Result<Granted> schedule_engine(Scheduling wanted);

/// Threads of all processes that run or want to, as the fourth word of /proc/loadavg says. Nothing
/// where it says something else.
std::optional<std::uint32_t> parse_running(std::string_view loadavg);

/// Those of now. Nothing where the file is not readable.
std::optional<std::uint32_t> running_threads();

/// Who wanted the CPUs of a host while a keeper ran on one of them, looked at once a millisecond.
struct CpuNeed {
    int looks = 0;
    int idle = 0;     ///< looks that found fewer threads than CPUs
    int waiting = 0;  ///< more threads than CPUs
    std::int64_t span_ns = 0;
    std::int64_t others_ns = 0;  ///< what others had of the keeper's CPU

    /// Others may be waiting for that CPU: they had more than 2 % of it, or no look found a CPU
    /// idle, or most looks found more threads than CPUs.
    bool others_need_it() const;
};

/// CpuKeeper: a thread that only yields, and keeps a CPU from looking idle. A server's thread that
/// wakes up is put on an idle CPU, also on that of an engine that sleeps for 100 us, and then the
/// engine waits for it. The keeper has the weight of any thread: beside one of the lowest weight a
/// server's thread waited for up to 0.8 s (perf/baselines, placement).
///
/// Linux yields only within a group of threads (session, control group), so a keeper may take time
/// from others. Therefore it looks, and where others may be waiting it rests: for 0.25 s, then for
/// twice as long, at most for 16 s. It needs about 70 ms to find out.
class CpuKeeper {
  public:
    CpuKeeper() = default;
    ~CpuKeeper() { (void)stop(); }
    CpuKeeper(const CpuKeeper&) = delete;
    CpuKeeper& operator=(const CpuKeeper&) = delete;

    /// For the calling thread, which runs on that CPU. Errors: denied (also where /proc/loadavg is
    /// not readable), exhausted.
    Result<void> start(std::uint32_t cpu);
    /// One more thread of ours runs there: what it has is not others'. By its clock.
    void shares_with(clockid_t thread) { sharer_.store(thread, std::memory_order_relaxed); }
    /// Returns the CPU time that it has used, ns.
    std::int64_t stop();

  private:
    static constexpr clockid_t nobody = CLOCK_MONOTONIC;  // no clock of a thread is this one

    void keep();
    CpuNeed look() const;
    std::int64_t ours_ns() const;

    std::uint32_t cpus_online_ = 0;
    clockid_t engine_ = nobody;
    std::atomic<clockid_t> sharer_{nobody};
    std::atomic<bool> over_{false};
    std::int64_t used_ns_ = 0;  ///< once it has ended
    SideThread thread_;
};

/// Whether a thread that only yields leaves its CPU to others of its group (session, control
/// group): tried for 12 ms between a keeper and the calling thread, which runs there. It did on
/// Linux 6.18; a kernel that gives it an equal part of the time has no keeper.
bool yielding_is_free(std::uint32_t cpu);

/// StepsAside: the kernel takes a thread that runs before all others and never sleeps off its CPU
/// for 50 ms of each second. Before it comes to that, this one goes among the others for a second,
/// and comes back once it sleeps again. Owned by the engine's thread, which alone calls it.
class StepsAside {
  public:
    /// What it has slept since the last call.
    void note_sleep(Duration slept) { slept_ = slept_ + slept; }
    bool is_due(Instant now) const { return now >= look_at_; }
    void look(Instant now);
    /// How often it went aside.
    std::uint32_t times() const { return times_; }
    bool is_aside() const { return aside_; }

  private:
    Instant look_at_;
    Instant back_at_;  ///< not before
    Duration slept_;   ///< since the last look
    bool begun_ = false;
    bool aside_ = false;
    std::uint32_t times_ = 0;
};

/// What the thread of an engine has beside it while it plays.
struct EngineStanding {
    CpuKeeper keeper;
    StepsAside steps_aside;
};

// ThreadMeter: what the kernel counts for one thread, read by that thread itself: CPU time,
// switches, faults, and instructions where the machine counts them. Owned by whoever runs the
// engine's thread. A reading costs about a microsecond: once a second, never beside a fire.

/// Counts since the thread began; of a stretch: the difference of two. -1: unknown.
struct ThreadUse {
    std::int64_t user_ns = -1;  ///< with `system_ns` exact; the split between them is sampled
    std::int64_t system_ns = -1;
    std::int64_t voluntary_switches = -1;
    std::int64_t involuntary_switches = -1;
    std::int64_t minor_faults = -1;
    std::int64_t major_faults = -1;
    std::int64_t instructions = -1;  ///< in user mode
};

/// What was counted from `before` to `after`; unknown where either is.
ThreadUse operator-(const ThreadUse& after, const ThreadUse& before);

/// CPU time of the calling thread.
std::int64_t thread_cpu_ns();

class ThreadMeter {
  public:
    /// Of the calling thread, which alone may `read`.
    ThreadMeter();

    ThreadUse read() const;
    /// Why instructions are unknown; empty: they are counted.
    const std::string& why_no_instructions() const { return why_no_instructions_; }

  private:
    std::int64_t read_counter() const;

    Fd counter_;
    std::string why_no_instructions_;
};

// Child: a process that we start, wait for and never forget. Its destructor kills what still runs.
// Nothing here waits without a bound, and a signal to us ends no wait unseen: waits are cut into
// slices, between which the caller looks at `stop_requests`.
//
// It is started without a copy of our memory (vfork), so that no page of the engine's becomes
// copy-on-write. It has the CPUs and the priority of the thread that starts it.

/// This program, whatever its name and folder are now.
inline constexpr const char* own_program = "/proc/self/exe";

struct ChildCommand {
    std::string program;                   ///< path of an executable
    std::vector<std::string> arguments;    ///< the first is its name
    std::vector<std::string> environment;  ///< "NAME=value", all of it
    int output = -1;                       ///< its stdout; -1: /dev/null. Stays the caller's
    int messages = -1;                     ///< its stderr, likewise
    /// A process group of its own: signals of the terminal do not reach it, and `signal_group`
    /// reaches what it starts.
    bool own_group = true;
    /// The kernel kills it when the thread that started it ends, also by SIGKILL.
    bool dies_with_us = true;
};

/// How a process ended.
struct ChildEnd {
    int exit_code = -1;  ///< -1: a signal ended it
    int signal = 0;      ///< ... this one; 0: none, or it is not known how it ended
};

class Child {
  public:
    /// Starts it; its stdin is /dev/null, signal handlers are the default ones. From here on this
    /// process does not ignore SIGCHLD. Errors: not_found,
    /// denied, exhausted, io_failed, of the program as well as of the process.
    static Result<Child> start(const ChildCommand& command);

    /// How it ended, as soon as it has. Nothing where it has not: after `ns`, after 200 ms, or when
    /// a signal came, whatever is first. The process is not reaped before the destructor: its group
    /// can be signalled until then.
    std::optional<ChildEnd> wait(std::int64_t ns);
    /// Readable when it has ended.
    int end_fd() const { return handle_.number(); }

    void signal(int number) const;
    /// Everything in its group, also once it has ended itself. Only with `own_group`.
    void signal_group(int number) const;
    pid_t id() const { return id_; }

    /// Kills it, where it still runs, and reaps it.
    ~Child();
    Child(Child&& other) noexcept
        : id_(std::exchange(other.id_, -1)), handle_(std::move(other.handle_)) {}
    Child& operator=(Child&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(handle_, other.handle_);
        return *this;
    }

  private:
    Child(pid_t id, int handle) : id_(id), handle_(handle) {}

    pid_t id_ = -1;
    Fd handle_;  ///< pidfd
};

/// The environment of this process, "NAME=value" each, without the variables named in `without`.
std::vector<std::string> own_environment(const std::vector<std::string>& without = {});

/// A new or emptied file that children write to; close-on-exec. Errors: those of open.
Result<Fd> open_output(const std::string& path);

}  // namespace driftless
