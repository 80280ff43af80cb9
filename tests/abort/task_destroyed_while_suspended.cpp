// A suspended coroutine is never destroyed: whoever owns it lets it end.
// Dies with: check failed: handle_.done()
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
    const driftless::Task<> task = wait_for(home, signal);
}
