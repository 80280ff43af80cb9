#include "engine/host/side_thread.hpp"

#include <signal.h>

#include <cerrno>

namespace driftless {

Result<pthread_t> start_side_thread(const char* name, const cpu_set_t* cpus, void* (*body)(void*),
                                    void* argument) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const sched_param normal{};
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
    pthread_t thread{};
    const int failure = pthread_create(&thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return Error{failure == EPERM ? ErrorCode::denied : ErrorCode::exhausted, failure,
                     "start a thread"};
    }
    pthread_setname_np(thread, name);
    return thread;
}

}  // namespace driftless
