/// Errors: CHECK for those of the programmer, always on; Result<T>, a value or an Error of the
/// environment, and the Error for an errno value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace driftless {

// CHECK: programmer errors, always on, in release too.
//
// A failed check prints what was expected and where, and aborts. It is for what can only happen if
// the program is wrong; errors of the environment are a `Result`.

/// Prints one line on standard error and aborts. Never returns.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace driftless

#define CHECK(condition)                                 \
    (static_cast<bool>(condition) ? static_cast<void>(0) \
                                  : ::driftless::check_failed(#condition, __FILE__, __LINE__))

namespace driftless {

// Result<T>: a value, or an Error of the environment.
//
// Errors are small values: a code, the errno if the kernel gave one, and a static string that says
// what was being done. Handle at once; no macro hides a return.

/// What went wrong, in one closed list. Grows at the end of its group.
enum class ErrorCode : std::uint8_t {
    // Bytes from outside.
    bad_json,      ///< no JSON, or not the shape asked for
    bad_http,      ///< no HTTP/1.1 response
    too_large,     ///< over a named limit
    out_of_range,  ///< a number that its field cannot hold
    missing,       ///< a field that must be there is not
    truncated,     ///< the input ended inside a value
    // The host.
    not_found,    ///< file, host or model that does not exist
    denied,       ///< no permission (io_uring denied by a container, a file that cannot be read)
    refused,      ///< connection refused
    unreachable,  ///< no route, or no address for a name
    reset,        ///< connection reset or broken pipe
    closed,       ///< the peer ended the connection
    timed_out,    ///< a deadline passed
    cancelled,    ///< cancelled by us
    exhausted,    ///< a bounded thing is full: descriptors, memory, slots, buffers
    unsupported,  ///< the kernel, the library or the format lacks it
    io_failed,    ///< any other failure of a system call; `sys_errno` says which
    exists,       ///< something is there that must not be
    invalid,      ///< an argument or a combination that makes no sense
};

/// The name of a code as it is in the enum. Static storage.
const char* name_of(ErrorCode code);

/// Why something failed. `doing` is a static string ("connect", "open the trace"); never owned.
struct Error {
    ErrorCode code = ErrorCode::io_failed;
    int sys_errno = 0;  ///< errno value, 0 where the kernel had no part in it
    const char* doing = "";
};

/// Why, for people: what the kernel says of the errno, else words that fit behind "is".
std::string reason_of(const Error& error);
/// "cannot open the trace: Permission denied".
std::string failed_text(const Error& error);

/// A value of T or an Error. Test it before use: reading the other side is a CHECK.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
    Result(Error error) : error_(error) {}         // NOLINT: implicit by design

    explicit operator bool() const { return value_.has_value(); }

    T& value() & {
        CHECK(value_.has_value());
        return *value_;
    }
    const T& value() const& {
        CHECK(value_.has_value());
        return *value_;
    }
    T&& value() && {
        CHECK(value_.has_value());
        return std::move(*value_);
    }
    const Error& error() const {
        CHECK(!value_.has_value());
        return error_;
    }

  private:
    std::optional<T> value_;
    Error error_;
};

/// A Result without a value: done, or an Error.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(error), failed_(true) {}  // NOLINT: implicit by design

    explicit operator bool() const { return !failed_; }
    const Error& error() const {
        CHECK(failed_);
        return error_;
    }

  private:
    Error error_;
    bool failed_ = false;
};

// The Error for an errno value, by the one table that there is.

/// `doing`: what failed, as in Error; it is not copied.
Error error_from_errno(int sys_errno, const char* doing);

}  // namespace driftless
