#include "engine/host/interfaces.hpp"

#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace driftless {

namespace {

/// A socket to ask through, and the interface that is asked.
class InterfaceQuery {
  public:
    InterfaceQuery(int socket, const std::string& name) : socket_(socket) {
        std::strncpy(request_.ifr_name, name.c_str(), sizeof(request_.ifr_name) - 1);
    }

    bool ask(unsigned long what) { return ::ioctl(socket_, what, &request_) == 0; }
    const ifreq& answer() const { return request_; }

    /// A command of ethtool: `command` holds its number, and the answer afterwards.
    template <typename T>
    bool ask_driver(T& command) {
        request_.ifr_data = reinterpret_cast<char*>(&command);
        return ask(SIOCETHTOOL);
    }

    std::optional<std::uint32_t> value(std::uint32_t number) {
        ethtool_value value{number, 0};
        return ask_driver(value) ? std::optional(std::uint32_t{value.data}) : std::nullopt;
    }
    std::optional<bool> is_on(std::uint32_t number) {
        const std::optional<std::uint32_t> found = value(number);
        return found ? std::optional(*found != 0) : std::nullopt;
    }

  private:
    int socket_;
    ifreq request_{};
};

void read_coalescing(InterfaceQuery& query, Interface& interface) {
    ethtool_coalesce coalesce{};
    coalesce.cmd = ETHTOOL_GCOALESCE;
    if (query.ask_driver(coalesce)) {
        interface.receive_wait_us = coalesce.rx_coalesce_usecs;
        interface.receive_wait_adapts = coalesce.use_adaptive_rx_coalesce != 0;
    }
}

void read_stamping(InterfaceQuery& query, Interface& interface) {
    ethtool_ts_info stamping{};
    stamping.cmd = ETHTOOL_GET_TS_INFO;
    if (query.ask_driver(stamping)) {
        interface.transmit_stamps = (stamping.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE) != 0;
    }
}

std::optional<Interface> read_interface(int socket, const std::string& name) {
    Interface interface;
    interface.name = name;
    InterfaceQuery query(socket, name);
    if (!query.ask(SIOCGIFFLAGS) || (query.answer().ifr_flags & IFF_UP) == 0 ||
        (query.answer().ifr_flags & IFF_LOOPBACK) != 0) {
        return std::nullopt;
    }
    interface.mtu = query.ask(SIOCGIFMTU) ? query.answer().ifr_mtu : 0;
    interface.tso = query.is_on(ETHTOOL_GTSO);
    interface.gso = query.is_on(ETHTOOL_GGSO);
    interface.gro = query.is_on(ETHTOOL_GGRO);
    if (const auto flags = query.value(ETHTOOL_GFLAGS); flags) {
        interface.lro = (*flags & ETH_FLAG_LRO) != 0;
    }
    read_coalescing(query, interface);
    read_stamping(query, interface);
    return interface;
}

}  // namespace

std::vector<Interface> read_interfaces() {
    std::vector<Interface> found;
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct if_nameindex* const names = socket < 0 ? nullptr : ::if_nameindex();
    for (const struct if_nameindex* name = names;
         name != nullptr && name->if_index != 0 && found.size() < interfaces_max; ++name) {
        if (std::optional<Interface> interface = read_interface(socket, name->if_name); interface) {
            found.push_back(std::move(*interface));
        }
    }
    if (names != nullptr) {
        ::if_freenameindex(names);
    }
    if (socket >= 0) {
        ::close(socket);
    }
    return found;
}

}  // namespace driftless
