#include "engine/host/threads.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "engine/base/time.hpp"
#include "engine/host/host.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

/// sched_setattr(2), which Debian 12's C library does not have; the kernel knows older structures.
struct SchedAttributes {
    std::uint32_t size = sizeof(SchedAttributes);
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;  ///< of an ordinary thread: its slice
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};

}  // namespace

static constexpr std::uint64_t reset_on_fork = 1;

// A keeper looks once a millisecond how many threads want a CPU, and decides after so many looks.
static constexpr std::int64_t keeper_look_ns = 1'000'000;
static constexpr int keeper_looks = 32;
static constexpr std::int64_t keeper_span_max_ns =
    200'000'000;  // a keeper that hardly runs decides, too
static constexpr std::int64_t keeper_rest_ns = 250'000'000;
static constexpr std::int64_t keeper_rest_max_ns = 16'000'000'000;
static constexpr std::int64_t keeper_nap_ns = 20'000'000;  // it may be stopped between two

static constexpr Duration look_every = milliseconds(100);
static constexpr Duration slept_min = milliseconds(10);     // less of it, and it goes aside
static constexpr Duration slept_enough = milliseconds(20);  // as much, and it comes back
static constexpr Duration aside_for = seconds(1);

static bool set_attributes(const SchedAttributes& attributes) {
    return ::syscall(SYS_sched_setattr, 0, &attributes, 0U) == 0;
}

std::int64_t ask_for_slice(std::int64_t length_ns) {
    SchedAttributes wanted;
    wanted.nice = ::getpriority(PRIO_PROCESS, 0);  // as it is
    wanted.flags = reset_on_fork;  // threads that it makes have slices as others have
    wanted.runtime_ns = static_cast<std::uint64_t>(length_ns);
    SchedAttributes noted;
    const bool known =
        set_attributes(wanted) &&
        ::syscall(SYS_sched_getattr, 0, &noted, static_cast<unsigned>(sizeof noted), 0U) == 0;
    return known && noted.runtime_ns == wanted.runtime_ns ? length_ns : 0;
}

Result<void> run_before_others() {
    sched_param priority{};
    priority.sched_priority = 50;  // in the middle: above ordinary threads, below the kernel's own
    if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) != 0) {
        return Error{ErrorCode::denied, errno, "raise the thread's priority"};
    }
    return {};
}

void run_among_others() {
    const sched_param priority{};
    // Nobody is refused this; to leave the flag out takes a capability.
    (void)::sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &priority);
}

Result<Granted> schedule_engine(Scheduling wanted) {
    if (wanted == Scheduling::ordinary) {
        return Granted{};
    }
    if (wanted == Scheduling::realtime) {
        const Result<void> done = run_before_others();
        return done ? Result<Granted>(Granted{wanted, 0}) : done.error();
    }
    const std::int64_t slice_ns = ask_for_slice(engine_slice_ns);
    const bool has_nothing = slice_ns == 0 && wanted == Scheduling::slice;
    return Granted{has_nothing ? Scheduling::ordinary : wanted, slice_ns};
}

// 0.20 0.18 0.12 1/80 11206: three averages, then threads that run or want to, of all there are
std::optional<std::uint32_t> parse_running(std::string_view loadavg) {
    const std::string_view head = loadavg.substr(0, loadavg.find('/'));
    const std::string_view number = head.substr(head.rfind(' ') + 1);
    const char* const end = number.data() + number.size();
    std::uint32_t running = 0;
    const auto [stop, error] = std::from_chars(number.data(), end, running);
    const bool is_whole = head.size() < loadavg.size() && stop == end && error == std::errc();
    return is_whole ? std::optional(running) : std::nullopt;
}

std::optional<std::uint32_t> running_threads() {
    const Fd file(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return std::nullopt;
    }
    std::array<char, 128> text;
    const ssize_t length = ::read(file.number(), text.data(), text.size());
    return length > 0 ? parse_running({text.data(), static_cast<std::size_t>(length)})
                      : std::nullopt;
}

