/// CHECK: programmer errors, always on, in release too.
///
/// A failed check prints what was expected and where, and aborts. It is for what can only happen if
/// the program is wrong; errors of the environment are a `Result` (result.hpp).
#pragma once

namespace driftless {

/// Prints one line on standard error and aborts. Never returns.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace driftless

#define CHECK(condition)                                 \
    (static_cast<bool>(condition) ? static_cast<void>(0) \
                                  : ::driftless::check_failed(#condition, __FILE__, __LINE__))
