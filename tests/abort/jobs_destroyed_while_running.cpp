// Root coroutines end before their owner does.
// Dies with: check failed: live_ == 0
#include "engine/base/task.hpp"

namespace {

struct Home {
    driftless::FramePool pool;
    driftless::ReadyList list;
    driftless::FramePool& frames() { return pool; }
    driftless::ReadyList& ready() { return list; }
};

driftless::Task<> wait_for(Home&, driftless::Signal& signal) {
    co_await signal.wait();
}

}  // namespace

int main() {
    Home home;
    driftless::Signal signal;
    driftless::Jobs jobs;
    jobs.spawn(wait_for(home, signal));
}
