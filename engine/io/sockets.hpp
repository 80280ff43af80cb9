/// Socket system calls that need no ring: making, naming and listening. Plain functions; the ring's
/// driver and nobody else uses them.
#pragma once

#include "engine/io/address.hpp"
#include "engine/io/op.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// Stream socket of the address's family: close-on-exec, TCP_NODELAY where it is TCP. Blocking, on
/// purpose: io_uring polls by itself and would return -EAGAIN on a non-blocking one.
Result<Socket> make_stream_socket(const Address& address);

/// Bound and listening, SO_REUSEADDR on.
Result<Socket> make_listening_socket(const Address& address, int backlog);

Result<Address> local_address_of(Socket socket);

}  // namespace driftless
