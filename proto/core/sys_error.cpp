#include "proto/core/sys_error.hpp"

#include <cerrno>

namespace driftless {

Error error_from_errno(int sys_errno, const char* doing) {
    switch (sys_errno) {
        case ECONNREFUSED:
            return {ErrorCode::refused, sys_errno, doing};
        case ECONNRESET:
        case EPIPE:
        case ECONNABORTED:
            return {ErrorCode::reset, sys_errno, doing};
        case ENETUNREACH:
        case EHOSTUNREACH:
        case ENETDOWN:
        case EADDRNOTAVAIL:
            return {ErrorCode::unreachable, sys_errno, doing};
        case ETIMEDOUT:
        case ETIME:
            return {ErrorCode::timed_out, sys_errno, doing};
        case ECANCELED:
            return {ErrorCode::cancelled, sys_errno, doing};
        case ENOENT:
            return {ErrorCode::not_found, sys_errno, doing};
        case EACCES:
        case EPERM:
            return {ErrorCode::denied, sys_errno, doing};
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
            return {ErrorCode::exhausted, sys_errno, doing};
        case EADDRINUSE:
        case EEXIST:
            return {ErrorCode::exists, sys_errno, doing};
        case ENOSYS:
        case EOPNOTSUPP:
        case EAFNOSUPPORT:
            return {ErrorCode::unsupported, sys_errno, doing};
        default:
            return {ErrorCode::io_failed, sys_errno, doing};
    }
}

}  // namespace driftless
