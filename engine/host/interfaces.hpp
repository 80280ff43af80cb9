/// Network interfaces that are up, and what their drivers do with packets: what `ethtool` shows, by
/// the same ioctl. The loopback is left out. Read once, never in a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace driftless {

/// Nothing where the driver, or the container, does not say.
struct Interface {
    std::string name;
    int mtu = 0;
    std::optional<bool> tso;  ///< the device cuts large sends into packets
    std::optional<bool> gso;  ///< the kernel does, below TCP
    std::optional<bool> gro;  ///< packets of one stream are joined before TCP sees them
    std::optional<bool> lro;  ///< the device joins them, and waits for more
    /// The device holds a packet back for so long before it interrupts.
    std::optional<std::uint32_t> receive_wait_us;
    bool receive_wait_adapts = false;
    std::optional<bool> transmit_stamps;  ///< the driver stamps what it sends
};

/// At most `interfaces_max`, in the order of the kernel. Empty where there are none.
std::vector<Interface> read_interfaces();

/// A node of a cluster has one for each pod; the first ones are its own.
inline constexpr std::size_t interfaces_max = 16;

}  // namespace driftless
