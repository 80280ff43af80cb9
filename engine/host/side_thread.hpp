/// SideThread: a thread beside the engine's: of normal priority, on CPUs of its own, without
/// signals: those are the engine thread's. What it starts inherits the same. Part of whoever does
/// the work on it, who tells it to end and then joins it.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>

#include "proto/core/result.hpp"

namespace driftless {

/// Stack of a thread beside the main one, all of which is touched before time 0: about four times
/// the deepest use that was measured.
inline constexpr std::size_t side_stack_bytes = std::size_t{1} << 20;

class SideThread {
  public:
    SideThread() = default;
    /// CHECK: it was joined.
    ~SideThread();
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

    /// Calls `(owner.*body)()` on it. `cpus` null: those of the caller. Named `name` (15 bytes at
    /// most). Errors: denied, exhausted.
    template <auto body, typename Owner>
    Result<void> start(const char* name, const cpu_set_t* cpus, Owner& owner) {
        return start_at(name, cpus, &call<body, Owner>, &owner);
    }
    bool runs() const { return runs_; }
    /// Waits for its end. Nothing where it was not started.
    void join();

  private:
    template <auto body, typename Owner>
    static void* call(void* owner) {
        (static_cast<Owner*>(owner)->*body)();
        return nullptr;
    }
    Result<void> start_at(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                          void* argument);

    pthread_t thread_{};
    bool runs_ = false;
};

}  // namespace driftless
