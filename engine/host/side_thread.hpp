/// A thread beside the engine's: of normal priority, on CPUs of its own, without signals: those are
/// the engine thread's. What it starts inherits the same.
#pragma once

#include <pthread.h>
#include <sched.h>

#include "proto/core/result.hpp"

namespace driftless {

/// `cpus` null: those of the caller. Named `name` (15 bytes at most). The caller joins it. Errors:
/// denied, exhausted.
Result<pthread_t> start_side_thread(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                                    void* argument);

}  // namespace driftless
