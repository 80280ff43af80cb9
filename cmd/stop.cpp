#include "cmd/stop.hpp"

#include <signal.h>

namespace driftless {

namespace {

std::atomic<int> requests{0};
static_assert(std::atomic<int>::is_always_lock_free);

void count_request(int) {
    requests.fetch_add(1, std::memory_order_relaxed);
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
    // A reader of our output that went away, and a file at its limit: both are errors of the write.
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &ignore, nullptr);
    (void)sigaction(SIGXFSZ, &ignore, nullptr);
}

const std::atomic<int>& stop_requests() {
    return requests;
}

}  // namespace driftless
