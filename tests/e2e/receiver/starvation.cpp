#include "tests/e2e/receiver/starvation.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tests/e2e/receiver/clock.hpp"

namespace receiver {

StarvationMeter::StarvationMeter()
    : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
    without_cpu_ns_ = without_cpu_ns();
}

StarvationMeter::~StarvationMeter() {
    if (file_ >= 0) {
        close(file_);
    }
}

/// "time on a CPU, time runnable without one, slices"; 0 where the kernel does not say.
std::int64_t StarvationMeter::without_cpu_ns() const {
    char text[80] = {};
    long long waited_ns = 0;
    if (file_ < 0 || pread(file_, text, sizeof text - 1, 0) <= 0 ||
        std::sscanf(text, "%*d %lld", &waited_ns) != 1) {
        return 0;
    }
    return waited_ns;
}

void StarvationMeter::begin_wait() {
    began_ns_ = monotonic_ns();
}

// What was counted before this wait began is taken off, too, where no wait was long since: less is
// charged then, never more.
void StarvationMeter::end_wait() {
    std::int64_t waited_ns = monotonic_ns() - began_ns_;
    if (waited_ns <= unseen_ns) {
        return;
    }
    const std::int64_t now_ns = without_cpu_ns();
    waited_ns -= now_ns - std::exchange(without_cpu_ns_, now_ns);
    starved_.longest_ns = std::max(starved_.longest_ns, waited_ns);
    starved_.long_waits_ns += std::max<std::int64_t>(waited_ns - unseen_ns, 0);
}

}  // namespace receiver
