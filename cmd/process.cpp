#include "cmd/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <string_view>

#include "cmd/exit_codes.hpp"

namespace driftless {

namespace {

/// Nothing can be freed for others here. What a run has written is whole, and can be resumed.
void end_without_memory() {
    constexpr std::string_view said =
        "driftless: out of memory; raise the limit (ulimit -v, or the container's), or take a part "
        "of the trace\n";
    (void)!::write(STDERR_FILENO, said.data(), said.size());
    ::_exit(exit_host);
}

}  // namespace

bool settle_process() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGXFSZ, &ignore, nullptr);
    std::set_new_handler(&end_without_memory);
    int number = STDIN_FILENO;
    while (number >= 0 && number <= STDERR_FILENO) {  // open takes the lowest that is free
        number = ::open("/dev/null", O_RDWR);
    }
    return number >= 0 && ::close(number) == 0;
}

}  // namespace driftless
