// A disk that hangs, for a process that is started with LD_PRELOAD on this library: while the file
// HUNG_DISK does not exist, every write to a file named *.jsonl waits. Other files are left alone.

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

bool is_record_file(int fd) {
    char link[32];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path);
    return length > 0 &&
           std::string_view(path, static_cast<std::size_t>(length)).ends_with(".jsonl");
}

bool hangs() {
    const char* const until = std::getenv("HUNG_DISK");
    struct stat found{};
    return until != nullptr && stat(until, &found) != 0;
}

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, std::size_t count) {
    using Write = ssize_t (*)(int, const void*, std::size_t);
    static const auto real = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "write"));
    if (is_record_file(fd)) {
        while (hangs()) {  // until the test lets it go
            usleep(5000);
        }
    }
    return real(fd, bytes, count);
}
