#include "engine/host/thread_meter.hpp"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

std::int64_t ns_of(const timeval& time) {
    return (time.tv_sec * 1'000'000 + time.tv_usec) * 1000;
}

std::int64_t difference(std::int64_t after, std::int64_t before) {
    return after < 0 || before < 0 ? -1 : after - before;
}

const char* reason_of(int error) {
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

}  // namespace

ThreadUse operator-(const ThreadUse& after, const ThreadUse& before) {
    ThreadUse use;
    for (const auto field :
         {&ThreadUse::user_ns, &ThreadUse::system_ns, &ThreadUse::voluntary_switches,
          &ThreadUse::involuntary_switches, &ThreadUse::minor_faults, &ThreadUse::major_faults,
          &ThreadUse::instructions}) {
        use.*field = difference(after.*field, before.*field);
    }
    return use;
}

std::int64_t thread_cpu_ns() {
    timespec used{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

ThreadMeter::ThreadMeter() {
    open_counter();
}

ThreadMeter::~ThreadMeter() {
    if (counter_ >= 0) {
        ::close(counter_);
    }
}

void ThreadMeter::open_counter() {
    perf_event_attr event{};
    event.size = sizeof(event);
    event.type = PERF_TYPE_HARDWARE;
    event.config = PERF_COUNT_HW_INSTRUCTIONS;
    event.exclude_kernel = 1;  // what an ordinary user may count
    event.exclude_hv = 1;
    event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    counter_ =
        static_cast<int>(::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (counter_ < 0) {
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
    const bool whole = ::read(counter_, &reading, sizeof(reading)) == sizeof(reading);
    return whole && reading.running_ns == reading.enabled_ns
               ? static_cast<std::int64_t>(reading.value)
               : -1;
}

ThreadUse ThreadMeter::read() const {
    rusage usage{};
    CHECK(::getrusage(RUSAGE_THREAD, &usage) == 0);
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

}  // namespace driftless
