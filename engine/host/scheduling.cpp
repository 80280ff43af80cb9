#include "engine/host/scheduling.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "engine/host/host.hpp"
#include "engine/host/thread_meter.hpp"
#include "engine/time/monotonic.hpp"

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

constexpr std::uint64_t reset_on_fork = 1;

// A keeper that gets less than a hundredth of its CPU is not needed: another program has work there
// all the time. Beside an engine that is busy for nine tenths of it, it gets more.
constexpr std::int64_t keeper_look_ns = 20'000'000;
constexpr std::int64_t keeper_part_min = 100;
constexpr int keeper_rests = 50;  // looks long

constexpr Duration look_every = milliseconds(100);
constexpr Duration slept_min = milliseconds(10);     // less of it, and it goes aside
constexpr Duration slept_enough = milliseconds(20);  // as much, and it comes back
constexpr Duration aside_for = seconds(1);

bool set_attributes(const SchedAttributes& attributes) {
    return ::syscall(SYS_sched_setattr, 0, &attributes, 0U) == 0;
}

}  // namespace

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

Result<void> CpuKeeper::start(std::uint32_t cpu) {
    const cpu_set_t cpus = cpu_set_of({cpu});
    return thread_.start<&CpuKeeper::keep>("keeper", &cpus, *this);
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

void CpuKeeper::keep() {
    std::int64_t begin_ns = monotonic_ns();
    std::int64_t used_ns = thread_cpu_ns();
    while (!over_.load(std::memory_order_relaxed)) {  // until `stop`
        (void)::sched_yield();
        const std::int64_t now_ns = monotonic_ns();
        if (now_ns - begin_ns < keeper_look_ns) {
            continue;
        }
        const bool is_needed = thread_cpu_ns() - used_ns >= (now_ns - begin_ns) / keeper_part_min;
        for (int i = 0; !is_needed && i < keeper_rests && !over_.load(std::memory_order_relaxed);
             ++i) {
            const timespec rest{0, keeper_look_ns};
            (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, nullptr);
        }
        begin_ns = monotonic_ns();
        used_ns = thread_cpu_ns();
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

}  // namespace driftless
