// A clock that is wrong, for a process that is started with LD_PRELOAD on this library: its
// CLOCK_REALTIME is ahead by CLOCK_SHIFT nanoseconds. All other clocks are left alone.

#include <dlfcn.h>
#include <time.h>

#include <cstdlib>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static const auto real =
        reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
    static const long long shift_ns = [] {
        const char* const text = std::getenv("CLOCK_SHIFT");
        return text == nullptr ? 0 : std::atoll(text);
    }();
    const int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        constexpr long long second_ns = 1'000'000'000;
        const long long all_ns = time->tv_sec * second_ns + time->tv_nsec + shift_ns;
        time->tv_sec = static_cast<time_t>(all_ns / second_ns);
        time->tv_nsec = static_cast<long>(all_ns % second_ns);
    }
    return result;
}