static std::int64_t cpu_time_of(clockid_t clock) {
    timespec used{};
    (void)::clock_gettime(clock, &used);
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

Result<void> CpuKeeper::start(std::uint32_t cpu) {
    cpus_online_ = cpus_online();
    if (!running_threads() || cpus_online_ == 0) {
        return Error{ErrorCode::denied, errno, "read /proc/loadavg"};
    }
    (void)::pthread_getcpuclockid(::pthread_self(), &engine_);
    const cpu_set_t cpus = cpu_set_of({cpu});
    return thread_.start<&CpuKeeper::keep>("keeper", &cpus, *this);
}

// Threads of ours on other CPUs do not count: on a host with many CPUs they would hide what others
// have of this one.
std::int64_t CpuKeeper::ours_ns() const {
    std::int64_t sum = thread_cpu_ns();
    for (const clockid_t clock : {engine_, sharer_.load(std::memory_order_relaxed)}) {
        sum += clock == nobody ? 0 : cpu_time_of(clock);
    }
    return sum;
}

std::int64_t CpuKeeper::stop() {
    over_.store(true, std::memory_order_relaxed);
    thread_.join();
    return used_ns_;
}

bool yielding_is_free(std::uint32_t cpu) {
    constexpr std::int64_t trial_ns = 12'000'000;  // some slices
    constexpr std::int64_t part_max = 8;
    CpuKeeper trial;
    if (!trial.start(cpu)) {
        return false;
    }
    const std::int64_t begin_ns = monotonic_ns();
    const std::int64_t used_ns = thread_cpu_ns();
    while (monotonic_ns() - begin_ns < trial_ns) {  // for so long
    }
    const std::int64_t own_ns = thread_cpu_ns() - used_ns;
    return trial.stop() < own_ns / part_max;
}

bool CpuNeed::others_need_it() const {
    constexpr std::int64_t part_of_others = 50;
    return looks > 0 && (idle == 0 || waiting > looks / 2 || others_ns > span_ns / part_of_others);
}

CpuNeed CpuKeeper::look() const {
    CpuNeed need;
    const std::int64_t begin_ns = monotonic_ns();
    const std::int64_t used_ns = ours_ns();
    std::int64_t look_at_ns = begin_ns;
    while (need.looks < keeper_looks && need.span_ns < keeper_span_max_ns) {
        (void)::sched_yield();
        const std::int64_t now_ns = monotonic_ns();
        if (now_ns < look_at_ns) {
            continue;
        }
        if (over_.load(std::memory_order_relaxed)) {
            return {};
        }
        look_at_ns = now_ns + keeper_look_ns;
        need.span_ns = now_ns - begin_ns;
        const std::uint32_t running = running_threads().value_or(UINT32_MAX);
        ++need.looks;
        need.idle += running < cpus_online_ ? 1 : 0;
        need.waiting += running > cpus_online_ ? 1 : 0;
    }
    need.others_ns = need.span_ns - (ours_ns() - used_ns);
    return need;
}

void CpuKeeper::keep() {
    std::int64_t rest_ns = keeper_rest_ns;
    while (!over_.load(std::memory_order_relaxed)) {
        // Twice: threads that came while it rested need some time to leave.
        if (!look().others_need_it() || !look().others_need_it()) {
            rest_ns = std::max(rest_ns / 2, keeper_rest_ns);
            continue;
        }
        for (std::int64_t rested_ns = 0;
             rested_ns < rest_ns && !over_.load(std::memory_order_relaxed);
             rested_ns += keeper_nap_ns) {
            const timespec nap{0, keeper_nap_ns};
            (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
        }
        rest_ns = std::min(2 * rest_ns, keeper_rest_max_ns);
    }
    used_ns_ = thread_cpu_ns();
}

void StepsAside::look(Instant now) {
    if (!begun_) {
        begun_ = true;
    } else if (!aside_ && slept_ < slept_min) {
        run_among_others();
        (void)ask_for_slice(engine_slice_ns);
        aside_ = true;
        ++times_;
        back_at_ = now + aside_for;
    } else if (aside_ && now >= back_at_ && slept_ >= slept_enough) {
        aside_ = !run_before_others();
    }
    slept_ = Duration{0};
    look_at_ = now + look_every;
}

SideThread::~SideThread() {
    CHECK(!runs_);
}

clockid_t SideThread::cpu_clock() const {
    CHECK(runs_);
    clockid_t clock{};
    CHECK(::pthread_getcpuclockid(thread_, &clock) == 0);  // while it runs
    return clock;
}

void SideThread::join() {
    if (runs_) {
        pthread_join(thread_, nullptr);
        runs_ = false;
    }
}

Result<void> SideThread::start_at(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                                  void* argument) {
    CHECK(!runs_);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const sched_param normal{};
    pthread_attr_setstacksize(&attributes, side_stack_bytes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &normal);
    if (cpus != nullptr && CPU_COUNT(cpus) > 0) {  // none: unknown
        pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    }
    // The new thread inherits the mask: signals are for the engine's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&thread_, &attributes, body, argument);
    if (failure != 0 && failure != EAGAIN) {  // a filter may forbid to name a class
        pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
        failure = pthread_create(&thread_, &attributes, body, argument);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return Error{failure == EPERM ? ErrorCode::denied : ErrorCode::exhausted, failure,
                     "start a thread"};
    }
    pthread_setname_np(thread_, name);
    runs_ = true;
    return {};
}

static std::int64_t ns_of(const timeval& time) {
    return (time.tv_sec * 1'000'000 + time.tv_usec) * 1000;
}

static const char* reason_of(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
            return "perf_event_open is denied: set kernel.perf_event_paranoid to 2 or less, or "
                   "allow it in the container's seccomp profile";
        case ENOENT:
        case EOPNOTSUPP:
            return "this machine has no instruction counter, like most virtual machines";
        case ENOSYS:
            return "this kernel is built without perf_event_open";
        default:
            return "perf_event_open failed";
    }
}

ThreadUse operator-(const ThreadUse& after, const ThreadUse& before) {
    ThreadUse use;
    for (const auto field :
         {&ThreadUse::user_ns, &ThreadUse::system_ns, &ThreadUse::voluntary_switches,
          &ThreadUse::involuntary_switches, &ThreadUse::minor_faults, &ThreadUse::major_faults,
          &ThreadUse::instructions}) {
        const bool known = after.*field >= 0 && before.*field >= 0;
        use.*field = known ? after.*field - before.*field : -1;
    }
    return use;
}

std::int64_t thread_cpu_ns() {
    return cpu_time_of(CLOCK_THREAD_CPUTIME_ID);
}

ThreadMeter::ThreadMeter() {
    perf_event_attr event{};
    event.size = sizeof(event);
    event.type = PERF_TYPE_HARDWARE;
    event.config = PERF_COUNT_HW_INSTRUCTIONS;
    event.exclude_kernel = 1;  // what an ordinary user may count
    event.exclude_hv = 1;
    event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    counter_ = Fd(
        static_cast<int>(::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!counter_.is_open()) {
        why_no_instructions_ = reason_of(errno);
    } else if (read_counter() <= 0) {  // some hypervisors let it be opened, and count nothing
        why_no_instructions_ = "the instruction counter does not advance";
    }
}

// Unknown, too, where others had the counter for a part of the time.
std::int64_t ThreadMeter::read_counter() const {
    struct {
        std::uint64_t value;
        std::uint64_t enabled_ns;
        std::uint64_t running_ns;
    } reading{};
    const bool whole = ::read(counter_.number(), &reading, sizeof(reading)) == sizeof(reading);
    return whole && reading.running_ns == reading.enabled_ns
               ? static_cast<std::int64_t>(reading.value)
               : -1;
}

ThreadUse ThreadMeter::read() const {
    rusage usage{};  // zeros where a filter forbids the call
    (void)::getrusage(RUSAGE_THREAD, &usage);
    ThreadUse use;
    use.user_ns = ns_of(usage.ru_utime);
    use.system_ns = ns_of(usage.ru_stime);
    use.voluntary_switches = usage.ru_nvcsw;
    use.involuntary_switches = usage.ru_nivcsw;
    use.minor_faults = usage.ru_minflt;
    use.major_faults = usage.ru_majflt;
    use.instructions = why_no_instructions_.empty() ? read_counter() : -1;
    return use;
}

static constexpr std::int64_t ns_per_ms = 1'000'000;
// A signal that comes just before a wait does not end it: the caller sees it this much later.
static constexpr std::int64_t slice_ms = 200;

static std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) {
        pointers.push_back(const_cast<char*>(text.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

/// What the new process does before it becomes the program. Until then it has our memory, and the
/// thread that started it stands still: only system calls here. Returns an errno.
static int become(const ChildCommand& command, char* const* argv, char* const* envp, pid_t parent) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD}) {
        (void)::signal(number, SIG_DFL);  // what is ignored stays ignored across exec
    }
    if (command.own_group && ::setpgid(0, 0) != 0) {
        return errno;
    }
    if (command.dies_with_us) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {  // it ended before the kernel knew
            ::_exit(1);
        }
    }
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0 || ::dup2(nowhere, STDIN_FILENO) < 0 ||
        ::dup2(command.output >= 0 ? command.output : nowhere, STDOUT_FILENO) < 0 ||
        ::dup2(command.messages >= 0 ? command.messages : nowhere, STDERR_FILENO) < 0) {
        return errno;
    }
    sigset_t none;
    (void)::sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)::execve(command.program.c_str(), argv, envp);
    return errno;
}

