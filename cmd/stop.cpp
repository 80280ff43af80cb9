#include "cmd/stop.hpp"

#include <signal.h>
#include <unistd.h>

#include "cmd/exit_codes.hpp"

namespace driftless {

namespace {

std::atomic<int> requests{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// The first drains, the second cancels; whoever asks again is held up by something that neither
/// can end, such as a disk that hangs.
constexpr int looked_at_max = 2;
std::atomic<int> let_be{0};  ///< requests that somebody looks at; the next one ends the process

void count_request(int) {
    if (requests.fetch_add(1, std::memory_order_relaxed) >= let_be.load()) {
        ::_exit(exit_interrupted);
    }
}

}  // namespace

void catch_stop_signals() {
    struct sigaction action{};
    action.sa_handler = count_request;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, nullptr);
    (void)sigaction(SIGTERM, &action, nullptr);
    // A terminal that closes; under nohup it is ignored already, and stays so.
    struct sigaction hangup{};
    (void)sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, nullptr);
    }
    // A reader of our output that went away is an error of the write.
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &ignore, nullptr);
}

void count_stop_requests() {
    let_be.store(looked_at_max);
}

const std::atomic<int>& stop_requests() {
    return requests;
}

}  // namespace driftless
