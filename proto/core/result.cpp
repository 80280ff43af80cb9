#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