static void reap(pid_t id) {
    while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<Child> Child::start(const ChildCommand& command) {
    const std::vector<char*> argv = pointers_to(command.arguments);
    const std::vector<char*> envp = pointers_to(command.environment);
    (void)::signal(SIGCHLD, SIG_DFL);  // who started us may ignore it: then no end could be read
    // Until exec the child has our handlers: no signal may reach them there.
    sigset_t all;
    sigset_t before;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = ::getpid();
    volatile int failed = 0;  // written by the child, which has our memory until it is the program
    const pid_t id = ::vfork();
    if (id == 0) {
        failed = become(command, argv.data(), envp.data(), parent);
        ::_exit(127);
    }
    if (id < 0) {
        failed = errno;
    }
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int handle = failed == 0 ? static_cast<int>(::syscall(SYS_pidfd_open, id, 0)) : -1;
    if (handle >= 0) {
        return Child(id, handle);
    }
    if (failed == 0) {
        failed = errno;
    }
    if (id > 0) {
        (void)::kill(id, SIGKILL);
        reap(id);
    }
    return error_from_errno(failed, "start a process");
}

std::optional<ChildEnd> Child::wait(std::int64_t ns) {
    const std::int64_t ms = std::clamp<std::int64_t>((ns + ns_per_ms - 1) / ns_per_ms, 0, slice_ms);
    pollfd ended{handle_.number(), POLLIN, 0};
    const int got = ::poll(&ended, 1, static_cast<int>(ms));
    if (got <= 0) {
        return std::nullopt;
    }
    siginfo_t end{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &end, WEXITED | WNOWAIT | WNOHANG) != 0) {
        return ChildEnd{};  // somebody else reaped it
    }
    if (end.si_pid != id_) {
        return std::nullopt;
    }
    return end.si_code == CLD_EXITED ? ChildEnd{end.si_status, 0} : ChildEnd{-1, end.si_status};
}

void Child::signal(int number) const {
    (void)::kill(id_, number);
}

void Child::signal_group(int number) const {
    (void)::kill(-id_, number);
}

Child::~Child() {
    if (id_ > 0) {
        (void)::kill(id_, SIGKILL);
        reap(id_);
    }
}

std::vector<std::string> own_environment(const std::vector<std::string>& without) {
    std::vector<std::string> kept;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view entry = *one;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (std::find(without.begin(), without.end(), name) == without.end()) {
            kept.emplace_back(entry);
        }
    }
    return kept;
}

Result<Fd> open_output(const std::string& path) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
    if (!file.is_open()) {
        return error_from_errno(errno, "create a file");
    }
    return file;
}

}  // namespace driftless
