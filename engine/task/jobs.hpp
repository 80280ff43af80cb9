/// Jobs: the owner of root coroutines. Spawned in one place, freed in one place.
///
/// A root takes its parameters by value, or as references to things that live as long as the run.
/// It starts at once. A frame that has ended is freed by the next `reap`, never from inside itself.
#pragma once

#include <cstddef>

#include "engine/task/task.hpp"

namespace driftless {

class Jobs {
  public:
    Jobs() = default;
    /// CHECK: every root has ended. Whoever owns the jobs lets them end first.
    ~Jobs() {
        reap();
        CHECK(live_ == 0);
    }
    Jobs(const Jobs&) = delete;
    Jobs& operator=(const Jobs&) = delete;

    void spawn(Task<void> task) {
        const Task<void>::Handle handle = task.release();
        handle.promise().ended = &ended_;
        ++live_;
        handle.resume();
    }

    /// Frees the frames of roots that have ended.
    void reap() {
        while (!ended_.empty()) {  // bounded by the live roots
            ended_.pop().self.destroy();
            --live_;
        }
    }

    std::size_t live() const { return live_; }

  private:
    ReadyList ended_;
    std::size_t live_ = 0;
};

}  // namespace driftless
