#include "engine/calibrate/sink.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "engine/host/side_thread.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

Sink::~Sink() {
    stop();
}

Result<Address> Sink::start(const cpu_set_t* cpus) {
    const Result<std::vector<Address>> any = resolve("127.0.0.1", 0);
    if (!any) {
        return any.error();
    }
    const Result<Socket> listening = make_listening_socket(any.value().front(), 1);
    if (!listening) {
        return listening.error();
    }
    listening_ = listening.value();
    pthread_attr_t attributes;
    (void)::pthread_attr_init(&attributes);
    (void)::pthread_attr_setstacksize(&attributes,
                                      side_stack_bytes);  // it is kept for the next one
    if (cpus != nullptr) {
        (void)::pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    }
    const int failed = ::pthread_create(&thread_, &attributes, &Sink::thread_main, this);
    (void)::pthread_attr_destroy(&attributes);
    if (failed != 0) {
        return error_from_errno(failed, "start a thread");
    }
    running_ = true;
    return local_address_of(listening_);
}

void Sink::stop() {
    if (running_) {
        (void)::shutdown(listening_.number, SHUT_RDWR);  // ends an accept that nobody answered
        (void)::pthread_join(thread_, nullptr);
        running_ = false;
    }
    if (listening_.open()) {
        (void)::close(listening_.number);
        listening_ = Socket{};
    }
}

void* Sink::thread_main(void* self) {
    const int listening = static_cast<Sink*>(self)->listening_.number;
    const int peer = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) {
        return nullptr;
    }
    std::array<char, 64 * 1024> bytes;
    while (::recv(peer, bytes.data(), bytes.size(), 0) > 0) {
    }
    (void)::close(peer);
    return nullptr;
}

}  // namespace driftless
