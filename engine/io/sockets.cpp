#include "engine/io/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "proto/core/check.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

Result<Socket> make_stream_socket(const Address& address) {
    const int number = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) {
        return error_from_errno(errno, "make a socket");
    }
    if (address.family() == AF_INET || address.family() == AF_INET6) {
        const int on = 1;
        (void)::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return Socket{number};
}

Result<Socket> make_listening_socket(const Address& address, int backlog) {
    CHECK(backlog >= 0);
    Result<Socket> made = make_stream_socket(address);
    if (!made) {
        return made;
    }
    const int number = made.value().number;
    const int on = 1;
    (void)::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(number, address.raw(), address.length) != 0 || ::listen(number, backlog) != 0) {
        const Error error = error_from_errno(errno, "listen");
        ::close(number);
        return error;
    }
    return made;
}

Result<Address> local_address_of(Socket socket) {
    CHECK(socket.open());
    Address address;
    address.length = sizeof(address.storage);
    if (::getsockname(socket.number, reinterpret_cast<sockaddr*>(&address.storage),
                      &address.length) != 0) {
        return error_from_errno(errno, "read a socket's address");
    }
    return address;
}

}  // namespace driftless
