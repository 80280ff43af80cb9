// A disk that hangs, is slow or fails, for a process that is started with LD_PRELOAD on this
// library. While the file HUNG_DISK does not exist, every write to a file named *.jsonl waits.
// Each of those writes takes SLOW_WRITE milliseconds more. Every fsync takes SLOW_SYNC
// milliseconds. Every write to a file whose path begins with FAILING_FILE fails with EIO. What is
// not in the environment is left alone.

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string path_of(int fd) {
    char link[32];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

bool hangs() {
    const char* const until = std::getenv("HUNG_DISK");
    struct stat found{};
    return until != nullptr && stat(until, &found) != 0;
}

template <typename Call>
Call next(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, std::size_t count) {
    static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
    static const char* const failing = std::getenv("FAILING_FILE");
    const std::string path = path_of(fd);
    if (failing != nullptr && path.starts_with(failing)) {
        errno = EIO;
        return -1;
    }
    if (path.ends_with(".jsonl")) {
        while (hangs()) {  // until the test lets it go
            usleep(5000);
        }
        static const char* const slow = std::getenv("SLOW_WRITE");
        if (slow != nullptr) {
            usleep(static_cast<useconds_t>(std::atoi(slow)) * 1000);
        }
    }
    return real(fd, bytes, count);
}

extern "C" int fsync(int fd) {
    static const auto real = next<int (*)(int)>("fsync");
    if (const char* const slow = std::getenv("SLOW_SYNC"); slow != nullptr) {
        usleep(static_cast<useconds_t>(std::atoi(slow)) * 1000);
    }
    return real(fd);
}
