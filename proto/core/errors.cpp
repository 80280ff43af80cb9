#include "proto/core/errors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace driftless {

void check_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "driftless: check failed: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

namespace {

struct CodeRow {
    const char* name;
    const char* reason;              ///< fits behind "is"
    std::array<int, 7> errnos = {};  ///< that have this code; 0: none
};

}  // namespace

/// In the order of the enum.
static constexpr CodeRow codes[] = {
    {"bad_json", "not JSON of this kind"},
    {"bad_http", "not HTTP/1.1"},
    {"too_large", "too large"},
    {"out_of_range", "out of range"},
    {"missing", "missing"},
    {"truncated", "cut off"},
    {"not_found", "not found", {ENOENT}},
    {"denied", "denied", {EACCES, EPERM, EROFS}},
    {"refused", "refused", {ECONNREFUSED}},
    {"unreachable", "unreachable", {ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL}},
    {"reset", "reset", {ECONNRESET, EPIPE, ECONNABORTED}},
    {"closed", "closed by the other side"},
    {"timed_out", "timed out", {ETIMEDOUT, ETIME}},
    {"cancelled", "cancelled", {ECANCELED}},
    {"exhausted", "no space left", {EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EDQUOT, EFBIG}},
    {"unsupported", "unsupported", {ENOSYS, EOPNOTSUPP, EAFNOSUPPORT}},
    {"io_failed", "not possible on this host"},
    {"exists", "already exists", {EADDRINUSE, EEXIST}},
    {"invalid", "not valid"},
};
static_assert(std::size(codes) == static_cast<std::size_t>(ErrorCode::invalid) + 1);

static const CodeRow& row_of(ErrorCode code) {
    return codes[static_cast<std::size_t>(code)];
}

const char* name_of(ErrorCode code) {
    return row_of(code).name;
}

std::string reason_of(const Error& error) {
    return error.sys_errno != 0 ? std::strerror(error.sys_errno) : row_of(error.code).reason;
}

std::string failed_text(const Error& error) {
    return std::string("cannot ") + error.doing + ": " + reason_of(error);
}

Error error_from_errno(int sys_errno, const char* doing) {
    const auto* const found = std::ranges::find_if(codes, [sys_errno](const CodeRow& row) {
        return sys_errno != 0 && std::ranges::count(row.errnos, sys_errno) > 0;
    });
    const bool is_known = found != std::end(codes);
    return {is_known ? static_cast<ErrorCode>(found - codes) : ErrorCode::io_failed, sys_errno,
            doing};
}

}  // namespace driftless
