#include "proto/core/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace driftless {

void check_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "driftless: check failed: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

const char* name_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_json:
            return "bad_json";
        case ErrorCode::bad_http:
            return "bad_http";
        case ErrorCode::too_large:
            return "too_large";
        case ErrorCode::out_of_range:
            return "out_of_range";
        case ErrorCode::missing:
            return "missing";
        case ErrorCode::truncated:
            return "truncated";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::denied:
            return "denied";
        case ErrorCode::refused:
            return "refused";
        case ErrorCode::unreachable:
            return "unreachable";
        case ErrorCode::reset:
            return "reset";
        case ErrorCode::closed:
            return "closed";
        case ErrorCode::timed_out:
            return "timed_out";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::exhausted:
            return "exhausted";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::io_failed:
            return "io_failed";
        case ErrorCode::exists:
            return "exists";
        case ErrorCode::invalid:
            return "invalid";
    }
    return "unknown";
}

std::string reason_of(const Error& error) {
    if (error.sys_errno != 0) {
        return std::strerror(error.sys_errno);
    }
    switch (error.code) {
        case ErrorCode::bad_json:
            return "not JSON of this kind";
        case ErrorCode::bad_http:
            return "not HTTP/1.1";
        case ErrorCode::truncated:
            return "cut off";
        case ErrorCode::io_failed:
            return "not possible on this host";
        case ErrorCode::exhausted:
            return "no space left";
        case ErrorCode::exists:
            return "already exists";
        case ErrorCode::closed:
            return "closed by the other side";
        case ErrorCode::invalid:
            return "not valid";
        default: {
            std::string words = name_of(error.code);  // "too_large", "out_of_range", "not_found"
            for (char& c : words) {
                c = c == '_' ? ' ' : c;
            }
            return words;
        }
    }
}

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
        case EROFS:
            return {ErrorCode::denied, sys_errno, doing};
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
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
