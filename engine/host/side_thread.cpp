#include "engine/host/side_thread.hpp"

#include <signal.h>

#include <cerrno>

#include "proto/core/check.hpp"

namespace driftless {

SideThread::~SideThread() {
    CHECK(!runs_);
}

void SideThread::join() {
    if (runs_) {
        pthread_join(thread_, nullptr);
        runs_ = false;
    }
}

Result<void> SideThread::start_at(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                                  void* argument) {
    CHECK(!runs_);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const sched_param normal{};
    pthread_attr_setstacksize(&attributes, side_stack_bytes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &normal);
    if (cpus != nullptr) {
        pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    }
    // The new thread inherits the mask: signals are for the engine's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&thread_, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return Error{failure == EPERM ? ErrorCode::denied : ErrorCode::exhausted, failure,
                     "start a thread"};
    }
    pthread_setname_np(thread_, name);
    runs_ = true;
    return {};
}

}  // namespace driftless
