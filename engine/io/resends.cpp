#include <linux/tcp.h>  // netinet/tcp.h has an older tcp_info, and does not go beside this one
#include <netinet/in.h>

#include <cstddef>

#include "engine/io/host_driver.hpp"

namespace driftless {

std::optional<ResendCounts> HostDriver::resent(Socket socket) {
    CHECK(socket.open());
    tcp_info info{};
    socklen_t size = sizeof(info);
    const bool is_tcp = ::getsockopt(socket.number, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                        size >= offsetof(tcp_info, tcpi_dsack_dups) + sizeof(info.tcpi_dsack_dups);
    if (!is_tcp) {
        return std::nullopt;
    }
    return ResendCounts{info.tcpi_total_retrans, info.tcpi_dsack_dups, info.tcpi_unacked};
}

}  // namespace driftless
