/// Sink: the other end of one loopback connection, on a thread of its own: takes whatever comes and
/// throws it away. For measuring sends; it answers nothing.
#pragma once

#include <pthread.h>
#include <sched.h>

#include "engine/io/address.hpp"
#include "engine/io/op.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class Sink {
  public:
    Sink() = default;
    ~Sink();  ///< stops
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    /// Listens on a port of 127.0.0.1 and starts the thread on those CPUs (null: anywhere). It
    /// takes one connection. Errors: those of sockets and threads.
    Result<Address> start(const cpu_set_t* cpus);
    /// Waits for the end of the connection. One that nobody made is not waited for.
    void stop();

  private:
    static void* thread_main(void* self);

    Socket listening_;
    pthread_t thread_{};
    bool running_ = false;
};

}  // namespace driftless
