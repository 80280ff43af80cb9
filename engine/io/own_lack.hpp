/// Which failures of a system call are our own lack and nobody else's: no descriptor, port, memory
/// or buffer was left. They say nothing about the server. A pure function of an errno value.
#pragma once

#include <cerrno>
#include <cstdint>

namespace driftless {

/// `sys_errno` > 0. EADDRNOTAVAIL is what connect says where each port to that server is taken, or
/// where this host has no address to connect from.
constexpr bool is_own_lack(std::int32_t sys_errno) {
    return sys_errno == EMFILE || sys_errno == ENFILE || sys_errno == EADDRNOTAVAIL ||
           sys_errno == ENOMEM || sys_errno == ENOBUFS;
}

}  // namespace driftless
